package dev.sluice.cli.simulate;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.cli.text.Durations;
import dev.sluice.cli.text.Durations.Unit;
import dev.sluice.cli.text.RefillRate;
import dev.sluice.cli.text.TextTable;
import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.LongStream;

/** A simulation as tables. */
final class BucketTextReport {
  private static final String NONE = "-";

  private final BucketSimulation simulation;
  private final PrintWriter out;
  private final Unit unit;

  BucketTextReport(BucketSimulation simulation, PrintWriter out) {
    this.simulation = simulation;
    this.out = out;
    this.unit =
        Durations.commonUnit(
            LongStream.concat(
                LongStream.of(simulation.periodNanos()),
                simulation.outcomes().stream().mapToLong(o -> o.batch.timeNanos())));
  }

  void print() {
    out.printf(
        Locale.ROOT,
        "bucket: %s, starts with %d%n",
        describe(simulation.limit()),
        simulation.initialTokens());
    out.println();
    requestTable().print(simulation.outcomes(), out);
    out.println();
    if (simulation.periodNanos() > 0) {
      printPeriods();
      out.println();
    }
    printSummary();
  }

  private static String describe(Limit limit) {
    String capacity = "capacity " + limit.capacity();
    if (limit instanceof Limit.Balanced balanced) {
      return capacity
          + ", refill "
          + new RefillRate(balanced.refillTokens(), balanced.refillPeriod());
    }
    return limit instanceof Limit.Strict strict
        ? capacity + ", full again every " + Durations.format(strict.period().toNanos())
        : capacity + ", no refill";
  }

  private TextTable<BatchResult> requestTable() {
    return simulation.isWaiting()
        ? new TextTable<>(
            List.of(
                "time", "available", "requested", "at once", "waits", "until", "rejected", "left"),
            this::waitingCells)
        : new TextTable<>(
            List.of("time", "available", "requested", "granted", "denied", "left", "retry in"),
            this::denyingCells);
  }

  private List<String> denyingCells(BatchResult outcome) {
    long tokens = outcome.batch.tokens();
    return List.of(
        unit.format(outcome.batch.timeNanos()),
        Long.toString(outcome.available),
        outcome.batch.requested(),
        tokens(outcome.granted, tokens),
        tokens(outcome.denied, tokens),
        Long.toString(outcome.left),
        outcome.denial == null ? NONE : comeBack(outcome.denial));
  }

  private List<String> waitingCells(BatchResult outcome) {
    long tokens = outcome.batch.tokens();
    return List.of(
        unit.format(outcome.batch.timeNanos()),
        Long.toString(outcome.available),
        outcome.batch.requested(),
        tokens(outcome.granted, tokens),
        tokens(outcome.waited(), tokens),
        until(outcome),
        tokens(outcome.denied, tokens),
        Long.toString(outcome.left));
  }

  private static String tokens(int requests, long tokens) {
    return requests == 0 ? NONE : Long.toString(requests * tokens);
  }

  private static String comeBack(Decision denial) {
    if (denial instanceof Decision.Denied denied) {
      return Durations.format(denied.retryAfterNanos());
    }
    return denial instanceof Decision.Impossible ? "never: above capacity" : "never: no refill";
  }

  private String until(BatchResult outcome) {
    if (outcome.unserved() > 0) {
      return "never";
    }
    return outcome.waited() == 0 ? NONE : unit.format(outcome.servedNanos);
  }

  private void printPeriods() {
    new TextTable<Map.Entry<Long, RequestTotals>>(
            List.of("period", "requests", "requested", "granted", "denied"), this::periodCells)
        .print(simulation.periods().entrySet(), out);
  }

  private List<String> periodCells(Map.Entry<Long, RequestTotals> period) {
    RequestTotals totals = period.getValue();
    return List.of(
        label(period.getKey()),
        Long.toString(totals.requested().requests()),
        Long.toString(totals.requested().tokens()),
        Long.toString(totals.granted().tokens()),
        Long.toString(totals.denied().tokens()));
  }

  private String label(long startNanos) {
    long length = Math.min(simulation.periodNanos(), Long.MAX_VALUE - startNanos);
    return unit.format(startNanos) + " .. " + unit.format(startNanos + length);
  }

  private void printSummary() {
    RequestTotals total = simulation.total();
    out.printf(
        Locale.ROOT,
        "requests: %d requested, %d granted, %d denied%n",
        total.requested().requests(),
        total.granted().requests(),
        total.denied().requests());
    out.printf(
        Locale.ROOT,
        "tokens:   %d requested, %d granted, %d denied%n",
        total.requested().tokens(),
        total.granted().tokens(),
        total.denied().tokens());
    if (simulation.isWaiting()) {
      printWaits();
    }
  }

  private void printWaits() {
    WaitSummary waits = simulation.waits();
    out.printf(
        Locale.ROOT,
        "waits:    %d served later%s, %d never served%n",
        waits.served(),
        waits.served() == 0 ? "" : " (at most " + Durations.format(waits.longestNanos()) + ")",
        waits.unserved());
    long refused = simulation.total().denied().requests();
    if (refused > 0) {
      out.printf(Locale.ROOT, "rejected: %d, because the debt would overflow%n", refused);
    }
  }
}
