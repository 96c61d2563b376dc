package dev.sluice.server;

import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The key that a call was made with.
 *
 * @param watches knows when it changes
 * @param authorization as the call had it, null if it had none
 * @param caller who makes the call
 */
record KeyInUse(KeyWatches watches, @Nullable String authorization, Caller caller) {
  /** Returns whose share of memory the call takes; null if the server asks for no keys. */
  @Nullable Object token() {
    return caller.equals(Caller.ANYBODY) ? null : caller.account();
  }

  /** Throws unless the key is valid and allows what it did when the call was made. */
  void requireSame() {
    watches.requireSame(this);
  }

  /** Calls {@code end}, once, if the key is revoked, is changed or expires before the close. */
  KeyWatch watch(Consumer<ApiException> end) {
    KeyWatch watch = unstarted(end);
    watch.start();
    return watch;
  }

  /** As {@link #watch}, from {@link KeyWatch#start} on. */
  KeyWatch unstarted(Consumer<ApiException> end) {
    return new KeyWatch(watches, this, end);
  }
}
