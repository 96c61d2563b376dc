package dev.sluice.server;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** The streams of deliveries that are open: they would keep a server from closing. */
final class OpenStreams {
  private final Set<DeliveryStream<?>> open = ConcurrentHashMap.newKeySet();
  private volatile boolean closed;

  void add(DeliveryStream<?> stream) {
    open.add(stream);
    if (closed) {
      end(stream);
    }
  }

  void remove(DeliveryStream<?> stream) {
    open.remove(stream);
  }

  /** Ends them all, and every one that comes later. */
  void close() {
    closed = true;
    open.forEach(OpenStreams::end);
  }

  private static void end(DeliveryStream<?> stream) {
    stream.fail(new ApiException(ErrorKind.UNAVAILABLE, "the server is closing"));
  }
}
