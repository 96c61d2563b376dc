package dev.sluice.server.auth;

import dev.sluice.server.support.ApiException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The key that a call was made with, on one connection.
 *
 * @param watches ends calls when the key changes
 * @param authorization the header of the call, null if it had none
 * @param caller the caller
 * @param connection identifies the connection
 */
public record Credential(
    RevocationWatcher watches, @Nullable String authorization, Caller caller, Object connection) {
  /** Returns the account whose share of memory the call uses; null without keys. */
  public @Nullable Object account() {
    return caller.equals(Caller.ANYBODY) ? null : caller.account();
  }

  /** Returns the owner of the call's shares: its account; without keys its connection. */
  public Object owner() {
    Object account = account();
    return account == null ? connection : account;
  }

  /** Throws unless the key is valid and has the permissions that it had at the call. */
  public void requireSame() {
    watches.requireSame(this);
  }

  /** Calls {@code end} once if the key is revoked, changed or expires before the watch closes. */
  public WatchedCall watch(Consumer<ApiException> end) {
    WatchedCall watch = unstarted(end);
    watch.start();
    return watch;
  }

  /** Watches a call as {@link #watch} does, but only from {@link WatchedCall#start} on. */
  public WatchedCall unstarted(Consumer<ApiException> end) {
    return new WatchedCall(watches, this, end);
  }
}
