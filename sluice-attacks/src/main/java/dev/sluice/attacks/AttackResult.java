package dev.sluice.attacks;

import dev.sluice.attacks.catalog.Attack;
import dev.sluice.attacks.catalog.Attempt;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The effect of an attack on a server and on its good clients.
 *
 * @param samples calls of good clients that were due from its start until the server had recovered
 * @param problems defects of the server after the attack; empty if it survived
 * @param firstError the error of the first failed call of a good client, or else of the operator
 */
public record AttackResult(
    Attack attack,
    Attempt.Outcome outcome,
    List<GoodLoad.Sample> samples,
    int failed,
    int operatorFailed,
    @Nullable String firstError,
    long recoveryNanos,
    long logBytes,
    List<String> problems) {
  /** Returns whether the process runs, answers, and has released the resources of the attack. */
  public boolean survived() {
    return problems.isEmpty();
  }

  /** Whether it also answered every call of good clients and of the operator. */
  boolean isFlawless() {
    return survived() && failed == 0 && operatorFailed == 0;
  }

  /** Of calls by good clients, in milliseconds. */
  double p99() {
    return Percentiles.p99(samples);
  }

  /** Collects the parts. */
  static final class Builder {
    private final Attack attack;
    private Attempt.@Nullable Outcome outcome;
    private List<GoodLoad.Sample> samples = List.of();
    private List<GoodLoad.Sample> operator = List.of();
    private List<String> problems = List.of();
    private long recoveryNanos;
    private long logBytes;

    Builder(Attack attack) {
      this.attack = attack;
    }

    void outcome(Attempt.Outcome what) {
      outcome = what;
    }

    void samples(List<GoodLoad.Sample> clients, List<GoodLoad.Sample> ofOperator) {
      samples = List.copyOf(clients);
      operator = List.copyOf(ofOperator);
    }

    void recoveryNanos(long nanos) {
      recoveryNanos = nanos;
    }

    void log(long bytes) {
      logBytes = bytes;
    }

    void problems(List<String> all) {
      problems = List.copyOf(all);
    }

    AttackResult build() {
      String error = firstError(samples);
      return new AttackResult(
          attack,
          Objects.requireNonNull(outcome, "outcome"),
          samples,
          failed(samples),
          failed(operator),
          error == null ? firstError(operator) : error,
          recoveryNanos,
          logBytes,
          problems);
    }

    private static int failed(List<GoodLoad.Sample> all) {
      return (int) all.stream().filter(each -> each.problem() != null).count();
    }

    private static @Nullable String firstError(List<GoodLoad.Sample> all) {
      return all.stream()
          .map(GoodLoad.Sample::problem)
          .filter(Objects::nonNull)
          .findFirst()
          .orElse(null);
    }
  }
}
