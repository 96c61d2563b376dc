package dev.sluice.governor.redis.internal.store;

import dev.sluice.governor.redis.RedisBudgets;
import dev.sluice.governor.spi.StoreTimer;
import dev.sluice.redis.RedisUnavailableException;
import dev.sluice.redis.internal.connection.FleetConnection;
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
 * The scripts of one model. If Redis has no state, or state of a generation that this node does not
 * know, the node first sends its configuration, the provider's adjustment and its open grants, and
 * then the call again: state without this node's slots answers none of its calls. Generations are
 * described in {@code model_state.lua}.
 */
public final class ModelScripts {
  private static final Logger LOG = LoggerFactory.getLogger(RedisBudgets.class);

  /** Doubles represent every generation exactly. */
  private static final long GENERATIONS = 1L << 52;

  /** The timeout of a call during a return, in timeouts of other calls; no caller waits for it. */
  private static final long TIMEOUTS_DURING_RETURN = 3;

  /** Until this node has reported, its calls grant no waiters (model_state.lua). */
  private static final String UNREPORTED = "!";

  /** The most grants that one call restores, which takes some milliseconds. */
  public static final int PORTION = 100;

  private final String model;
  private final FleetConnection connection;
  private final String node;
  private final String[] keys;
  private final GovernorFleetMember fleet;
  private final ModelScripts.Owner owner;
  private final StoreTimer timer;
  private final long timeoutNanos;
  private final AtomicInteger pendingCalls = new AtomicInteger();

  private volatile ModelScriptConfig config;

  /** The configuration that Redis has confirmed; other nodes may have changed it since. */
  private volatile @Nullable ModelScriptConfig confirmed;

  /** The generation of the state that has the grants of this node; 0 before the first. */
  private volatile long generation;

  // Guarded by this.
  private boolean stateKnown;
  private @Nullable CompletableFuture<Void> joining;
  private long lostGeneration;

  /** The callbacks of the store of one model. */
  interface Owner {
    /** Receives every result before the caller does. */
    void received(ScriptResult answer);

    /** Returns the grants that the state must have. */
    List<NodeGrants.Grant> openGrants();

    /** Returns whether a grant is not settled. */
    boolean isOpen(String id);

    /** Returns whether Redis has not accepted the report of an outage. */
    boolean isUnreported();

    /**
     * Returns the provider adjustment in force, as arguments of {@link GovernorScript#CONFIGURE};
     * null if there is none.
     */
    String @Nullable [] adjustment();

    /** Is called once, when this node knows the generation of the state. */
    void stateKnown();
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

  /** Replaces the configuration; {@link #configure} sends it to Redis. */
  void use(ModelScriptConfig next) {
    config = next;
  }

  boolean isConfirmed() {
    return confirmed == config;
  }

  /** Returns whether every call has completed. */
  boolean isIdle() {
    return pendingCalls.get() == 0;
  }

  /**
   * Calls a script; fails with {@link RedisUnavailableException} if there is no answer in time.
   *
   * <p>A node may be a member again before Redis has accepted the report of this model. Until then
   * no call is sent.
   */
  CompletableFuture<ScriptResult> call(GovernorScript script, String... args) {
    return send(false, timeoutNanos, script, args);
  }

  /** {@link #call} with more time, also while this node returns. */
  CompletableFuture<ScriptResult> callDuringReturn(GovernorScript script, String... args) {
    return send(true, TIMEOUTS_DURING_RETURN * timeoutNanos, script, args);
  }

  /** Restores the grants of this node if the generation of the state has changed. */
  CompletableFuture<Void> check() {
    long known = generation;
    return connection
        .tell(GovernorScript.RESTORE_GRANTS, keys, arguments(true, known))
        .thenCompose(
            reply -> ScriptResult.isUnknown(reply) ? join(known) : CompletableFuture.allOf());
  }

  @SuppressWarnings("FutureReturnValueIgnored") // the call is tracked
  private CompletableFuture<ScriptResult> send(
      boolean returning, long waitNanos, GovernorScript script, String[] args) {
    Tracked tracked = new Tracked();
    // Callers without an answer by then assume that the script does not run later.
    long deadline = connection.nanoTime() + waitNanos;
    long known = generation;
    Supplier<String[]> arguments = arguments(returning, known, args);
    (returning
            ? connection.tell(script, keys, arguments)
            : connection.call(script, keys, arguments))
        .whenComplete(
            (reply, failure) -> {
              if (reply != null && ScriptResult.isUnknown(reply)) {
                inTime(
                        deadline - connection.nanoTime(),
                        join(known)
                            .thenCompose(joined -> sendAgain(deadline, returning, script, args))
                            .thenApply(late -> known(late, args)))
                    .whenComplete((answer, late) -> tracked.end(answer, asUnavailable(late)));
              } else {
                tracked.end(reply, args, failure);
              }
            });
    return tracked;
  }

