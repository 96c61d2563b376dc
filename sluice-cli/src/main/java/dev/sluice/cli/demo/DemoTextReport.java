package dev.sluice.cli.demo;

import dev.sluice.cli.text.TextTable;
import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;

/** The figures of the demo as text. */
public final class DemoTextReport {
  private static final long SHOWN_IN_SECONDS = 10_000;

  private DemoTextReport() {}

  public static void print(DemoResult figures, PrintWriter out) {
    tenants(figures, out);
    provider(figures, out);
    model(figures, out);
    messages(figures, out);
    out.println();
    List<String> problems = figures.problems();
    problems.forEach(problem -> out.println("FAILED: " + problem));
    if (problems.isEmpty()) {
      out.println(
          "All checks passed: no message lost, no limit exceeded, the quiet tenant not delayed.");
    }
    out.flush();
  }

  private static void tenants(DemoResult figures, PrintWriter out) {
    out.println();
    out.println("Two tenants, one provider");
    new TextTable<TenantStats>(
            1,
            List.of("TENANT", "SENT", "DELIVERED", "WAIT P50", "P99", "IN ONE FIFO P50", "P99"),
            DemoTextReport::cells)
        .print(List.of(figures.noisy(), figures.quiet()), out);
    out.printf(
        Locale.ROOT,
        "The quiet tenant's p99 wait is %,.0f times shorter than in one FIFO.%n",
        Math.floor(figures.quiet().timesShorter()));
    out.println(
        "FIFO: the same arrivals and the same grants, in the order of arrival. Waits are from");
    out.printf(
        "the server's receipt to its grant, less %s during which it granted nothing.%n",
        time(figures.outage().millis()));
  }

  private static List<String> cells(TenantStats tenant) {
    return List.of(
        tenant.tenant(),
        "" + tenant.count().sent(),
        "" + tenant.count().delivered(),
        time(tenant.waits().p50()),
        time(tenant.waits().p99()),
        time(tenant.fifo().p50()),
        time(tenant.fifo().p99()));
  }

  private static void provider(DemoResult figures, PrintWriter out) {
    RateStats provider = figures.provider();
    RateStats.Window worst = provider.worstSecond();
    out.println();
    out.printf(
        Locale.ROOT,
        "Provider: limit %d/s and a burst of %d; %,d granted in %s, the crash included.%n",
        DemoScenario.RATE_PER_SECOND,
        DemoScenario.BURST,
        provider.granted(),
        time(provider.millis()));
    out.printf(
        Locale.ROOT,
        "Worst window of a second or more: %,d in %,d ms; legal at most %,d (burst + rate x time).%n",
        worst.granted(),
        worst.millis(),
        worst.legal());
  }

  private static void model(DemoResult figures, PrintWriter out) {
    out.println();
    out.printf(
        Locale.ROOT,
        "%s: %,d tokens/s, 5 times as much requested; %,d charged, legal at most %,d%n",
        DemoModelCallers.MODEL,
        DemoModelCallers.TOKENS_PER_SECOND,
        figures.model().chargedTokens(),
        figures.model().legalTokens());
    new TextTable<ModelCallLog.PriorityClassStats>(
            1,
            List.of("CLASS", "REQUESTED", "GRANTED", "STILL WAITING", "WAIT P50", "P99"),
            each ->
                List.of(
                    each.priority(),
                    "" + each.requested(),
                    "" + each.granted(),
                    "" + each.waiting(),
                    time(each.waits().p50()),
                    time(each.waits().p99())))
        .print(figures.model().classes(), out);
    out.println(
        "Requests that still wait count with their wait so far. The time without a server is excluded.");
  }

  private static void messages(DemoResult figures, PrintWriter out) {
    DemoResult.CrashStats crash = figures.crash();
    out.println();
    out.printf(
        "Server: killed after %s with %s, ready again %s later.%n",
        time(crash.afterMillis()),
        unanswered(crash.unansweredSends(), crash.unsettled()),
        time(crash.readyMillis() - crash.afterMillis()));
    out.printf(
        Locale.ROOT,
        "Messages: %,d acknowledged by the server, %,d delivered, %d lost.%n",
        figures.balance().accepted(),
        figures.noisy().count().delivered() + figures.quiet().count().delivered(),
        figures.balance().lost());
    out.printf(
        "Delivered again: %d (at least once: messages in flight at a kill may be redelivered).%n",
        figures.balance().again());
  }

  /** Describes the messages in flight when the server was killed. */
  public static String unanswered(long sends, long acks) {
    return "%d %s and %d %s unanswered"
        .formatted(sends, sends == 1 ? "send" : "sends", acks, acks == 1 ? "ack" : "acks");
  }

  /** Formats a time in milliseconds, or in seconds if it is long. */
  static String time(long millis) {
    return millis < SHOWN_IN_SECONDS / 10
        ? millis + " ms"
        : String.format(Locale.ROOT, millis < SHOWN_IN_SECONDS ? "%.2f s" : "%.1f s", millis / 1e3);
  }
}
