package dev.sluice.redis.internal.connection;

import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Makes connections, and gives up those that lead nowhere. Used on the thread of the fleet only.
 */
final class Reconnector {
  private static final long CONNECT_MILLIS = 2_000;

  private final Transport transport;
  private final FleetScheduler time;
  private final long openMillis;
  private final long createdNanos;
  private boolean connecting;
  private long connectedNanos;

  /** Creates a keeper whose first connection may take {@code openMillis}. */
  Reconnector(Transport transport, FleetScheduler time, long openMillis) {
    this.transport = transport;
    this.time = time;
    this.openMillis = openMillis;
    this.createdNanos = time.nanoTime();
  }

  /** Connects, unless that is under way. */
  @SuppressWarnings("FutureReturnValueIgnored") // it tells one of them
  void connect(Runnable connected, Consumer<Throwable> failed) {
    if (connecting) {
      return;
    }
    connecting = true;
    transport
        .connect(connectMillis())
        .whenComplete(
            (done, failure) ->
                time.execute(
                    () -> {
                      connecting = false;
                      if (failure == null) {
                        connectedNanos = time.nanoTime();
                        connected.run();
                      } else {
                        failed.accept(failure);
                      }
                    }));
  }

  /** An attempt at the start may take as long as the start; later ones make room for the next. */
  private long connectMillis() {
    long since = TimeUnit.NANOSECONDS.toMillis(time.nanoTime() - createdNanos);
    return Math.max(CONNECT_MILLIS, openMillis - since);
  }

  /** Gives up a connection over which nothing was answered for {@code nanos}. */
  void dropIfSilent(long answeredNanos, long nanos) {
    long now = time.nanoTime();
    if (now - answeredNanos > nanos && now - connectedNanos > nanos) {
      transport.disconnect();
    }
  }
}
