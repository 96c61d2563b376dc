package dev.sluice.server;

import io.grpc.StatusRuntimeException;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Answers unary gRPC calls; whatever a call throws becomes a status. */
final class Calls {
  private static final Logger LOG = LoggerFactory.getLogger(Calls.class);

  private Calls() {}

  static <T> void answer(StreamObserver<T> call, Function<Caller, T> work) {
    answerLater(
        call, caller -> CompletableFuture.completedFuture(work.apply(caller)), done -> done);
  }

  /** As {@link #answer}, when the work is done; it is cancelled with the call. */
  static <T, R> void answerLater(
      StreamObserver<R> call,
      Function<Caller, CompletableFuture<T>> work,
      Function<T, R> toAnswer) {
    answerLater(call, work, toAnswer, () -> {});
  }

  /** As above; {@code over} is called when the answer is on its way, or there is none. */
  static <T, R> void answerLater(
      StreamObserver<R> call,
      Function<Caller, CompletableFuture<T>> work,
      Function<T, R> toAnswer,
      Runnable over) {
    CompletableFuture<T> begun = begin(work);
    var observer = (ServerCallStreamObserver<R>) call;
    // A cancel handler also keeps the answer to a call that is gone from being an error.
    observer.setOnCancelHandler(() -> begun.cancel(false));
    CompletableFuture<R> answer = begun.thenApply(toAnswer);
    Later.when(
        answer,
        ready ->
            unlessGone(
                observer,
                () -> {
                  call.onNext(ready);
                  call.onCompleted();
                }),
        failure -> {
          // Else nobody is there for it.
          if (!begun.isCancelled()) {
            call.onError(ApiException.of(failure).toStatus());
          }
        });
    Later.whenOver(answer, over);
  }

  /** A client that leaves while it is being answered is no error. */
  static void unlessGone(ServerCallStreamObserver<?> call, Runnable answer) {
    try {
      answer.run();
    } catch (IllegalStateException | StatusRuntimeException failure) {
      if (!call.isCancelled()) {
        throw failure;
      }
      LOG.debug("a client has left before it was answered", failure);
    }
  }

  private static <T> CompletableFuture<T> begin(Function<Caller, CompletableFuture<T>> work) {
    try {
      return work.apply(Access.caller());
    } catch (RuntimeException failure) {
      return CompletableFuture.failedFuture(failure);
    }
  }
}
