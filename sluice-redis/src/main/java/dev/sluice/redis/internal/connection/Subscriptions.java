package dev.sluice.redis.internal.connection;

import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The channels that are listened to, over one connection of their own, which is made when the first
 * one is asked for.
 *
 * <p>Now and then Redis is asked for all of them again. That costs little, finds a connection that
 * leads nowhere, and heals whatever went wrong when a connection was made anew.
 */
public final class Subscriptions implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Subscriptions.class);

  /** A try that takes longer counts as failed. */
  private static final long TRY_MILLIS = 2_000;

  /** A connection without an answer for so long is given up; a shorter break heals by itself. */
  private static final long STALE_NANOS = TimeUnit.SECONDS.toNanos(2);

  private final LettuceConnections connection;
  private final Consumer<String> refused;
  private final Map<String, List<Consumer<String>>> channels = new ConcurrentHashMap<>();

  // Guarded by this.
  private LettuceConnections.@Nullable PubSubConnection ear;
  private long answeredNanos;
  private boolean trying;
  private boolean more;
  private boolean closed;

  /** Tells {@code refused} the error if Redis will not have this node listen. */
  public Subscriptions(LettuceConnections connection, Consumer<String> refused) {
    this.connection = connection;
    this.refused = refused;
  }

  /** Never waits: another thread does what there is to do. */
  public void add(String channel, Consumer<String> message) {
    channels.computeIfAbsent(channel, first -> new CopyOnWriteArrayList<>()).add(message);
    synchronized (this) {
      more = true;
    }
    connection.later(this::tend);
  }

  /** Asks Redis for all channels, unless that is under way. */
  public @SuppressWarnings("FutureReturnValueIgnored") // it is tried again
  void tend() {
    LettuceConnections.@Nullable PubSubConnection present;
    synchronized (this) {
      if (channels.isEmpty() || trying || closed) {
        return;
      }
      trying = true;
      more = false;
      present = ear;
    }
    CompletableFuture<Void> done = present == null ? connect() : ask(present);
    done.copy()
        .orTimeout(TRY_MILLIS, TimeUnit.MILLISECONDS)
        .whenComplete((nothing, failure) -> ended(present, failure));
  }

  private CompletableFuture<Void> connect() {
    return connection.listen().thenCompose(this::use);
  }

  private CompletableFuture<Void> use(LettuceConnections.PubSubConnection next) {
    synchronized (this) {
      if (ear == null && !closed) {
        next.hear(this::tell);
        ear = next;
        answeredNanos = System.nanoTime();
        return ask(next);
      }
    }
    // It took so long that another one was made meanwhile.
    next.close();
    return CompletableFuture.allOf();
  }

  private CompletableFuture<Void> ask(LettuceConnections.PubSubConnection present) {
    try {
      return present.subscribe(channels.keySet().toArray(String[]::new));
    } catch (RuntimeException closing) {
      return CompletableFuture.failedFuture(closing);
    }
  }

  private void ended(
      LettuceConnections.@Nullable PubSubConnection asked, @Nullable Throwable failure) {
    @Nullable String refusal =
        failure != null && RedisFailure.of(failure) == RedisFailure.REFUSED
            ? RedisFailure.messageOf(failure)
            : null;
    boolean again;
    LettuceConnections.@Nullable PubSubConnection old = null;
    synchronized (this) {
      trying = false;
      again = more && failure == null;
      if (failure == null || refusal != null) {
        answeredNanos = System.nanoTime();
      } else if (asked == ear && System.nanoTime() - answeredNanos > STALE_NANOS) {
        old = ear;
        ear = null;
      }
    }
    if (old != null) {
      old.close();
    }
    if (failure != null) {
      LOG.debug("cannot subscribe to channels", failure);
    }
    if (refusal != null) {
      refused.accept(refusal);
    }
    if (again) {
      connection.later(this::tend);
    }
  }

  private void tell(String channel, String text) {
    for (Consumer<String> message : channels.getOrDefault(channel, List.of())) {
      try {
        message.accept(text);
      } catch (RuntimeException failure) {
        LOG.warn("a channel listener failed", failure);
      }
    }
  }

  /** Tries no more; the connection goes with all others. */
  @Override
  public synchronized void close() {
    closed = true;
  }
}
