package dev.sluice.redis;

import dev.sluice.redis.link.Call;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The blocks of one bucket that this node holds.
 *
 * <p>One block serves; the next one is asked for when less than half of it is left. At most one
 * request is on its way. After an answer without a block none is asked for a while: decisions are
 * made in Redis then, each by its own call.
 */
final class Leaseholder {
  /*
   * State: `current` and `next` change under the lock and are read without it. A block is closed
   * once, by whoever takes it out, and its rest goes to `closings`; these are told to Redis with
   * the next request, or by the sweeper.
   *
   * Time: a block's deadline counts from before its request was sent, less a part for clocks that
   * run differently, so this node stops before Redis counts the block as used.
   */
  private static final long QUIET_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

  /** Clocks differ by far less than this part of the time they measure. */
  private static final long DRIFT_DIVISOR = 50;

  private static final long LENT = 4;
  private static final long GRANTED = 1;
  private static final int TIME_AT = 3;
  private static final int VERSION_AT = 4;

  private final long ttlNanos;
  private final LongSupplier clock;
  private final Supplier<String> ids;
  private volatile LeaseTerms terms;
  private volatile @Nullable Block current;
  private volatile @Nullable Block next;
  private volatile boolean asking;
  private volatile long quietUntilNanos;

  // Guarded by this.
  private final Deque<Closing> closings = new ArrayDeque<>();
  private boolean gone;
  private boolean unused;

  /** What Redis is to be told of a block: so many of its tokens come back. */
  record Closing(String id, long unused) {}

  /** A request for a block, and for tokens. */
  record Request(
      String id,
      String time,
      @Nullable Closing closing,
      long tokens,
      LeaseTerms terms,
      long sentNanos) {}

  Leaseholder(Lease lease, LeaseTerms terms, LongSupplier clock, Supplier<String> ids) {
    this.ttlNanos = lease.ttl().toNanos();
    this.terms = terms;
    this.clock = clock;
    this.ids = ids;
    this.quietUntilNanos = clock.getAsLong();
  }

  LeaseTerms terms() {
    return terms;
  }

  /**
   * Takes from the block that serves, if the limit is still the same; what is left of it.
   *
   * @param time in which every member has been present: the block must have been lent in it
   */
  long take(Object under, String time, long tokens) {
    Block block = current;
    return block == null || terms.under() != under || !block.time().equals(time)
        ? Block.NOTHING
        : block.take(tokens, clock);
  }

  /** Gives up blocks that were lent before a member was absent; their tokens count as used. */
  synchronized void forgetOthers(String time) {
    Block block = current;
    if (block != null && !block.time().equals(time)) {
      current = null;
      forfeit(block);
    }
    Block following = next;
    if (following != null && !following.time().equals(time)) {
      next = null;
      forfeit(following);
    }
  }

  private void forfeit(Block block) {
    block.close();
    closings.add(new Closing(block.id(), 0));
  }

  /** Whether it is time for the next block, so many tokens being left. */
  boolean isLow(long left) {
    Block block = current;
    return block != null && block.isLow(left) && next == null && mayAsk();
  }

  private boolean mayAsk() {
    return !asking && clock.getAsLong() - quietUntilNanos >= 0;
  }

  /** Whether there is neither a block nor a way to one now. */
  boolean isOut() {
    return current == null && next == null && !mayAsk();
  }

  /** Goes over to other terms; blocks of another limit go back. */
  synchronized void follow(LeaseTerms now) {
    boolean same = terms.quota().isSame(now.quota());
    terms = now;
    if (!same) {
      retireAll();
    }
  }

  /** {@link #take}, also from the next block if the one that serves has too little. */
  synchronized long takeNext(long tokens) {
    Block block = current;
    long left = block == null ? Block.NOTHING : block.take(tokens, clock);
    Block following = next;
    if (left >= 0 || following == null || !following.has(tokens, clock.getAsLong())) {
      return left;
    }
    retireCurrent();
    current = following;
    next = null;
    return following.take(tokens, clock);
  }

  /** A request for a block, for someone who needs so many tokens now; null if it is no time. */
  synchronized @Nullable Request begin(long tokens, String time) {
    long now = clock.getAsLong();
    if (gone || !mayAsk() || next != null || !terms.suits(tokens)) {
      return null;
    }
    Block block = current;
    if (tokens > 0 && block != null) {
      if (block.has(tokens, now)) {
        return null;
      }
      retireCurrent();
    }
    asking = true;
    return new Request(ids.get(), time, closings.poll(), tokens, terms, now);
  }

  /** Takes in what Redis answered; the answer to whoever needed tokens. */
  synchronized List<Object> settle(Request request, List<Object> reply) {
    asking = false;
    long now = clock.getAsLong();
    if (Call.number(reply, 0) != LENT) {
      quietUntilNanos = now + QUIET_NANOS;
      return reply;
    }
    long size = Call.number(reply, 1);
    long left = size - request.tokens();
    long deadline = request.sentNanos() + ttlNanos - ttlNanos / DRIFT_DIVISOR;
    Block block = new Block(request.id(), request.time(), left, size, now, deadline);
    if (gone || !terms.quota().isSame(request.terms().quota())) {
      retire(block);
    } else if (current == null) {
      current = block;
    } else {
      next = block;
    }
    return List.of(GRANTED, left, 0L, reply.get(TIME_AT), reply.get(VERSION_AT));
  }

  /** There is no answer. What Redis may have lent is lost when its time is over. */
  synchronized void fail() {
    asking = false;
    quietUntilNanos = clock.getAsLong() + QUIET_NANOS;
  }

  private void retireAll() {
    retireCurrent();
    Block following = next;
    next = null;
    retire(following);
  }

  private void retireCurrent() {
    Block block = current;
    current = null;
    retire(block);
  }

  private void retire(@Nullable Block block) {
    if (block != null) {
      closings.add(new Closing(block.id(), block.close()));
    }
  }

  /** Gives up blocks that are idle or whose time is half over; what Redis is to be told. */
  synchronized List<Closing> sweep() {
    long now = clock.getAsLong();
    Block block = current;
    if (block != null && block.isIdle(now, ttlNanos / 4)) {
      retireAll();
    }
    if (block != null && block.endsWithin(now, ttlNanos / 2)) {
      retireCurrent();
    }
    Block following = next;
    if (following != null && following.endsWithin(now, ttlNanos / 2)) {
      next = null;
      retire(following);
    }
    return takeClosings();
  }

  /** Whether it held nothing since it was last asked: then it is of no more use. */
  synchronized boolean leaveIfUnused() {
    boolean empty = current == null && next == null && !asking && closings.isEmpty();
    gone |= empty && unused;
    unused = empty;
    return gone;
  }

  /** Gives up everything, for good; what Redis is to be told. */
  synchronized List<Closing> leave() {
    gone = true;
    retireAll();
    return takeClosings();
  }

  /** What Redis is to be told at once, for there will be no more requests. */
  synchronized List<Closing> lastClosings() {
    return gone ? takeClosings() : List.of();
  }

  private List<Closing> takeClosings() {
    if (closings.isEmpty()) {
      return List.of();
    }
    List<Closing> all = List.copyOf(closings);
    closings.clear();
    return all;
  }
}
