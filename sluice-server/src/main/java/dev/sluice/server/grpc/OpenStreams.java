package dev.sluice.server.grpc;

import dev.sluice.server.support.Futures;
import dev.sluice.server.transport.Readiness;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;

/** The gRPC calls without an end of their own, which would keep a server from closing. */
public final class OpenStreams {
  private final Set<Stream> open = ConcurrentHashMap.newKeySet();
  private volatile boolean closed;

  /** A stream that the server may end. */
  public interface Stream {
    /** Ends it with {@code why}; requests that were accepted before are answered. */
    void fail(Throwable why);
  }

  public void add(Stream stream) {
    open.add(stream);
    if (closed) {
      stream.fail(Readiness.closing());
    }
  }

  /** Fails {@code work}, which may take long, when the server closes; returns it. */
  public <T> CompletableFuture<T> endedWithServer(CompletableFuture<T> work) {
    Stream stream = work::completeExceptionally;
    add(stream);
    Futures.whenOver(work, () -> remove(stream));
    return work;
  }

  public void remove(Stream stream) {
    open.remove(stream);
  }

  public int count() {
    return open.size();
  }

  /** Ends them all, and every one that comes later. */
  public void close() {
    closed = true;
    open.forEach(stream -> stream.fail(Readiness.closing()));
  }
}
