package dev.sluice.redis;

import dev.sluice.redis.link.Call;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Asks Redis about buckets, and those who know better when it does not answer. */
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

    boolean isGranted(T answer);

    /** By this node's share; empty if the outage is over. */
    Optional<T> local(Shares shares);

    T granted();

    T denied();
  }

  /** Answers within the time-out: Redis does, or the outage policy. */
  <T> CompletableFuture<T> answer(Question<T> question) {
    CompletableFuture<T> answer = new CompletableFuture<>();
    ask(question, answer, true);
    return answer;
  }

  /** {@link #answer(Question)}, where Redis has been asked already. */
  <T> CompletableFuture<T> answer(Question<T> question, CompletableFuture<List<Object>> asked) {
    CompletableFuture<T> answer = new CompletableFuture<>();
    await(asked, question, answer, true);
    return answer;
  }

  private <T> void ask(Question<T> question, CompletableFuture<T> answer, boolean first) {
    // Before the gate is looked at, which is there before Redis is available again.
    if (!fleet.link().isAvailable() || fleet.holds(question.demands())) {
      askElsewhere(question, answer, first);
      return;
    }
    @Nullable T refusal = refusalOfGate(question);
    if (refusal == null) {
      await(call(question), question, answer, first);
    } else {
      fleet.counts().local.increment();
      answer.complete(refusal);
    }
  }

  /** What the share refuses while other nodes may not have returned from an outage. */
  private <T> @Nullable T refusalOfGate(Question<T> question) {
    Shares gate = fleet.gate(question.demands());
    if (gate == null || !question.take() || question.policy() != OutagePolicy.LOCAL) {
      return null;
    }
    Optional<T> local = question.local(gate);
    return local.isEmpty() || question.isGranted(local.get()) ? null : local.get();
  }

  @SuppressWarnings("FutureReturnValueIgnored") // what it leads to is the answer
  private <T> void await(
      CompletableFuture<List<Object>> asked,
      Question<T> question,
      CompletableFuture<T> answer,
      boolean first) {
    asked.whenComplete(
        (reply, failure) -> {
          try {
            if (failure != null) {
              unanswered(question, answer, first, failure);
            } else if (question.take() && fleet.holds(question.demands())) {
              // This node's share has granted since: a grant on top could be one too many.
              askElsewhere(question, answer, false);
            } else {
              fleet.counts().exact.increment();
              answer.complete(question.read(verdict(reply)));
            }
          } catch (RuntimeException unexpected) {
            answer.completeExceptionally(unexpected);
          }
        });
  }

  private <T> void unanswered(
      Question<T> question, CompletableFuture<T> answer, boolean first, Throwable failure) {
    boolean notAsked = LimitsUnavailableException.isBeforeAsking(failure);
    if (!notAsked) {
      fleet.unanswered(question.demands(), failure);
    }
    askElsewhere(question, answer, first && notAsked);
  }

  /** Without Redis; if that has just come back, it is asked after all. */
  private <T> void askElsewhere(
      Question<T> question, CompletableFuture<T> answer, boolean mayAskAgain) {
    Counts counts = fleet.counts();
    switch (question.policy()) {
      case OPEN -> {
        counts.open.increment();
        answer.complete(question.granted());
      }
      case CLOSED -> {
        counts.closed.increment();
        answer.complete(question.denied());
      }
      case LOCAL -> {
        Shares shares = fleet.shares();
        Optional<T> local = shares == null ? Optional.empty() : question.local(shares);
        if (local.isEmpty() && mayAskAgain && fleet.link().isAvailable()) {
          ask(question, answer, false);
        } else {
          counts.local.increment();
          answer.complete(local.orElseGet(question::denied));
        }
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
    return fleet.link().call(Script.DECIDE, keys, arguments);
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
        .link()
        .call(Script.ADJUST, new String[] {place}, arguments)
        .thenApply(
            reply -> {
              lookAtVersion(reply);
              return new Level(Call.number(reply, 0), Call.number(reply, 1), Call.number(reply, 2));
            });
  }
}
