package dev.sluice.governor;

import java.security.SecureRandom;
import java.util.concurrent.atomic.AtomicLong;

/** Names that nobody guesses from another, and no two of which are the same. */
final class Ids {
  private static final int MAX_DIGITS = 8;
  private static final long STEP = 0x9e3779b97f4a7c15L;

  private final AtomicLong next = new AtomicLong(new SecureRandom().nextLong());
  private final long secret = new SecureRandom().nextLong();
  private final int desk;

  /** Of things at this desk, whose number they carry. */
  Ids(int desk) {
    this.desk = desk;
  }

  String next(char kind) {
    long number = next.getAndAdd(STEP);
    return kind
        + Integer.toString(desk)
        + '-'
        + Long.toHexString(mixed(number))
        + Long.toHexString(mixed(number ^ secret));
  }

  /** The number of the desk that made it; -1 if none did. */
  static int deskOf(String id) {
    int end = id.indexOf('-');
    if (end < 2 || end > MAX_DIGITS) {
      return -1;
    }
    try {
      return Integer.parseInt(id, 1, end, 10);
    } catch (NumberFormatException unlike) {
      return -1;
    }
  }

  /** Each number has one of its own. */
  private static long mixed(long number) {
    long mixed = (number ^ (number >>> 30)) * 0xbf58476d1ce4e5b9L;
    mixed = (mixed ^ (mixed >>> 27)) * 0x94d049bb133111ebL;
    return mixed ^ (mixed >>> 31);
  }
}
