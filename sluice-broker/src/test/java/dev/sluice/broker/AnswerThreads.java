package dev.sluice.broker;

import dev.sluice.broker.internal.runtime.PendingCalls;
import java.util.Optional;
import java.util.function.Supplier;

/** Runs test code on the thread on which a broker completes its futures. */
final class AnswerThreads {
  private AnswerThreads() {}

  /**
   * Runs an action as a callback of an enqueued message, on the broker's own thread. A callback
   * that is attached to a completed future runs on the caller's thread instead; then another
   * message is sent, so that the action runs once and always on the thread it is meant for.
   *
   * @throws java.util.concurrent.CompletionException if the action throws
   */
  static <T> T callback(Broker broker, String queue, Supplier<T> action) {
    for (; ; ) {
      Optional<T> result =
          broker
              .enqueue(queue, Message.of("m"))
              .thenApply(id -> onAnswerThread() ? Optional.of(action.get()) : Optional.<T>empty())
              .join();
      if (result.isPresent()) {
        return result.get();
      }
    }
  }

  private static boolean onAnswerThread() {
    return Thread.currentThread() instanceof PendingCalls.CallbackThread;
  }
}
