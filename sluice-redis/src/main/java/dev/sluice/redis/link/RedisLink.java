package dev.sluice.redis.link;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisNoScriptException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Asks Redis, with a time-out of its own and a breaker.
 *
 * <p>The breaker opens when a connection is lost or several calls in a row are late; from then on
 * only a {@link #probe} reaches Redis, and every other call fails at once. Whoever probes closes it
 * again.
 *
 * @since 0.1
 */
public final class RedisLink implements AutoCloseable {
  /** One late answer may be a pause of this process; so many in a row are not. */
  private static final int LATE_IN_A_ROW = 3;

  /** More than any number of callers that wait for each answer. */
  private static final long MANY_AWAITED = 1_000;

  private static final long SLOW_SECONDS = 10;

  private static final List<String> AWAY =
      List.of(
          "READONLY",
          "LOADING",
          "MASTERDOWN",
          "CLUSTERDOWN",
          "TRYAGAIN",
          "BUSY",
          "OOM command",
          "MISCONF",
          "NOREPLICAS");

  /**
   * What is done when Redis is lost, or refuses what it is asked.
   *
   * @since 0.1
   */
  public interface Watcher {
    /** Called before any call fails because of it, and not while Redis returns; must not wait. */
    void lost(String cause);

    /** Redis answered with an error. */
    void refused(String error);

    /** One part of a cluster did not answer; the others may. */
    void failed(String cause);
  }

  private final Connection connection;
  private final Subscriptions subscriptions;
  private final LinkTerms.Failures failures;
  private final List<LuaScript> scripts;
  private final boolean inParts;
  private final long timeoutNanos;
  private final Watcher watcher;
  private final Deadlines deadlines;
  private final AtomicInteger lateInARow = new AtomicInteger();
  private final LongAdder timeouts = new LongAdder();
  private final LongAdder sent = new LongAdder();
  private final LongAdder ended = new LongAdder();
  private volatile long answeredNanos = System.nanoTime();
  private volatile Connection.@Nullable Wire wire;

  // Written under the lock of this.
  private volatile boolean available;
  private volatile int losses;
  private volatile boolean closed;

  /** A link that is not connected yet. */
  public RedisLink(RedisAddress address, LinkTerms terms, Watcher watcher) {
    this.connection = new Connection(address, terms.trust(), terms.timeout());
    this.subscriptions = new Subscriptions(connection, watcher::refused);
    this.failures = terms.failures();
    this.scripts = terms.scripts();
    this.inParts = address.cluster();
    this.timeoutNanos = terms.timeout().toNanos();
    this.watcher = watcher;
    this.deadlines = new Deadlines(terms.threads(), this::late);
  }

  /** How many answers came too late, or never. */
  public long timeouts() {
    return timeouts.sum();
  }

  /** How often Redis was lost. */
  public int losses() {
    return losses;
  }

  /** Whether the breaker is closed. */
  public boolean isAvailable() {
    return available;
  }

  /** Closes the breaker: Redis has answered a probe. */
  public synchronized void returned() {
    lateInARow.set(0);
    available = !closed;
  }

  /** Connects; fails after so long. */
  public CompletableFuture<Void> reconnect(long millis) {
    CompletableFuture<Void> connected = connection.connect().thenAccept(this::use);
    return connected.copy().orTimeout(millis, TimeUnit.MILLISECONDS);
  }

  private void use(Connection.Wire next) {
    synchronized (this) {
      if (wire == null && !closed) {
        wire = next;
        return;
      }
    }
    // It took so long that another one was made meanwhile.
    next.close();
  }

  /** Gives up the connection. */
  void drop() {
    Connection.@Nullable Wire old;
    synchronized (this) {
      old = wire;
      wire = null;
    }
    if (old != null) {
      old.close();
    }
  }

  /**
   * Has Redis know the scripts, so that the first call of one takes no longer than others and is
   * not overtaken by them.
   */
  CompletableFuture<Void> load() {
    Connection.@Nullable Wire to = wire;
    if (to == null) {
      return CompletableFuture.failedFuture(failures.notAsked());
    }
    return CompletableFuture.allOf(
            scripts.stream()
                .map(script -> to.load(script).toCompletableFuture())
                .toArray(CompletableFuture<?>[]::new))
        .orTimeout(timeoutNanos, TimeUnit.NANOSECONDS)
        // Not all who may run scripts may load them.
        .exceptionally(refused -> null);
  }

  /** Whether there is a connection, which may lead nowhere. */
  public boolean isConnected() {
    return wire != null;
  }

  /** Asks; fails as the {@link LinkTerms} say if there is no answer in time. */
  public CompletableFuture<List<Object>> call(LuaScript script, String[] keys, String[] arguments) {
    // Read before `available`, which is set before it.
    int lossesBefore = losses;
    return available
        ? send(script, keys, arguments, lossesBefore)
        : CompletableFuture.failedFuture(failures.notAsked());
  }

  /** A call that somebody else answers; to be watched, and counted when it is over. */
  public Call expect() {
    sent.increment();
    return new Call(System.nanoTime() + timeoutNanos, losses);
  }

  /** Fails it if it is not answered in time. */
  public void watch(Call call) {
    deadlines.watch(call);
  }

  /** One that was expected was answered, or is not waited for any more. */
  public void over() {
    ended.increment();
  }

  /** {@link #call}, whatever the breaker says. */
  public CompletableFuture<List<Object>> probe(
      LuaScript script, String[] keys, String[] arguments) {
    return send(script, keys, arguments, Call.PROBE);
  }

  /** {@link #probe} for what takes long: much is read or written. */
  public CompletableFuture<List<Object>> slow(LuaScript script, String[] keys, String[] arguments) {
    Connection.@Nullable Wire to = wire;
    if (to == null) {
      return CompletableFuture.failedFuture(failures.notAsked());
    }
    Call call = new Call(0, Call.PROBE);
    run(to, script, keys, arguments, call);
    return call.orTimeout(SLOW_SECONDS, TimeUnit.SECONDS);
  }

  private CompletableFuture<List<Object>> send(
      LuaScript script, String[] keys, String[] arguments, int lossesBefore) {
    Connection.@Nullable Wire to = wire;
    if (to == null) {
      return CompletableFuture.failedFuture(failures.notAsked());
    }
    Call call = new Call(System.nanoTime() + timeoutNanos, lossesBefore);
    deadlines.watch(call);
    run(to, script, keys, arguments, call);
    return call;
  }

  @SuppressWarnings("FutureReturnValueIgnored") // what they lead to is the call
  private void run(
      Connection.Wire to, LuaScript script, String[] keys, String[] arguments, Call call) {
    sent.increment();
    try {
      to.evalsha(script, keys, arguments)
          .whenComplete(
              (answer, failure) -> {
                if (failure instanceof RedisNoScriptException) {
                  to.eval(script, keys, arguments)
                      .whenComplete((late, error) -> end(call, late, error));
                } else {
                  end(call, answer, failure);
                }
              });
    } catch (RuntimeException closing) {
      end(call, null, closing);
    }
  }

  private void end(Call call, @Nullable List<Object> answer, @Nullable Throwable failure) {
    ended.increment();
    if (answer != null) {
      answeredNanos = System.nanoTime();
    }
    if (call.isOutdated(losses)) {
      abandon(call);
      return;
    }
    if (answer != null) {
      if (call.complete(answer) && lateInARow.getPlain() != 0) {
        lateInARow.set(0);
      }
      return;
    }
    Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
    String text = String.valueOf(cause);
    if (cause instanceof RedisCommandExecutionException refusal && !isAway(refusal)) {
      watcher.refused(String.valueOf(refusal.getMessage()));
    } else if (inParts) {
      watcher.failed(text);
    } else {
      lose(text);
    }
    call.completeExceptionally(failures.unanswered("Redis: " + text, cause));
  }

  /** Its innermost cause. */
  public static Throwable rootOf(Throwable failure) {
    Throwable root = failure;
    for (Throwable next = root.getCause(); next != null; next = root.getCause()) {
      root = next;
    }
    return root;
  }

  /** Whether Redis answered, and will not do what it was asked. */
  public static boolean isRefusal(Throwable failure) {
    return rootOf(failure) instanceof RedisCommandExecutionException refusal && !isAway(refusal);
  }

  /** Errors of a server that cannot serve now, rather than of what it was asked. */
  private static boolean isAway(RedisCommandExecutionException error) {
    String text = String.valueOf(error.getMessage());
    // Servers before 7 put an error of a script behind words of their own.
    return AWAY.stream().anyMatch(text::contains);
  }

  private void late(Call call) {
    if (call.completeExceptionally(failures.unanswered("Redis did not answer in time", null))) {
      timeouts.increment();
      if (inParts) {
        watcher.failed("no answer within the time-out");
      } else if (!isOverrun() && lateInARow.incrementAndGet() >= LATE_IN_A_ROW) {
        lose("no answer within the time-out");
      }
    }
  }

  /** Whether answers come, but too many are awaited: that is no outage, and would be none there. */
  private boolean isOverrun() {
    return sent.sum() - ended.sum() > MANY_AWAITED
        && System.nanoTime() - answeredNanos < timeoutNanos / 2;
  }

  /** Runs it unless the breaker is open, and not while it opens. */
  public synchronized void whileAvailable(Runnable work) {
    if (available) {
      work.run();
    }
  }

  /** Runs it while the breaker is open, and not while it opens or closes. */
  synchronized void whileAway(Runnable work) {
    if (!available) {
      work.run();
    }
  }

  /**
   * Has {@code message} told what is published on a channel, on a thread of the connection: it must
   * not wait. Returns at once; until Redis has confirmed it, and while Redis is away, messages are
   * lost.
   */
  public void subscribe(String channel, Consumer<String> message) {
    subscriptions.add(channel, message);
  }

  /** Tries again what channels are not listened to; to be called now and then. */
  void tendSubscriptions() {
    subscriptions.tend();
  }

  /** Opens the breaker. */
  void lose(String cause) {
    synchronized (this) {
      if (!available) {
        return;
      }
      available = false;
      losses++;
      watcher.lost(cause);
    }
    deadlines.forEach(this::abandon);
  }

  /*
   * From now on the node grants by itself. A grant of Redis that came on top would be one too many,
   * so what is still on its way counts as not answered.
   */
  private void abandon(Call call) {
    if (call.isOutdated(losses) && !call.isDone()) {
      call.completeExceptionally(failures.unanswered("Redis was lost", null));
    }
  }

  @Override
  public void close() {
    synchronized (this) {
      closed = true;
      available = false;
    }
    deadlines.close();
    subscriptions.close();
    connection.close();
  }
}
