package dev.sluice.governor.redis.store;

import dev.sluice.governor.redis.RedisBudgets;
import dev.sluice.governor.spi.StoreTimer;
import dev.sluice.redis.RedisUnavailableException;
import dev.sluice.redis.connection.FleetConnection;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The books of one model in Redis: every call about it goes through here. Where Redis has none, or
 * others than those that this node knows, it is told the rules, what this node holds and what the
 * provider told it, and asked once more: so no books that do not know of this node's slots answer
 * it. The life of the books is told in {@code model_state.lua}.
 */
public final class ModelScripts {
  private static final Logger LOG = LoggerFactory.getLogger(RedisBudgets.class);

  /** Counted by a double without a gap. */
  private static final long GENERATIONS = 1L << 52;

  /** How long Redis may take for what it is told in books that it has lost; no caller waits. */
  private static final long TIMEOUTS_TO_JOIN = 3;

  /** Until this node has reported, its calls grant nothing from the line (model_state.lua). */
  private static final String UNREPORTED = "!";

  /** How many grants books are told to hold at once: a script that holds them takes some ms. */
  public static final int PORTION = 100;

  private final String model;
  private final FleetConnection connection;
  private final String node;
  private final String[] keys;
  private final GovernorFleetMember fleet;
  private final ModelScripts.Owner owner;
  private final StoreTimer timer;
  private final long timeoutNanos;
  private final AtomicInteger underWay = new AtomicInteger();

  private volatile ModelScriptConfig config;

  /** The configuration that Redis has confirmed; other nodes may have changed it since. */
  private volatile @Nullable ModelScriptConfig confirmed;

  /** Of the books that know what is held here; 0 if there never were any. */
  private volatile long generation;

  // Guarded by this.
  private boolean begun;
  private @Nullable CompletableFuture<Void> joining;
  private long missed;

  /** The owner of the state of one model. */
  interface Owner {
    /** Is told every answer before anybody else learns of it. */
    void heard(ScriptResult answer);

    /** Returns the grants that Redis must have. */
    List<NodeGrants.Grant> held();

    /** Whether that is still so. */
    boolean isHeld(String id);

    /** Whether Redis has to be told first what this node decided by itself. */
    boolean isUnreported();

    /**
     * Returns the provider adjustment in force, as arguments of {@link GovernorScript#CONFIGURE};
     * null if there is none.
     */
    String @Nullable [] adjusted();

    /** The books are known; once. */
    void begun();
  }

  ModelScripts(
      GovernorFleetMember fleet,
      String model,
      ModelScriptConfig config,
      StoreTimer timer,
      ModelScripts.Owner owner) {
    this.fleet = fleet;
    this.timer = timer;
    this.model = model;
    this.connection = fleet.connection();
    this.node = fleet.node();
    this.keys = fleet.keys(model).all();
    this.config = config;
    this.owner = owner;
    this.timeoutNanos = fleet.config().timeout().toNanos();
  }

  ModelScriptConfig config() {
    return config;
  }

  /** Goes by these from now on; Redis is to be told by {@link #configure}. */
  void use(ModelScriptConfig next) {
    config = next;
  }

  boolean isConfirmed() {
    return confirmed == config;
  }

  /** Whether every call has been answered, and nobody is told of one any more. */
  boolean isQuiet() {
    return underWay.get() == 0;
  }

  /**
   * Asks; fails with {@link RedisUnavailableException} if there is no answer in time.
   *
   * <p>This node may be a member again before Redis has accepted the report of this model. Until
   * then Redis does not know what it has to decide by, and is sent no call.
   */
  CompletableFuture<ScriptResult> call(GovernorScript script, String... args) {
    return ask(false, timeoutNanos, script, args);
  }

  /** {@link #call} with more time, also while this node returns: for what Redis has to know. */
  CompletableFuture<ScriptResult> tell(GovernorScript script, String... args) {
    return ask(true, TIMEOUTS_TO_JOIN * timeoutNanos, script, args);
  }

