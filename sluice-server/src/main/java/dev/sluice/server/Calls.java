package dev.sluice.server;

import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/** Answers unary gRPC calls; whatever a call throws becomes a status. */
final class Calls {
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
    CompletableFuture<T> begun = begin(work);
    // A cancel handler also keeps the answer to a call that is gone from being an error.
    ((ServerCallStreamObserver<R>) call).setOnCancelHandler(() -> begun.cancel(false));
    Later.when(
        begun,
        value -> {
          call.onNext(toAnswer.apply(value));
          call.onCompleted();
        },
        failure -> call.onError(ApiException.of(failure).toStatus()));
  }

  private static <T> CompletableFuture<T> begin(Function<Caller, CompletableFuture<T>> work) {
    try {
      return work.apply(Access.caller());
    } catch (RuntimeException failure) {
      return CompletableFuture.failedFuture(failure);
    }
  }
}
