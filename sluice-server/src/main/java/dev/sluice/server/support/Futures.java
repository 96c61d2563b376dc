package dev.sluice.server.support;

import java.util.Collection;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Helpers for actions after the completion of futures. */
public final class Futures {
  private static final Logger LOG = LoggerFactory.getLogger(Futures.class);

  /** The answer of a longer list is made on a thread of its caller's account. */
  public static final int LONG = 100;

  private Futures() {}

  /** Calls one of the two, and logs its exception if it throws. */
  public @SuppressWarnings("FutureReturnValueIgnored") // callbacks handle the result
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
            LOG.error("a callback failed", e);
          }
        });
  }

  /**
   * Runs {@code then}, which makes an answer of {@code value}: at once if that is little work, else
   * on {@code threads}. The broker gives the answers of all callers on one thread.
   */
  public static void make(@Nullable Object value, Executor threads, Runnable then) {
    if (value instanceof Collection<?> all && all.size() > LONG) {
      threads.execute(then);
    } else {
      then.run();
    }
  }

  /** Calls {@code then} either way. */
  public static void whenOver(CompletableFuture<?> done, Runnable then) {
    when(done, value -> then.run(), failure -> then.run());
  }
}
