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

/** The way to one server: calls, streams, and the timer by which streams come back. */
public final class GrpcConnection implements AutoCloseable {
  private final ManagedChannel channel;
  private final Duration callTimeout;
  private final int maxMessageBytes;
  private final ScheduledThreadPoolExecutor timer;

  /** Producers, subscriptions and waits that are to be closed with the client. */
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

  /** Fails with a {@link SluiceClientException}; cancelling it ends the call. */
  public <Q, A> CompletableFuture<A> call(MethodDescriptor<Q, A> method, Q request) {
    return call(method, request, callTimeout);
  }

  /** Waits so long for the answer, whatever others wait. */
  public <Q, A> CompletableFuture<A> call(
      MethodDescriptor<Q, A> method, Q request, Duration timeout) {
    CompletableFuture<A> answer = new CompletableFuture<>();
    CallOptions options =
        CallOptions.DEFAULT.withDeadlineAfter(timeout.toNanos(), TimeUnit.NANOSECONDS);
    ClientCall<Q, A> call = channel.newCall(method, options);
    var unused =
        answer.whenComplete(
            (value, failure) -> {
              if (answer.isCancelled()) {
                call.cancel("nobody waits for the answer", null);
              }
            });
    ClientCalls.asyncUnaryCall(
        call,
        request,
        new StreamObserver<A>() {
          @Override
          public void onNext(A value) {
            answer.complete(value);
          }

          @Override
          public void onError(Throwable failure) {
            answer.completeExceptionally(Errors.of(failure));
          }

          @Override
          public void onCompleted() {
            answer.completeExceptionally(
                new SluiceClientException(
                    SluiceClientException.Code.INTERNAL, "the server ended a call unanswered"));
          }
        });
    return answer;
  }

  /** Waits for the answer. */
  public <Q, A> A await(MethodDescriptor<Q, A> method, Q request) {
    return await(call(method, request));
  }

  /** Waits no longer than for a call. */
  public <A> A await(Future<A> answer) {
    return await(answer, callTimeout);
  }

  /** Waits no longer than {@code timeout}. */
  public <A> A await(Future<A> answer, Duration timeout) {
    try {
      return answer.get(timeout.toNanos(), TimeUnit.NANOSECONDS);
    } catch (TimeoutException late) {
      throw new SluiceClientException(
          SluiceClientException.Code.DEADLINE_EXCEEDED, "no answer came within " + timeout, late);
    } catch (ExecutionException failure) {
      throw Errors.of(failure);
    } catch (InterruptedException now) {
      throw Errors.interrupted(now);
    }
  }

  /** Fails through {@code answers} if there is no server. */
  public <Q, A> ClientCallStreamObserver<Q> stream(
      MethodDescriptor<Q, A> method, StreamObserver<A> answers) {
    StreamObserver<Q> requests =
        ClientCalls.asyncBidiStreamingCall(channel.newCall(method, CallOptions.DEFAULT), answers);
    return (ClientCallStreamObserver<Q>) requests;
  }

  /** Connects at once when next there is a call, however long the channel meant to wait. */
  void retryAtOnce() {
    channel.resetConnectBackoff();
  }

  /** Runs {@code connect} when its time has come; never once the client is closed. */
  public void retryLater(ReconnectBackoff backoff, Runnable connect) {
    Runnable attempt =
        () -> {
          retryAtOnce();
          connect.run();
        };
    try {
      Future<?> unused = timer.schedule(attempt, backoff.nextMillis(), TimeUnit.MILLISECONDS);
    } catch (RejectedExecutionException closed) {
      // Whoever asked was closed before the timer was, and needs no more attempts.
    }
  }

  public void opened(AutoCloseable part) {
    open.add(part);
  }

  public void closed(AutoCloseable part) {
    open.remove(part);
  }

  /** Closes producers and subscriptions first. */
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
