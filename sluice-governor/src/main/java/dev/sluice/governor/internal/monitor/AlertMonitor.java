package dev.sluice.governor.internal.monitor;

import dev.sluice.governor.AlertConfig;
import dev.sluice.governor.BudgetDimension;
import dev.sluice.governor.GovernorStatus;
import dev.sluice.governor.TokenSettlement;
import java.math.BigDecimal;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Detects when an operator should look at a model. It reads no clock and logs nothing itself. Not
 * thread-safe.
 */
public final class AlertMonitor {
  private static final double PERCENT = 100;
  private static final double NOTHING_LEFT = 0;

  private final String model;
  private final Map<GovernorStatus.Alert.Kind, GovernorStatus.Alert> alerts =
      new EnumMap<>(GovernorStatus.Alert.Kind.class);
  private AlertConfig config;
  private RejectionWindow rejections;

  /** The last settlement with excess tokens, and their sum since the alert began. */
  private @Nullable TokenSettlement exceeded;

  private long exceededAt;
  private long excess;

  /**
   * An alert has come or gone.
   *
   * @param raised whether it has come
   * @param line for the log
   */
  public record Change(GovernorStatus.Alert alert, boolean raised, String line) {}

  public AlertMonitor(String model, AlertConfig config, long now) {
    this.model = model;
    this.config = config;
    this.rejections = new RejectionWindow(config.window(), now);
  }

  /** Replaces the settings; with another window, counting starts again. */
  public void reload(AlertConfig changed, long now) {
    if (!changed.window().equals(config.window())) {
      rejections = new RejectionWindow(changed.window(), now);
    }
    config = changed;
  }

  public void asked(boolean rejected, long now) {
    rejections.asked(rejected, now);
  }

  /** A settlement reported more than it could be charged for. */
  void exceeded(TokenSettlement settled, long now) {
    exceeded = settled;
    exceededAt = now;
    excess += settled.excessTokens();
  }

  /** Returns the present alerts; a continuing alert keeps its time. */
  public List<GovernorStatus.Alert> alerts() {
    return List.copyOf(alerts.values());
  }

  /**
   * Looks at it.
   *
   * @param status how the model stands
   * @param now by the clock of {@link #asked}
   * @param at the same moment for people
   * @return what has changed since it was last looked at
   */
  public List<Change> check(GovernorStatus.Model status, long now, Instant at) {
    long waiting = status.queueLengths().values().stream().mapToLong(Integer::longValue).sum();
    List<Change> changes = new ArrayList<>();
    RejectionWindow.Sum sum = rejections.sum(now);
    double rate = sum.asked() == 0 ? 0 : (double) sum.rejected() / sum.asked();
    change(
        changes,
        isTooHigh(sum),
        alert(GovernorStatus.Alert.Kind.HIGH_REJECTION_RATE, rate, config.rejectionThreshold(), at),
        "%s of %d requests in %d ms, threshold %s"
            .formatted(
                percent(rate),
                sum.asked(),
                config.window().toMillis(),
                percent(config.rejectionThreshold())));
    change(
        changes,
        waiting > config.maxWaiting(),
        alert(GovernorStatus.Alert.Kind.QUEUE_BUILDUP, (double) waiting, config.maxWaiting(), at),
        "%d requests, threshold %d".formatted(waiting, config.maxWaiting()));
    checkExhaustion(changes, status, at);
    checkExcess(changes, now, at);
    return changes;
  }

  /**
   * Raises the alert once the model has been unable to serve the head of its waiting list for a
   * while.
   */
  private void checkExhaustion(List<Change> changes, GovernorStatus.Model status, Instant at) {
    GovernorStatus.Exhaustion head = status.exhaustion().orElse(null);
    boolean ofRequests = head != null && head.dimension() == BudgetDimension.REQUESTS;
    long left = ofRequests ? 0 : status.available();
    long needed = head == null ? 0 : head.needed();
    String figures = "%d %s left".formatted(left, ofRequests ? "requests" : "tokens");
    if (head != null) {
      figures +=
          ", the first waiting request needs %d: too few for %d ms"
              .formatted(needed, head.duration().toMillis());
    }
    change(
        changes,
        head != null && head.duration().compareTo(config.interval()) >= 0,
        alert(GovernorStatus.Alert.Kind.BUCKET_EXHAUSTED, (double) left, (double) needed, at),
        figures);
  }

  /** Raises the alert for one window after the last settlement with excess tokens. */
  private void checkExcess(List<Change> changes, long now, Instant at) {
    TokenSettlement last = exceeded;
    if (last == null) {
      return;
    }
    boolean isSo = now - exceededAt < config.window().toNanos();
    String advice =
        "%s: %s reported %d tokens for a reservation of %d, and %d were charged"
            .formatted(
                GovernorStatus.Alert.Kind.SETTLED_EXCESS.advice(),
                tenantOf(last),
                last.actualTokens(),
                last.reservedTokens(),
                last.chargedTokens());
    change(
        changes,
        isSo,
        alert(GovernorStatus.Alert.Kind.SETTLED_EXCESS, (double) excess, NOTHING_LEFT, advice, at),
        "%d tokens were reported and not charged".formatted(excess));
    if (!isSo) {
      exceeded = null;
      excess = 0;
    }
  }

  /** Returns the tenant's name without control characters, which could forge lines of the log. */
  private static String tenantOf(TokenSettlement settled) {
    return "tenant '%s'".formatted(settled.tenant().replaceAll("\\p{Cntrl}", "?"));
  }

  /** Compares with the decimal that was written: 5 % of 140 is exactly 7. */
  private boolean isTooHigh(RejectionWindow.Sum sum) {
    BigDecimal most =
        BigDecimal.valueOf(config.rejectionThreshold()).multiply(BigDecimal.valueOf(sum.asked()));
    return sum.asked() >= config.minRequests()
        && BigDecimal.valueOf(sum.rejected()).compareTo(most) > 0;
  }

  private GovernorStatus.Alert alert(
      GovernorStatus.Alert.Kind kind, double value, double threshold, Instant at) {
    return alert(kind, value, threshold, kind.advice(), at);
  }

  private GovernorStatus.Alert alert(
      GovernorStatus.Alert.Kind kind, double value, double threshold, String advice, Instant at) {
    GovernorStatus.Alert before = alerts.get(kind);
    Instant since = before == null ? at : before.since();
    return new GovernorStatus.Alert(model, kind, value, threshold, advice, since);
  }

  private void change(
      List<Change> changes, boolean isSo, GovernorStatus.Alert alert, String figures) {
    GovernorStatus.@Nullable Alert before =
        isSo ? alerts.put(alert.kind(), alert) : alerts.remove(alert.kind());
    String name = inWords(alert.kind());
    if (isSo && before == null) {
      changes.add(
          new Change(
              alert, true, "%s of %s: %s: %s".formatted(name, model, figures, alert.advice())));
    } else if (!isSo && before != null) {
      changes.add(
          new Change(
              before,
              false,
              "%s of %s is over, it started at %s: %s"
                  .formatted(name, model, before.since(), figures)));
    }
  }

  private static String inWords(GovernorStatus.Alert.Kind kind) {
    return switch (kind) {
      case HIGH_REJECTION_RATE -> "High rejection rate";
      case QUEUE_BUILDUP -> "Queue buildup";
      case BUCKET_EXHAUSTED -> "Bucket exhausted";
      case SETTLED_EXCESS -> "Settled excess";
    };
  }

  private static String percent(double part) {
    return String.format(Locale.ROOT, "%.2f%%", PERCENT * part);
  }
}
