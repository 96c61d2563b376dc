package dev.sluice.server;

import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The key that a call was made with.
 *
 * @param watches ends calls when the key changes
 * @param authorization the header of the call, null if it had none
 * @param caller who makes the call
 */
record KeyInUse(KeyWatches watches, @Nullable String authorization, Caller caller) {
  /** Returns the account whose share of memory the call uses; null without keys. */
  @Nullable Object account() {
    return caller.equals(Caller.ANYBODY) ? null : caller.account();
  }

  /** Throws unless the key is valid and allows what it did when the call was made. */
  void requireSame() {
    watches.requireSame(this);
  }

  /** Calls {@code end} once if the key is revoked, changed or expires before the watch closes. */
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
