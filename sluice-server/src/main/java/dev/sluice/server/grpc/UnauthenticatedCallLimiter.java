package dev.sluice.server.grpc;

import java.util.concurrent.atomic.AtomicInteger;

/*
 * Whether a call has a valid key is known once a worker has started it, and of some calls never:
 * gRPC refuses a request that it cannot read without calling interceptors. So each call counts as one
 * without a key when its first frame arrives, and stops counting when its key is shown.
 *
 * Two numbers are bounded. The allowance bounds how many such calls begin, and grows with time. The
 * number of open ones bounds the memory of those whose answers the client does not take; it is small
 * until a first key was shown, because any client can open connections.
 */

/**
 * Bounds the calls of one connection that have shown no valid key. Used by the connection's thread
 * alone, except for {@link #shown} and {@link #ended}.
 */
public final class UnauthenticatedCallLimiter {
  /** The most calls that begin at once, and that are open at once after one has shown a key. */
  public static final int MAX = 100;

  /** The most open calls while no key has been shown. */
  public static final int MAX_OF_A_STRANGER = 16;

  private static final int PER_SECOND = 10;
  private static final long NANOS_EACH = 1_000_000_000L / PER_SECOND;

  private final AtomicInteger openWithKey = new AtomicInteger();
  private final AtomicInteger givenBack = new AtomicInteger();
  private volatile boolean known;
  private int left = MAX;
  private long countedNanos;

  public UnauthenticatedCallLimiter(long nowNanos) {
    this.countedNanos = nowNanos;
  }

  /** Returns whether a call of this connection has shown a key. */
  public boolean isKnown() {
    return known;
  }

  /** Adds the calls that the allowance has gained with time. */
  public void refill(long nowNanos) {
    long more = (nowNanos - countedNanos) / NANOS_EACH;
    countedNanos += more * NANOS_EACH;
    left = (int) Math.min(MAX, left + more);
  }

  /** Counts a call that begins while {@code open} are open; returns false if it has to wait. */
  public boolean begin(int open) {
    left = Math.min(MAX, left + givenBack.getAndSet(0));
    int withoutKey = open - openWithKey.get();
    if (left == 0 || withoutKey >= (known ? MAX : MAX_OF_A_STRANGER)) {
      return false;
    }
    left--;
    return true;
  }

  /** A call has shown a valid key. Thread-safe. */
  public void shown() {
    known = true;
    openWithKey.incrementAndGet();
    givenBack.incrementAndGet();
  }

  /** A call that had shown a key has ended. Thread-safe. */
  public void ended() {
    openWithKey.decrementAndGet();
  }
}
