package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.cli.demo.DemoJsonReport;
import dev.sluice.cli.demo.DemoLineView;
import dev.sluice.cli.demo.DemoResult;
import dev.sluice.cli.demo.DemoScenario;
import dev.sluice.cli.demo.DemoScreenView;
import dev.sluice.cli.demo.DemoStatus;
import dev.sluice.cli.demo.DemoTextReport;
import dev.sluice.cli.demo.DemoView;
import dev.sluice.cli.demo.Downtime;
import dev.sluice.cli.demo.MessageLog;
import dev.sluice.cli.demo.MessageLog.Count;
import dev.sluice.cli.demo.ModelCallLog;
import dev.sluice.cli.demo.RateStats;
import dev.sluice.cli.demo.RateStats.Window;
import dev.sluice.cli.demo.TenantStats;
import dev.sluice.cli.demo.WaitStats;
import dev.sluice.cli.runtime.CommandContext;
import dev.sluice.cli.runtime.TerminalInfo;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** The results of the demo, computed from handwritten logs. */
final class DemoFiguresTest {
  private static final WaitStats NO_WAIT = new WaitStats(1, 0, 0, 0);

  private static TenantStats tenant(String name, long p99, long fifoP99) {
    return new TenantStats(
        name,
        new Count(1_000, 1_000, 1_000, 5),
        3,
        new WaitStats(1_000, 4, p99, p99),
        new WaitStats(1_000, 7_000, fifoP99, fifoP99));
  }

  private static DemoResult figures(
      long quietP99,
      Window worst,
      MessageLog.MessageTotals balance,
      long left,
      long chargedTokens) {
    return new DemoResult(
        20_000,
        new DemoResult.CrashStats(6_000, 8_000, 12, 3),
        new Downtime(5_990, 8_500),
        new RateStats(2_000, 15_000, worst, worst),
        tenant(DemoScenario.NOISY, 10_000, 10_500),
        tenant(DemoScenario.QUIET, quietP99, 10_000),
        balance,
        left,
        new DemoResult.ModelStats(
            chargedTokens,
            1_000,
            List.of(new ModelCallLog.PriorityClassStats("P0_clinical", 30, 29, NO_WAIT))));
  }

  private static DemoResult good() {
    return figures(
        500, new Window(220, 1_000, 220), new MessageLog.MessageTotals(2_000, 0, 3, 0), 0, 1_000);
  }

  @Test
  void waits_haveNearestRankPercentiles() {
    assertThat(WaitStats.of(LongStream.rangeClosed(1, 200)))
        .isEqualTo(new WaitStats(200, 100, 198, 200));
    assertThat(WaitStats.of(LongStream.of(7))).isEqualTo(new WaitStats(1, 7, 7, 7));
    assertThat(WaitStats.of(LongStream.empty())).isEqualTo(new WaitStats(0, 0, 0, 0));
  }

  @Test
  void outage_isThePauseAroundTheRestart_andIsSubtractedFromWaits() {
    Downtime outage = Downtime.around(250, new long[] {100, 200, 900, 1_000});
    assertThat(outage).isEqualTo(new Downtime(200, 900));
    assertThat(outage.millis()).isEqualTo(700);
    assertThat(outage.waited(0, 150)).isEqualTo(150);
    assertThat(outage.waited(150, 950)).isEqualTo(100);
    assertThat(outage.waited(300, 900)).isZero();
    assertThat(outage.waited(300, 910)).isEqualTo(10);
    assertThat(outage.waited(950, 960)).isEqualTo(10);
    assertThat(outage.waited(961, 960)).isZero();
    assertThat(Downtime.around(1_000, new long[] {100, 1_000})).isEqualTo(Downtime.NONE);
    assertThat(Downtime.NONE.waited(3, 10)).isEqualTo(7);
  }

  @Test
  void fifo_assignsTheSameGrantsInTheOrderOfArrival() {
    List<MessageLog.DeliveryRecord> fair =
        List.of(
            new MessageLog.DeliveryRecord("noisy", 0, 10),
            new MessageLog.DeliveryRecord("noisy", 1, 30),
            new MessageLog.DeliveryRecord("noisy", 2, 40),
            new MessageLog.DeliveryRecord("quiet", 5, 20));
    assertThat(TenantStats.inOneFifo(fair))
        .containsExactly(
            new MessageLog.DeliveryRecord("noisy", 0, 10),
            new MessageLog.DeliveryRecord("noisy", 1, 20),
            new MessageLog.DeliveryRecord("noisy", 2, 30),
            new MessageLog.DeliveryRecord("quiet", 5, 40));
  }

