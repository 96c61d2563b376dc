package dev.sluice.governor;

import java.security.SecureRandom;
import java.util.concurrent.atomic.AtomicLong;

/** Names that nobody guesses from another, and no two of which are the same. */
final class Ids {
  private static final long STEP = 0x9e3779b97f4a7c15L;

  private final AtomicLong next = new AtomicLong(new SecureRandom().nextLong());
  private final long secret = new SecureRandom().nextLong();

  String next(String prefix) {
    long number = next.getAndAdd(STEP);
    return prefix + Long.toHexString(mixed(number)) + Long.toHexString(mixed(number ^ secret));
  }

  /** Each number has one of its own. */
  private static long mixed(long number) {
    long mixed = (number ^ (number >>> 30)) * 0xbf58476d1ce4e5b9L;
    mixed = (mixed ^ (mixed >>> 27)) * 0x94d049bb133111ebL;
    return mixed ^ (mixed >>> 31);
  }
}
