package dev.sluice.redis;

import dev.sluice.redis.link.Call;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Asks Redis about buckets; the outage policy answers where Redis does not. */
final class Decider {
  private static final long NANOS_PER_MICRO = 1_000;
  private static final int VERSION_AT = 4;
  private static final int PER_KEY = 2;

  private final Fleet fleet;

  /** What the script may answer, in the order of its codes. */
  enum Outcome {
    DENIED,
    GRANTED,
    DEPLETED,
    IMPOSSIBLE
  }

  private static final Outcome[] OUTCOMES = Outcome.values();

  /**
   * What Redis decided.
   *
   * @param outcome which way
   * @param binding the index of the key that bound, if one did
   * @param figure tokens that remain or are missing, or microseconds to wait
   * @param micros the time it used, 0 if Redis was not asked
   */
  record Verdict(Outcome outcome, int binding, long figure, long micros) {
    /** Granted from a block of which so many tokens are left. */
    static Verdict granted(long left) {
      return new Verdict(Outcome.GRANTED, 0, left, 0);
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

  Decider(Fleet fleet) {
    this.fleet = fleet;
  }

  /**
   * A question of one limiter.
   *
   * @param <T> what it answers
   */
  interface Question<T> {
    List<Demand> demands();

    /** Whether tokens are taken, not only looked at. */
    boolean take();

    OutagePolicy policy();

    T read(Verdict verdict);

    /** Decides by this node's share. */
    T local(LocalLimits limits);

    T granted();

    T denied();
  }

  /** Answers within the time-out: Redis does, or the outage policy. */
  <T> CompletableFuture<T> answer(Question<T> question) {
    return answer(question, call(question));
  }

  /** {@link #answer(Question)}, where Redis has been asked already. */
  <T> CompletableFuture<T> answer(Question<T> question, CompletableFuture<List<Object>> asked) {
    return asked.handle(
        (reply, failure) -> failure == null ? decided(question, reply) : unanswered(question));
  }

  private <T> T decided(Question<T> question, List<Object> reply) {
    fleet.counts().exact.increment();
    return question.read(verdict(reply));
  }

  /** A call that Redis missed is granted only where the policy or this node's share says so. */
  private <T> T unanswered(Question<T> question) {
    Counts counts = fleet.counts();
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

  private CompletableFuture<List<Object>> call(Question<?> question) {
    List<Demand> demands = question.demands();
    if (question.take() && demands.size() == 1 && demands.get(0).tokens() > 0) {
      return fleet.batches().call(demands.get(0));
    }
    String[] keys = new String[demands.size()];
    String[] arguments = new String[2 + PER_KEY * demands.size()];
    arguments[0] = question.take() ? "take" : "look";
    arguments[1] = Long.toString(demands.get(0).version());
    int at = 2;
    for (int i = 0; i < keys.length; i++) {
      Demand demand = demands.get(i);
      keys[i] = demand.place();
      arguments[at++] = Long.toString(demand.tokens());
      arguments[at++] = demand.quota().params();
    }
    return fleet.connection().call(Script.DECIDE, keys, arguments);
  }

  private String version() {
    return Long.toString(fleet.book().rules().version());
  }

  private Verdict verdict(List<Object> reply) {
    lookAtVersion(reply);
    Outcome outcome = OUTCOMES[(int) Call.number(reply, 0)];
    long second = Call.number(reply, 1);
    long micros = Call.number(reply, 3);
    return outcome == Outcome.GRANTED
        ? new Verdict(outcome, 0, second, micros)
        : new Verdict(outcome, (int) second - 1, Call.number(reply, 2), micros);
  }

  /** Somebody has newer rules: these are read now, not at the next pulse. */
  void lookAtVersion(List<Object> reply) {
    if (Call.number(reply, VERSION_AT) > fleet.book().rules().version()) {
      fleet.refreshRules();
    }
  }

  /** Looks at a bucket, gives it tokens or fills it. */
  CompletableFuture<Level> adjust(String what, long tokens, String place, Quota quota) {
    return adjust(what, Long.toString(tokens), place, quota);
  }

  /**
   * Has a bucket go over to another limit now, with its tokens, and not when it is used next: until
   * then it would be paid at the old rate. In an outage it is left at that.
   *
   * @param from the limit before; null if there was none of its own
   */
  CompletableFuture<Void> move(String place, @Nullable Quota from, Quota to) {
    return adjust("move", from == null ? "" : from.params(), place, to)
        .handle((level, outage) -> null);
  }

  /** Has a bucket forget what was consumed; in an outage it remembers. */
  CompletableFuture<Void> forget(String place, Quota quota) {
    return adjust("fill", 0, place, quota).handle((level, outage) -> null);
  }

  private CompletableFuture<Level> adjust(String what, String amount, String place, Quota quota) {
    String[] arguments = {what, version(), amount, quota.params()};
    return fleet
        .connection()
        .call(Script.ADJUST, new String[] {place}, arguments)
        .thenApply(
            reply -> {
              lookAtVersion(reply);
              return new Level(Call.number(reply, 0), Call.number(reply, 1), Call.number(reply, 2));
            });
  }
}
