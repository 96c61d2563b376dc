package dev.sluice.governor.redis;

import dev.sluice.governor.GovernorTimer;
import java.util.concurrent.TimeUnit;

/**
 * The time of the books by this node's clock, which listeners are told: what they make of it they
 * compare with that. As far apart as Redis does things, whenever its answers come. For any number
 * of threads.
 */
final class BooksTime {
  /** No answer takes so long: one of the clocks has been set. */
  private static final long JUMP_NANOS = TimeUnit.SECONDS.toNanos(5);

  private final GovernorTimer timer;

  // Guarded by this.
  private boolean known;
  private long ahead;

  BooksTime(GovernorTimer timer) {
    this.timer = timer;
  }

  /** Of an answer that has just come. */
  synchronized long nanos(Answer answer) {
    long here = timer.now();
    if (!known || Math.abs(here - answer.nanos() - ahead) > JUMP_NANOS) {
      known = true;
      ahead = here - answer.nanos();
    }
    return answer.nanos() + ahead;
  }

  /** Of a moment before that. */
  synchronized long nanos(long booksMicros) {
    return Answer.nanos(booksMicros) + ahead;
  }
}
