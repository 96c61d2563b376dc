package dev.sluice.server;

import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What is to happen when something else is done. */
final class Later {
  private static final Logger LOG = LoggerFactory.getLogger(Later.class);

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

  /** Calls {@code then} either way. */
  static void whenOver(CompletableFuture<?> done, Runnable then) {
    when(done, value -> then.run(), failure -> then.run());
  }
}
