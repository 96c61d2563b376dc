package dev.sluice.redis.internal.connection;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Carries scripts to Redis; simulations put their own in place of {@link LettuceTransport}. */
public interface Transport extends AutoCloseable {
  /** Is told what a transport finds, on any thread; must not block. */
  interface Owner {
    /** Redis will not have this node listen to a channel. */
    void refused(String error);

    /** The connection broke; it may have been made again by now. */
    void disconnected();
  }

  /** Returns whether there is a connection, which may lead nowhere. */
  boolean isConnected();

  /** Connects; fails if that takes longer than {@code millis}. */
  CompletableFuture<Void> connect(long millis);

  /** Gives up the connection. */
  void disconnect();

  /**
   * Runs a script, once: after a failure it may have run. {@code reply} gets the answer, or the
   * error of Redis, or whatever broke.
   */
  void run(LuaScript script, String[] keys, String[] arguments, Reply reply);

  /** Receives the end of a call. */
  @FunctionalInterface
  interface Reply {
    /** Takes the answer, or null and the failure. */
    void end(@Nullable List<Object> answer, @Nullable Throwable failure);
  }

  /** Has Redis know the scripts, so that the first call of one takes no longer than others. */
  CompletableFuture<Void> load(List<LuaScript> scripts);

  /** Passes the messages of a channel to {@code message}; see {@link FleetConnection#subscribe}. */
  void subscribe(String channel, Consumer<String> message);

  /** Restores subscriptions that were lost; called with each heartbeat. */
  void tendSubscriptions();

  @Override
  void close();
}
