package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** The messages of a stream. */
final class Recorded<T> implements StreamObserver<T> {
  private static final long SECONDS = 20;

  private final BlockingQueue<T> values = new LinkedBlockingQueue<>();
  private final CompletableFuture<Status> end = new CompletableFuture<>();

  @Override
  public void onNext(T value) {
    values.add(value);
  }

  @Override
  public void onError(Throwable why) {
    end.complete(Status.fromThrowable(why));
  }

  @Override
  public void onCompleted() {
    end.complete(Status.OK);
  }

  /** The next one; waits for it. */
  T next() throws InterruptedException {
    T value = values.poll(SECONDS, TimeUnit.SECONDS);
    assertThat(value).as("next of the stream, which is %s", end).isNotNull();
    return value;
  }

  boolean isEmpty() {
    return values.isEmpty();
  }

  /** How the stream ended; waits for it. */
  Status end() throws Exception {
    return end.get(SECONDS, TimeUnit.SECONDS);
  }
}
