package dev.sluice.client.internal;

import dev.sluice.client.SluiceClientException;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** The connection to one server: calls, streams, and the timer for reconnects. Thread-safe. */
public final class GrpcConnection implements AutoCloseable {
  private final ManagedChannel channel;
  private final Duration callTimeout;
  private final int maxMessageBytes;
  private final ScheduledThreadPoolExecutor timer;

  /** Producers, consumers and pollers to close with the client. */
  private final Set<AutoCloseable> open = ConcurrentHashMap.newKeySet();

  public GrpcConnection(ManagedChannel channel, Duration callTimeout, int maxMessageBytes) {
    this.channel = channel;
    this.callTimeout = callTimeout;
    this.maxMessageBytes = maxMessageBytes;
    this.timer =
        new ScheduledThreadPoolExecutor(
            1,
            task -> {
              Thread thread = new Thread(task, "sluice-client-timer");
              thread.setDaemon(true);
              return thread;
            });
  }

  public Duration callTimeout() {
    return callTimeout;
  }

  public int maxMessageBytes() {
    return maxMessageBytes;
  }

  /** Calls with the call timeout; see {@link #call(MethodDescriptor, Object, Duration)}. */
  public <Q, A> CompletableFuture<A> call(MethodDescriptor<Q, A> method, Q request) {
    return call(method, request, callTimeout);
  }

  /**
   * Calls a method. The future fails with {@link SluiceClientException}; canceling it ends the
   * call.
   */
  public <Q, A> CompletableFuture<A> call(
      MethodDescriptor<Q, A> method, Q request, Duration timeout) {
    CompletableFuture<A> result = new CompletableFuture<>();
    CallOptions options =
        CallOptions.DEFAULT.withDeadlineAfter(timeout.toNanos(), TimeUnit.NANOSECONDS);
    ClientCall<Q, A> call = channel.newCall(method, options);
    var unused =
        result.whenComplete(
            (value, failure) -> {
              if (result.isCancelled()) {
                call.cancel("the caller canceled the call", null);
              }
            });
    ClientCalls.asyncUnaryCall(
        call,
        request,
        new StreamObserver<A>() {
          @Override
          public void onNext(A value) {
            result.complete(value);
          }

          @Override
          public void onError(Throwable failure) {
            result.completeExceptionally(Errors.of(failure));
          }

          @Override
          public void onCompleted() {
            result.completeExceptionally(
                new SluiceClientException(
                    SluiceClientException.Code.INTERNAL,
                    "the server ended a call without a response"));
          }
        });
    return result;
  }

  /** Calls a method and blocks for the response. */
  public <Q, A> A await(MethodDescriptor<Q, A> method, Q request) {
    return await(call(method, request));
  }

  /** Blocks for a response, at most for the call timeout. */
  public <A> A await(Future<A> response) {
    return await(response, callTimeout);
  }

  /** Blocks for a response, at most for {@code timeout}. */
  public <A> A await(Future<A> response, Duration timeout) {
    try {
      return response.get(timeout.toNanos(), TimeUnit.NANOSECONDS);
    } catch (TimeoutException late) {
      throw new SluiceClientException(
          SluiceClientException.Code.DEADLINE_EXCEEDED, "no response within " + timeout, late);
    } catch (ExecutionException failure) {
      throw Errors.of(failure);
    } catch (InterruptedException now) {
      throw Errors.interrupted(now);
    }
  }

  /** Opens a stream; without a server it fails through {@code responses}. */
  public <Q, A> ClientCallStreamObserver<Q> stream(
      MethodDescriptor<Q, A> method, StreamObserver<A> responses) {
    StreamObserver<Q> requests =
        ClientCalls.asyncBidiStreamingCall(channel.newCall(method, CallOptions.DEFAULT), responses);
    return (ClientCallStreamObserver<Q>) requests;
  }

  /** Makes the next call connect at once, without the backoff of the channel. */
  void resetBackoff() {
    channel.resetConnectBackoff();
  }

  /** Runs {@code connect} after the backoff, unless the client is closed by then. */
  public void retryLater(ReconnectBackoff backoff, Runnable connect) {
    Runnable attempt =
        () -> {
          resetBackoff();
          connect.run();
        };
    try {
      Future<?> unused = timer.schedule(attempt, backoff.nextMillis(), TimeUnit.MILLISECONDS);
    } catch (RejectedExecutionException closed) {
      // The client is closed: producers and consumers are closed before the timer.
    }
  }

  public void opened(AutoCloseable part) {
    open.add(part);
  }

  public void closed(AutoCloseable part) {
    open.remove(part);
  }

  /** Closes producers, consumers and pollers, then the channel. */
  @Override
  public void close() {
    for (AutoCloseable part : List.copyOf(open)) {
      try {
        part.close();
      } catch (Exception failure) {
        throw Errors.of(failure);
      }
    }
    timer.shutdownNow();
    channel.shutdownNow();
  }
}
