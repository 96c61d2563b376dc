package dev.sluice.server;

import java.util.Collection;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What is to happen when something else is done. */
final class Later {
  private static final Logger LOG = LoggerFactory.getLogger(Later.class);

  /** The answer of a longer list is made on a thread of its caller's account. */
  static final int LONG = 100;

  private Later() {}

  /** Calls one of the two; what that throws is logged. */
  @SuppressWarnings("FutureReturnValueIgnored") // nobody waits for it
  static <T> void when(CompletableFuture<T> done, Consumer<T> then, Consumer<Throwable> otherwise) {
    done.whenComplete(
        (value, failure) -> {
          try {
            if (failure == null) {
              then.accept(value);
            } else {
              otherwise.accept(failure);
            }
          } catch (RuntimeException e) {
            LOG.error("an answer could not be given", e);
          }
        });
  }

  /**
   * Runs {@code then}, which makes an answer of {@code value}: at once if that is little work, else
   * on {@code threads}. The broker gives the answers of all callers on one thread.
   */
  static void make(@Nullable Object value, Executor threads, Runnable then) {
    if (value instanceof Collection<?> all && all.size() > LONG) {
      threads.execute(then);
    } else {
      then.run();
    }
  }

  /** Calls {@code then} either way. */
  static void whenOver(CompletableFuture<?> done, Runnable then) {
    when(done, value -> then.run(), failure -> then.run());
  }
}