  private CompletableFuture<List<Object>> sendAgain(
      long deadline, boolean returning, GovernorScript script, String[] args) {
    return connection.callBy(
        deadline, returning, script, keys, arguments(returning, generation, args));
  }

  private <T> CompletableFuture<T> inTime(long nanos, CompletableFuture<T> answer) {
    try {
      timer.schedule(nanos, () -> answer.completeExceptionally(new TimeoutException()));
    } catch (RejectedExecutionException closed) {
      answer.completeExceptionally(closed);
    }
    return answer;
  }

  private @Nullable Throwable asUnavailable(@Nullable Throwable failure) {
    return failure instanceof TimeoutException
        ? new RedisUnavailableException(
            "Redis lost the state of model "
                + model
                + "; this node is restoring its open grants, retry",
            null)
        : failure;
  }

  /** Restores the grants of this node, unless that has changed the known generation already. */
  @SuppressWarnings("FutureReturnValueIgnored") // it completes the returned future
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
      first = lostGeneration != known;
      lostGeneration = known;
    }
    if (first) {
      LOG.warn("Redis lost the state of model {}; its budgets restart empty", model);
    }
    // Exceptions must complete it, too.
    CompletableFuture.completedFuture(isConfirmed())
        .thenCompose(this::sendConfig)
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

  /** Returns the time after which a {@link #call} does not run any more. */
  long timeoutNanos() {
    return timeoutNanos;
  }

  /** Returns the time of Redis. */
  long serverNanos() {
    return connection.serverNanos();
  }

  /** Sends the configuration to Redis. */
  CompletableFuture<ScriptResult> configure() {
    Tracked tracked = new Tracked();
    var unused = sendConfig(false).whenComplete(tracked::end);
    return tracked;
  }

  private CompletableFuture<ScriptResult> sendConfig(boolean join) {
    ModelScriptConfig mine = config;
    long known = generation;
    boolean full = known == 0 && !fleet.startedWithoutRedis();
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
              return (now == known ? CompletableFuture.completedFuture(null) : restore(now))
                  .thenApply(
                      restored -> {
                        stateKnown(now);
                        confirmed = mine;
                        return answer;
                      });
            });
  }

  /** Restores the adjustment and the grants in the state of that generation. */
  private CompletableFuture<?> restore(long now) {
    // The adjustment is first: many grants may take longer than new state waits.
    String[] adjustment = owner.adjustment();
    return (adjustment == null
            ? CompletableFuture.completedFuture(null)
            : callFor(now, GovernorScript.CONFIGURE, adjustment))
        .thenCompose(adjusted -> restore(now, owner.openGrants(), 0));
  }

  /**
   * Restores the grants from {@code at} on in portions, without those that were settled meanwhile.
   */
  private CompletableFuture<?> restore(long now, List<NodeGrants.Grant> grants, int at) {
    if (at >= grants.size()) {
      return CompletableFuture.allOf();
    }
    int next = Math.min(grants.size(), at + PORTION);
    String[] args =
        grants.subList(at, next).stream()
            .filter(each -> owner.isOpen(each.id()))
            .flatMap(each -> each.arguments().stream())
            .toArray(String[]::new);
    return args.length == 0
        ? restore(now, grants, next)
        : callFor(now, GovernorScript.RESTORE_GRANTS, args)
            .thenCompose(restored -> restore(now, grants, next));
  }

  private CompletableFuture<ScriptResult> callFor(long now, GovernorScript script, String[] args) {
    return connection.tell(script, keys, arguments(true, now, args)).thenApply(this::known);
  }

  private void stateKnown(long now) {
    boolean first;
    synchronized (this) {
      generation = now;
      first = !stateKnown;
      stateKnown = true;
    }
    if (first) {
      owner.stateKnown();
    }
  }

  /** Returns the arguments at the time at which they are sent, which may be after a return. */
  private Supplier<String[]> arguments(boolean returning, long known, String... args) {
    return () -> {
      boolean unreported = owner.isUnreported();
      if (unreported && !returning) {
        throw new RedisUnavailableException(
            "Redis has not accepted the decisions of the last outage about model " + model,
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
      owner.received(answer);
    } catch (RuntimeException failure) {
      // The script has run.
      LOG.warn("model {}: cannot parse a reply of Redis", model, failure);
    }
    return answer;
  }

  /** A call that is pending until its future has completed. */
  private final class Tracked extends CompletableFuture<ScriptResult> {
    Tracked() {
      pendingCalls.incrementAndGet();
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
      pendingCalls.decrementAndGet();
    }
  }

  private static Throwable causeOf(Throwable failure) {
    Throwable cause = failure.getCause();
    return failure instanceof CompletionException && cause != null ? cause : failure;
  }
}