  @Test
  void tenant_isComparedOverTheSameOutage() {
    MessageLog log = new MessageLog();
    for (int i = 0; i < 4; i++) {
      log.sent("noisy", "n" + i);
      log.accepted("n" + i);
    }
    log.sent("quiet", "q");
    log.delivered("n0", 0, 10);
    log.delivered("q", 5, 20);
    log.delivered("n1", 0, 1_030);
    log.delivered("n2", 0, 1_040);
    log.delivered("n3", 0, 1_050);
    TenantStats quiet = TenantStats.of("quiet", log, new Downtime(20, 1_030));
    assertThat(quiet.count()).isEqualTo(new Count(1, 0, 1, 15));
    assertThat(quiet.waits()).isEqualTo(new WaitStats(1, 15, 15, 15));
    assertThat(quiet.fifo()).isEqualTo(new WaitStats(1, 35, 35, 35));
    assertThat(quiet.timesShorter()).isEqualTo(35 / 15.0);
  }

  @Test
  void log_balancesConfirmedAgainstDeliveredMessages() {
    MessageLog log = new MessageLog();
    for (String id : List.of("a", "b", "c", "d")) {
      log.sent("noisy", id);
    }
    assertThat(log.count("noisy").unanswered()).isEqualTo(4);
    for (String id : List.of("a", "b", "c")) {
      log.accepted(id);
    }
    log.delivered("a", 1, 2);
    log.delivered("b", 1, 3);
    assertThat(log.unsettled()).isEqualTo(2);
    log.acked("b");
    log.delivered("a", 1, 5);
    log.delivered("b", 1, 4);
    assertThat(log.balance()).isEqualTo(new MessageLog.MessageTotals(3, 1, 2, 1));
    assertThat(log.again("noisy")).isEqualTo(2);
    assertThat(log.unsettled()).isEqualTo(1);
    assertThat(log.grants()).containsExactly(2, 3, 4, 5);
    assertThat(log.passages())
        .containsExactly(
            new MessageLog.DeliveryRecord("noisy", 1, 2),
            new MessageLog.DeliveryRecord("noisy", 1, 3));
  }

  @Test
  void calls_areGrantedOrWaiting() {
    ModelCallLog log = new ModelCallLog();
    ModelCallLog.Call first = log.requested("P0", 100);
    log.requested("P0", 200);
    log.requested("P1", 200);
    log.granted(first, 110);
    ModelCallLog.PriorityClassStats p0 = log.of("P0", new Downtime(300, 400), 600);
    assertThat(p0)
        .isEqualTo(new ModelCallLog.PriorityClassStats("P0", 2, 1, new WaitStats(2, 10, 300, 300)));
    assertThat(p0.waiting()).isEqualTo(1);
    assertThat(log.grants()).containsExactly(110);
  }

  @Test
  void rate_findsTheFullestWindow() {
    // A burst of 3 at 10 a second, then on the dot.
    long[] legal = {1_000, 1_000, 1_000, 1_100, 1_200, 1_300};
    RateStats kept = RateStats.of(legal, 10, 3);
    assertThat(kept.granted()).isEqualTo(6);
    assertThat(kept.millis()).isEqualTo(300);
    assertThat(kept.worst()).isEqualTo(new Window(3, 0, 3));
    assertThat(kept.worst().isLegal()).isTrue();
    assertThat(kept.worstSecond()).isEqualTo(Window.NONE);

    long[] early = {1_000, 1_000, 1_000, 1_100, 1_190, 1_190};
    assertThat(RateStats.of(early, 10, 3).worst()).isEqualTo(new Window(6, 190, 4));
    assertThat(RateStats.of(early, 10, 3).worst().isLegal()).isFalse();
    assertThat(RateStats.of(new long[0], 10, 3).worst()).isEqualTo(Window.NONE);
  }

  @Test
  void rate_agreesWithTryingEveryWindow() {
    Random random = new Random(9);
    for (int round = 0; round < 300; round++) {
      long[] sorted = random.longs(1 + random.nextInt(30), 0, 3_000).sorted().toArray();
      for (long least : new long[] {0, 1_000}) {
        long most =
            IntStream.range(0, sorted.length)
                .boxed()
                .flatMapToLong(
                    end ->
                        IntStream.rangeClosed(0, end)
                            .filter(begin -> sorted[end] - sorted[begin] >= least)
                            .mapToLong(
                                begin ->
                                    (end - begin + 1) * 1_000L - (sorted[end] - sorted[begin]) * 7))
                .max()
                .orElse(0);
        RateStats figures = RateStats.of(sorted, 7, 2);
        Window worst = least == 0 ? figures.worst() : figures.worstSecond();
        assertThat(worst.granted() * 1_000 - worst.millis() * 7).isEqualTo(most);
        assertThat(worst.millis()).isGreaterThanOrEqualTo(worst.granted() == 0 ? 0 : least);
      }
    }
  }

