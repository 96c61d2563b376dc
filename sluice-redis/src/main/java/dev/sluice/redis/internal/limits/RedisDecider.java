package dev.sluice.redis.internal.limits;

import dev.sluice.redis.OutageMode;
import dev.sluice.redis.internal.connection.ScriptCall;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Decides about buckets in Redis, or by the outage mode if Redis does not answer. */
public final class RedisDecider {
  private static final long NANOS_PER_MICRO = 1_000;
  private static final int VERSION_AT = 4;
  private static final int PER_KEY = 2;

  private final LimitsFleetMember fleet;

  /** The outcomes of a script, in the order of their codes. */
  public enum ScriptOutcome {
    DENIED,
    GRANTED,
    DEPLETED,
    IMPOSSIBLE
  }

  private static final RedisDecider.ScriptOutcome[] OUTCOMES = RedisDecider.ScriptOutcome.values();

  /**
   * The decision of a script.
   *
   * @param outcome which way
   * @param binding the index of the key that bound, if one did
   * @param figure tokens that remain or are missing, or microseconds to wait
   * @param micros the time it used, 0 if Redis was not asked
   */
  public record ScriptDecision(
      RedisDecider.ScriptOutcome outcome, int binding, long figure, long micros) {
    /** Granted from a block of which so many tokens are left. */
    static RedisDecider.ScriptDecision granted(long left) {
      return new RedisDecider.ScriptDecision(RedisDecider.ScriptOutcome.GRANTED, 0, left, 0);
    }

    long retryAfterNanos() {
      return figure * NANOS_PER_MICRO;
    }
  }

  /**
   * How a bucket stands.
   *
   * @param units units there
   * @param unitsPerToken cost of a token
   * @param microsToFull negative if time does not fill it
   */
  record Level(long units, long unitsPerToken, long microsToFull) {
    Optional<Duration> timeToFull() {
      return microsToFull < 0
          ? Optional.empty()
          : Optional.of(Duration.ofNanos(microsToFull * NANOS_PER_MICRO));
    }
  }

  public RedisDecider(LimitsFleetMember fleet) {
    this.fleet = fleet;
  }

  /**
   * A question of one limiter.
   *
   * @param <T> what it answers
   */
  public interface BucketRequest<T> {
    List<BucketDemand> demands();

    /** Whether tokens are taken, not only looked at. */
    boolean take();

    OutageMode policy();

    T read(RedisDecider.ScriptDecision verdict);

    /** Decides by this node's share. */
    T local(OutageLimits limits);

    T granted();

    T denied();
  }

  /** Answers within the time-out: Redis does, or the outage policy. */
  public <T> CompletableFuture<T> answer(RedisDecider.BucketRequest<T> question) {
    return answer(question, call(question));
  }

  /** {@link #answer(RedisDecider.BucketRequest)}, where Redis has been asked already. */
  public <T> CompletableFuture<T> answer(
      RedisDecider.BucketRequest<T> question, CompletableFuture<List<Object>> asked) {
    return asked.handle(
        (reply, failure) -> failure == null ? decided(question, reply) : unanswered(question));
  }

  private <T> T decided(RedisDecider.BucketRequest<T> question, List<Object> reply) {
    fleet.counts().exact.increment();
    return question.read(verdict(reply));
  }

  /** A call that Redis missed is granted only where the policy or this node's share says so. */
  private <T> T unanswered(RedisDecider.BucketRequest<T> question) {
    fleet.connection().requireLayout();
    DecisionCounters counts = fleet.counts();
    switch (question.policy()) {
      case OPEN -> {
        counts.open.increment();
        return question.granted();
      }
      case LOCAL -> {
        Optional<T> local = fleet.decideLocally(question::local);
        (local.isPresent() ? counts.local : counts.closed).increment();
        return local.orElseGet(question::denied);
      }
      default -> {
        counts.closed.increment();
        return question.denied();
      }
    }
  }

  private CompletableFuture<List<Object>> call(RedisDecider.BucketRequest<?> question) {
    List<BucketDemand> demands = question.demands();
    if (question.take() && demands.size() == 1 && demands.get(0).tokens() > 0) {
      return fleet.batches().call(demands.get(0));
    }
    String[] keys = new String[demands.size()];
    String[] arguments = new String[2 + PER_KEY * demands.size()];
    arguments[0] = question.take() ? "take" : "look";
    arguments[1] = Long.toString(demands.get(0).version());
    int at = 2;
    for (int i = 0; i < keys.length; i++) {
      BucketDemand demand = demands.get(i);
      keys[i] = demand.place();
      arguments[at++] = Long.toString(demand.tokens());
      arguments[at++] = demand.quota().params();
    }
    return fleet.connection().call(LimitScript.DECIDE, keys, arguments);
  }

  private String version() {
    return Long.toString(fleet.book().rules().version());
  }

  private RedisDecider.ScriptDecision verdict(List<Object> reply) {
    lookAtVersion(reply);
    RedisDecider.ScriptOutcome outcome = OUTCOMES[(int) ScriptCall.number(reply, 0)];
    long second = ScriptCall.number(reply, 1);
    long micros = ScriptCall.number(reply, 3);
    return outcome == RedisDecider.ScriptOutcome.GRANTED
        ? new RedisDecider.ScriptDecision(outcome, 0, second, micros)
        : new RedisDecider.ScriptDecision(
            outcome, (int) second - 1, ScriptCall.number(reply, 2), micros);
  }

  /** Reads the limits now if the reply mentions newer ones, without waiting for a heartbeat. */
  void lookAtVersion(List<Object> reply) {
    if (ScriptCall.number(reply, VERSION_AT) > fleet.book().rules().version()) {
      fleet.refreshRules();
    }
  }

  /** Looks at a bucket, gives it tokens or fills it. */
  CompletableFuture<Level> adjust(String what, long tokens, String place, ScriptLimit quota) {
    return adjust(what, Long.toString(tokens), place, quota);
  }

  /**
   * Has a bucket go over to another limit now, with its tokens, and not when it is used next: until
   * then it would be paid at the old rate. In an outage it is left at that.
   *
   * @param from the limit before; null if there was none of its own
   */
  CompletableFuture<Void> move(String place, @Nullable ScriptLimit from, ScriptLimit to) {
    return adjust("move", from == null ? "" : from.params(), place, to)
        .handle((level, outage) -> null);
  }

  /** Has a bucket forget what was consumed; in an outage it remembers. */
  CompletableFuture<Void> forget(String place, ScriptLimit quota) {
    return adjust("fill", 0, place, quota).handle((level, outage) -> null);
  }

  private CompletableFuture<Level> adjust(
      String what, String amount, String place, ScriptLimit quota) {
    String[] arguments = {what, version(), amount, quota.params()};
    return fleet
        .connection()
        .call(LimitScript.ADJUST, new String[] {place}, arguments)
        .thenApply(
            reply -> {
              lookAtVersion(reply);
              return new Level(
                  ScriptCall.number(reply, 0),
                  ScriptCall.number(reply, 1),
                  ScriptCall.number(reply, 2));
            });
  }
}
