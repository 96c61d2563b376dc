package dev.sluice.redis.internal.connection;

import io.lettuce.core.RedisNoScriptException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Carries scripts over one connection to a server, a sentinel group or a cluster. */
final class LettuceTransport implements Transport {
  private final LettuceConnections connection;
  private final Subscriptions subscriptions;
  private volatile LettuceConnections.@Nullable ScriptConnection wire;

  // Guarded by this.
  private boolean closed;

  LettuceTransport(RedisAddress address, ConnectionConfig terms, Owner owner) {
    this.connection =
        new LettuceConnections(address, terms.trust(), terms.timeout(), owner::disconnected);
    this.subscriptions = new Subscriptions(connection, owner::refused);
  }

  @Override
  public boolean isConnected() {
    return wire != null;
  }

  @Override
  public CompletableFuture<Void> connect(long millis) {
    CompletableFuture<Void> connected = connection.connect().thenAccept(this::use);
    return connected.copy().orTimeout(millis, TimeUnit.MILLISECONDS);
  }

  private void use(LettuceConnections.ScriptConnection next) {
    synchronized (this) {
      if (wire == null && !closed) {
        wire = next;
        return;
      }
    }
    // It took so long that another one was made meanwhile.
    next.close();
  }

  @Override
  public void disconnect() {
    LettuceConnections.@Nullable ScriptConnection old;
    synchronized (this) {
      old = wire;
      wire = null;
    }
    if (old != null) {
      old.close();
    }
  }

  @Override
  @SuppressWarnings("FutureReturnValueIgnored") // what they lead to is the reply
  public void run(LuaScript script, String[] keys, String[] arguments, Reply reply) {
    LettuceConnections.@Nullable ScriptConnection to = wire;
    if (to == null) {
      reply.end(null, new IllegalStateException("not connected"));
      return;
    }
    try {
      to.evalsha(script, keys, arguments)
          .whenComplete(
              (answer, failure) -> {
                if (failure instanceof RedisNoScriptException) {
                  to.eval(script, keys, arguments).whenComplete(reply::end);
                } else {
                  reply.end(answer, failure);
                }
              });
    } catch (RuntimeException closing) {
      reply.end(null, closing);
    }
  }

  @Override
  public CompletableFuture<Void> load(List<LuaScript> scripts) {
    LettuceConnections.@Nullable ScriptConnection to = wire;
    if (to == null) {
      return CompletableFuture.failedFuture(new IllegalStateException("not connected"));
    }
    return CompletableFuture.allOf(
            scripts.stream()
                .map(script -> to.load(script).toCompletableFuture())
                .toArray(CompletableFuture<?>[]::new))
        // Not all users that may run scripts may load them.
        .exceptionally(refused -> null);
  }

  @Override
  public void subscribe(String channel, Consumer<String> message) {
    subscriptions.add(channel, message);
  }

  @Override
  public void tendSubscriptions() {
    subscriptions.tend();
  }

  @Override
  public void close() {
    synchronized (this) {
      closed = true;
    }
    subscriptions.close();
    connection.close();
  }
}