  @Test
  void unanswered_isCounted() {
    assertThat(DemoTextReport.unanswered(1, 2)).isEqualTo("1 send and 2 acks unanswered");
    assertThat(DemoTextReport.unanswered(0, 1)).isEqualTo("0 sends and 1 ack unanswered");
  }

  @Test
  void goodFigures_passAllChecks() {
    assertThat(good().problems()).isEmpty();
    assertThat(text(good()))
        .contains("TENANT  SENT  DELIVERED  WAIT P50     P99  IN ONE FIFO P50     P99\n")
        .contains("quiet   1000       1000      4 ms  500 ms           7.00 s  10.0 s\n")
        .contains("The quiet tenant's p99 wait is 20 times shorter than in one FIFO.\n")
        .contains("less 2.51 s during which it granted nothing.\n")
        .contains("220 in 1,000 ms; legal at most 220")
        .contains("P0_clinical         30       29              1      0 ms  0 ms\n")
        .contains("killed after 6.00 s with 12 sends and 3 acks unanswered, ready again 2.00 s")
        .contains("Messages: 2,000 acknowledged by the server, 2,000 delivered, 0 lost.\n")
        .contains("\nAll checks passed: ")
        .doesNotContain("FAILED");
    assertThat(text(good()).lines()).allMatch(line -> line.length() <= 100);
  }

  @Test
  void everyFailedCheck_isReported() {
    DemoResult bad =
        figures(
            501,
            new Window(222, 1_001, 221),
            new MessageLog.MessageTotals(2_000, 1, 3, 2),
            4,
            1_001);
    assertThat(bad.problems())
        .containsExactly(
            "1 acknowledged messages were lost",
            "2 messages came back after their ack was confirmed",
            "4 messages are left in the queue",
            "the provider's limit was exceeded: 222 in 1001 ms, legal at most 221",
            "the model's budget was exceeded: 1001 tokens, legal at most 1000",
            "the quiet tenant's p99 wait must be at least 20 times shorter than in one FIFO, but was 20.0");
    assertThat(text(bad))
        .contains("\nFAILED: 1 acknowledged messages were lost\n")
        .doesNotContain("All checks passed");
    Map<String, Object> json = JsonReader.readObject(DemoJsonReport.of(bad, true).toString());
    assertThat(json).containsEntry("passed", false).containsEntry("quick", true);
    assertThat(json.get("problems")).asString().contains("were lost", "FIFO");
  }

  @Test
  void aWaitOfZero_countsAsAMillisecond() {
    assertThat(tenant("quiet", 0, 100).timesShorter()).isEqualTo(100);
  }

  private static String text(DemoResult figures) {
    StringWriter out = new StringWriter();
    DemoTextReport.print(figures, new PrintWriter(out));
    return out.toString();
  }

  private static DemoStatus status(long millis, long granted) {
    return new DemoStatus(
        millis,
        "up",
        granted,
        new Count(2_600, 2_600, 300, 1_500),
        new Count(40, 40, 40, 7),
        List.of(new ModelCallLog.PriorityClassStats("P0_clinical", 30, 29, NO_WAIT)));
  }

  @Test
  void lineView_printsEventsAndOccasionalStatus() {
    StringWriter out = new StringWriter();
    try (DemoView view = new DemoLineView(new PrintWriter(out))) {
      view.event(600, "noisy sends");
      view.tick(status(700, 0));
      view.tick(status(800, 20));
      view.tick(status(2_700, 400));
    }
    assertThat(out.toString().lines())
        .containsExactly(
            "  0.6 s  noisy sends",
            "  2.7 s    server up; provider 200/s; noisy 300 of 2600, quiet 40 of 40;"
                + " P0_clinical 29 of 30");
  }

  @Test
  void screen_fitsATerminal() {
    List<String> lines =
        DemoScreenView.lines(
            "http://localhost:8080/", 100, status(5_000, 800), List.of("an event"));
    assertThat(lines)
        .contains("provider [" + "#".repeat(20) + ".".repeat(20) + "] 100/s of 200/s, burst 20")
        .contains("noisy               2600        300      2300     1.50 s")
        .contains("P0_clinical           30         29         1       0 ms")
        .endsWith("an event")
        .allMatch(line -> line.length() <= 80);
  }

  @Test
  void screenView_restoresTheScreen() {
    StringWriter out = new StringWriter();
    CommandContext context =
        new CommandContext(
            System.in,
            new TerminalInfo(false, true, true, true),
            Map.of(),
            ManualCommandTimer::new);
    try (DemoView view = new DemoScreenView(new PrintWriter(out), context, "console")) {
      view.event(0, "noisy sends");
      view.tick(status(1_000, 0));
      view.tick(status(2_000, 200));
    }
    assertThat(out.toString())
        .startsWith("\u001b[?1049h")
        .contains("] 200/s of 200/s", "0.0 s  noisy sends")
        .endsWith("\u001b[?1049l");
  }
}
