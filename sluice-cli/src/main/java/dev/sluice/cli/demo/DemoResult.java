package dev.sluice.cli.demo;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * The results of the demo.
 *
 * @param millis duration of the demo
 * @param crash messages in flight when the server was killed
 * @param outage time from the last grant before the kill to the first after it
 * @param provider grants under the provider's limit
 * @param noisy results of the noisy tenant
 * @param quiet results of the quiet tenant
 * @param balance totals of the messages
 * @param left messages in the queue at the end
 * @param model results of the model's callers
 */
public record DemoResult(
    long millis,
    DemoResult.CrashStats crash,
    Downtime outage,
    RateStats provider,
    TenantStats noisy,
    TenantStats quiet,
    MessageLog.MessageTotals balance,
    long left,
    DemoResult.ModelStats model) {

  /**
   * The end of a server, and its return.
   *
   * @param afterMillis since the start
   * @param readyMillis when it took calls again
   * @param unansweredSends messages that were sent and not confirmed
   * @param unsettled messages that were delivered and not yet acknowledged
   */
  public record CrashStats(
      long afterMillis, long readyMillis, long unansweredSends, long unsettled) {}

  /**
   * Results of the model's callers.
   *
   * @param chargedTokens tokens charged in the end
   * @param legalTokens the bound burst + rate · time
   * @param classes results by priority class
   */
  public record ModelStats(
      long chargedTokens, long legalTokens, List<ModelCallLog.PriorityClassStats> classes) {
    public ModelStats {
      classes = List.copyOf(classes);
    }

    boolean isLegal() {
      return chargedTokens <= legalTokens;
    }
  }

  static DemoResult of(
      long millis,
      DemoResult.CrashStats crash,
      long restartWallMillis,
      MessageLog log,
      long left,
      DemoResult.ModelStats model) {
    long[] grants = log.grants();
    Downtime outage = Downtime.around(restartWallMillis, grants);
    return new DemoResult(
        millis,
        crash,
        outage,
        RateStats.of(grants, DemoScenario.RATE_PER_SECOND, DemoScenario.BURST),
        TenantStats.of(DemoScenario.NOISY, log, outage),
        TenantStats.of(DemoScenario.QUIET, log, outage),
        log.balance(),
        left,
        model);
  }

  /** Returns the broken promises; empty if there are none. */
  public List<String> problems() {
    List<String> problems = new ArrayList<>();
    if (balance.lost() > 0) {
      problems.add("%d acknowledged messages were lost".formatted(balance.lost()));
    }
    if (balance.returned() > 0) {
      problems.add(
          "%d messages came back after their ack was confirmed".formatted(balance.returned()));
    }
    if (left > 0) {
      problems.add("%d messages are left in the queue".formatted(left));
    }
    if (!provider.worst().isLegal()) {
      problems.add(
          "the provider's limit was exceeded: %d in %d ms, legal at most %d"
              .formatted(
                  provider.worst().granted(), provider.worst().millis(), provider.worst().legal()));
    }
    if (!model.isLegal()) {
      problems.add(
          "the model's budget was exceeded: %d tokens, legal at most %d"
              .formatted(model.chargedTokens(), model.legalTokens()));
    }
    if (quiet.timesShorter() < DemoScenario.TIMES_SHORTER) {
      problems.add(
          String.format(
              Locale.ROOT,
              "the quiet tenant's p99 wait must be at least %d times shorter than in one FIFO, but was %.1f",
              DemoScenario.TIMES_SHORTER,
              quiet.timesShorter()));
    }
    return problems;
  }
}