  /** Whether Redis still has the books that are known here: if not, it is told what is held. */
  CompletableFuture<Void> check() {
    long known = generation;
    return connection
        .tell(GovernorScript.RESTORE_GRANTS, keys, arguments(true, known))
        .thenCompose(
            reply -> ScriptResult.isUnknown(reply) ? join(known) : CompletableFuture.allOf());
  }

  @SuppressWarnings("FutureReturnValueIgnored") // what they lead to is tracked
  private CompletableFuture<ScriptResult> ask(
      boolean told, long patienceNanos, GovernorScript script, String[] args) {
    Tracked tracked = new Tracked();
    // Callers that got no answer by then go by it that Redis does nothing later.
    long deadline = connection.nanoTime() + patienceNanos;
    long known = generation;
    Supplier<String[]> arguments = arguments(told, known, args);
    (told ? connection.tell(script, keys, arguments) : connection.call(script, keys, arguments))
        .whenComplete(
            (reply, failure) -> {
              if (reply != null && ScriptResult.isUnknown(reply)) {
                inTime(
                        deadline - connection.nanoTime(),
                        join(known)
                            .thenCompose(joined -> askAgain(deadline, told, script, args))
                            .thenApply(late -> known(late, args)))
                    .whenComplete((answer, late) -> tracked.end(answer, unlessTooLate(late)));
              } else {
                tracked.end(reply, args, failure);
              }
            });
    return tracked;
  }

  private CompletableFuture<List<Object>> askAgain(
      long deadline, boolean told, GovernorScript script, String[] args) {
    return connection.callBy(deadline, told, script, keys, arguments(told, generation, args));
  }

  private <T> CompletableFuture<T> inTime(long nanos, CompletableFuture<T> answer) {
    try {
      timer.schedule(nanos, () -> answer.completeExceptionally(new TimeoutException()));
    } catch (RejectedExecutionException closed) {
      answer.completeExceptionally(closed);
    }
    return answer;
  }

  private @Nullable Throwable unlessTooLate(@Nullable Throwable failure) {
    return failure instanceof TimeoutException
        ? new RedisUnavailableException(
            "Redis lost the state of model "
                + model
                + "; this node is restoring its open grants, retry",
            null)
        : failure;
  }

  /** Unless that was done since this generation was the one that is known. */
  @SuppressWarnings("FutureReturnValueIgnored") // it ends what is returned
  private CompletableFuture<Void> join(long known) {
    CompletableFuture<Void> mine = new CompletableFuture<>();
    boolean first;
    synchronized (this) {
      if (generation != known) {
        return CompletableFuture.allOf();
      }
      if (joining != null && !joining.isDone()) {
        return joining;
      }
      joining = mine;
      first = missed != known;
      missed = known;
    }
    if (first) {
      LOG.warn("Redis lost the state of model {}; its budgets restart empty", model);
    }
    // Exceptions must complete it, too.
    CompletableFuture.completedFuture(isConfirmed())
        .thenCompose(this::tell)
        .whenComplete(
            (answer, failure) -> {
              if (failure == null) {
                mine.complete(null);
              } else {
                mine.completeExceptionally(causeOf(failure));
              }
            });
    return mine;
  }

  /** Returns the clock of this node. */
  long nanoTime() {
    return connection.nanoTime();
  }

  /** Returns how long after it was sent Redis runs a {@link #call} at the latest. */
  long timeoutNanos() {
    return timeoutNanos;
  }

  /** Returns the time of Redis. */
  long serverNanos() {
    return connection.serverNanos();
  }

  /** Tells Redis the rules. */
  CompletableFuture<ScriptResult> configure() {
    Tracked tracked = new Tracked();
    var unused = tell(false).whenComplete(tracked::end);
    return tracked;
  }

