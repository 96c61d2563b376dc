package dev.sluice.broker;

import org.jspecify.annotations.Nullable;

/**
 * The caller on whose behalf messages are enqueued.
 *
 * @since 0.1
 */
public interface EnqueueCaller {
  /**
   * Returns the account whose share of the hook threads, and of the bytes that wait for them, the
   * call uses.
   *
   * @return the account; null to share by queue
   */
  @Nullable String account();

  /**
   * Returns whether the messages may be stored. Asked at most once for a call, when they are about
   * to be: on the thread of the caller, or on a hook thread after a wait. Afterwards the messages
   * are stored even if the call is canceled.
   *
   * @return false to store nothing; the implementation then completes the future of the call with
   *     the reason, possibly later
   */
  boolean mayStore();
}
