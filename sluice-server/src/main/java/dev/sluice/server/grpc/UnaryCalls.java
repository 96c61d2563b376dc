package dev.sluice.server.grpc;

import dev.sluice.server.auth.Caller;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.ErrorKind;
import dev.sluice.server.support.Futures;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Answers unary gRPC calls; an exception of a call becomes a status. */
public final class UnaryCalls {
  private static final Logger LOG = LoggerFactory.getLogger(UnaryCalls.class);

  private UnaryCalls() {}

  public static <T> void answer(StreamObserver<T> call, Function<Caller, T> work) {
    answerLater(
        call, caller -> CompletableFuture.completedFuture(work.apply(caller)), done -> done);
  }

  /** Answers when the future completes; canceling the call cancels the future. */
  public static <T, R> void answerLater(
      StreamObserver<R> call,
      Function<Caller, CompletableFuture<T>> work,
      Function<T, R> toAnswer) {
    answerLater(call, work, toAnswer, unsent -> {});
  }

  /**
   * As above.
   *
   * @param unsent gets the result if its answer was certainly not handed to the transport
   */
  public static <T, R> void answerLater(
      StreamObserver<R> call,
      Function<Caller, CompletableFuture<T>> work,
      Function<T, R> toAnswer,
      Consumer<T> unsent) {
    CompletableFuture<T> begun = begin(work);
    Executor threads = AccountCallExecutor.forAnswer();
    var observer = (ServerCallStreamObserver<R>) call;
    // With a cancel handler, the answer to a canceled call is no error.
    observer.setOnCancelHandler(() -> begun.cancel(false));
    Futures.when(
        begun,
        value -> Futures.make(value, threads, () -> answer(observer, value, toAnswer, unsent)),
        failure -> {
          if (!begun.isCancelled()) {
            call.onError(ApiException.of(failure).toStatus());
          } else if (!observer.isCancelled()) {
            // Not canceled by its client, who waits for an answer.
            unlessGone(observer, () -> call.onError(canceledByServer().toStatus()));
          }
        });
  }

  private static ApiException canceledByServer() {
    return new ApiException(ErrorKind.UNAVAILABLE, "the server has canceled the call; retry later");
  }

  private static <T, R> void answer(
      ServerCallStreamObserver<R> call, T value, Function<T, R> toAnswer, Consumer<T> unsent) {
    if (call.isCancelled()) {
      unsent.accept(value);
      return;
    }
    R ready;
    try {
      ready = toAnswer.apply(value);
    } catch (RuntimeException failure) {
      unsent.accept(value);
      call.onError(ApiException.of(failure).toStatus());
      return;
    }
    unlessGone(
        call,
        () -> {
          call.onNext(ready);
          call.onCompleted();
        });
  }

  /** A client that leaves while it is being answered is no error. */
  public static void unlessGone(ServerCallStreamObserver<?> call, Runnable answer) {
    try {
      answer.run();
    } catch (IllegalStateException | StatusRuntimeException failure) {
      if (!call.isCancelled()) {
        throw failure;
      }
      LOG.debug("a client has disconnected before its response", failure);
    }
  }

  private static <T> CompletableFuture<T> begin(Function<Caller, CompletableFuture<T>> work) {
    try {
      return work.apply(AuthenticationInterceptor.caller());
    } catch (RuntimeException failure) {
      return CompletableFuture.failedFuture(failure);
    }
  }
}