  private CompletableFuture<ScriptResult> tell(boolean join) {
    ModelScriptConfig mine = config;
    long known = generation;
    boolean full = known == 0 && !fleet.beganAlone();
    long next = ThreadLocalRandom.current().nextLong(1, GENERATIONS);
    return connection
        .tell(
            GovernorScript.CONFIGURE,
            keys,
            arguments(true, known, mine.configure(join, full, next)))
        .thenCompose(
            reply -> {
              ScriptResult answer = known(reply);
              long now = answer.result().number(1);
              return (now == known ? CompletableFuture.completedFuture(null) : hold(now))
                  .thenApply(
                      held -> {
                        begin(now);
                        confirmed = mine;
                        return answer;
                      });
            });
  }

  /** Has books of that generation know it, too. */
  private CompletableFuture<?> hold(long now) {
    // The provider adjustment is first: many grants take longer than new state waits.
    String[] adjusted = owner.adjusted();
    return (adjusted == null
            ? CompletableFuture.completedFuture(null)
            : tell(now, GovernorScript.CONFIGURE, adjusted))
        .thenCompose(told -> hold(now, owner.held(), 0));
  }

  /** From {@code at} on, one portion after the other, without those that were settled meanwhile. */
  private CompletableFuture<?> hold(long now, List<NodeGrants.Grant> grants, int at) {
    if (at >= grants.size()) {
      return CompletableFuture.allOf();
    }
    int next = Math.min(grants.size(), at + PORTION);
    String[] args =
        grants.subList(at, next).stream()
            .filter(each -> owner.isHeld(each.id()))
            .flatMap(each -> each.arguments().stream())
            .toArray(String[]::new);
    return args.length == 0
        ? hold(now, grants, next)
        : tell(now, GovernorScript.RESTORE_GRANTS, args).thenCompose(held -> hold(now, grants, next));
  }

  private CompletableFuture<ScriptResult> tell(long now, GovernorScript script, String[] args) {
    return connection.tell(script, keys, arguments(true, now, args)).thenApply(this::known);
  }

  private void begin(long now) {
    boolean first;
    synchronized (this) {
      generation = now;
      first = !begun;
      begun = true;
    }
    if (first) {
      owner.begun();
    }
  }

  /** Returns the arguments at the moment in which they are sent: that may be after a return. */
  private Supplier<String[]> arguments(boolean told, long known, String... args) {
    return () -> {
      boolean unreported = owner.isUnreported();
      if (unreported && !told) {
        throw new RedisUnavailableException(
            "Redis does not know yet what was decided without it about model " + model,
            null,
            false);
      }
      String[] arguments = new String[args.length + 1];
      arguments[0] = node + known + (unreported ? UNREPORTED : "");
      System.arraycopy(args, 0, arguments, 1, args.length);
      return arguments;
    };
  }

  private ScriptResult known(List<Object> reply, String... args) {
    if (ScriptResult.isUnknown(reply)) {
      throw new RedisUnavailableException("Redis keeps losing the state of model " + model, null);
    }
    ScriptResult answer = ScriptResult.of(reply, args);
    try {
      owner.heard(answer);
    } catch (RuntimeException failure) {
      // Redis has done what it was asked for.
      LOG.warn("model {}: cannot parse a reply of Redis", model, failure);
    }
    return answer;
  }

  /** A call that counts until whoever waits for it has been told. */
  private final class Tracked extends CompletableFuture<ScriptResult> {
    Tracked() {
      underWay.incrementAndGet();
    }

    void end(@Nullable List<Object> reply, String[] args, @Nullable Throwable failure) {
      ScriptResult answer = null;
      Throwable thrown = failure;
      if (reply != null) {
        try {
          answer = known(reply, args);
        } catch (RuntimeException | Error e) {
          thrown = e;
        }
      }
      end(answer, thrown);
    }

    void end(@Nullable ScriptResult answer, @Nullable Throwable failure) {
      if (answer != null) {
        complete(answer);
      } else {
        completeExceptionally(causeOf(Objects.requireNonNull(failure)));
      }
      underWay.decrementAndGet();
    }
  }

  private static Throwable causeOf(Throwable failure) {
    Throwable cause = failure.getCause();
    return failure instanceof CompletionException && cause != null ? cause : failure;
  }
}
