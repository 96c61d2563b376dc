package dev.sluice.redis.internal.limits;

import dev.sluice.redis.TokenBlockConfig;
import dev.sluice.redis.internal.connection.ScriptCall;
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
public final class BucketTokenBlocks {
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
  private volatile TokenBlockSize terms;
  private volatile @Nullable TokenBlock current;
  private volatile @Nullable TokenBlock next;
  private volatile boolean asking;
  private volatile long quietUntilNanos;

  // Guarded by this.
  private final Deque<BucketTokenBlocks.BlockReturn> closings = new ArrayDeque<>();
  private boolean gone;
  private boolean unused;

  /** The return of a block with its unused tokens. */
  public record BlockReturn(String id, long unused) {}

  /** A request for a block, and for tokens. */
  public record BlockRequest(
      String id,
      String time,
      BucketTokenBlocks.@Nullable BlockReturn closing,
      long tokens,
      TokenBlockSize terms,
      long sentNanos) {}

  public BucketTokenBlocks(
      TokenBlockConfig lease, TokenBlockSize terms, LongSupplier clock, Supplier<String> ids) {
    this.ttlNanos = lease.lifetime().toNanos();
    this.terms = terms;
    this.clock = clock;
    this.ids = ids;
    this.quietUntilNanos = clock.getAsLong();
  }

  TokenBlockSize terms() {
    return terms;
  }

  /**
   * Takes from the block that serves, if the limit is still the same; what is left of it.
   *
   * @param time in which every member has been present: the block must have been lent in it
   */
  public long take(Object under, String time, long tokens) {
    TokenBlock block = current;
    return block == null || terms.under() != under || !block.time().equals(time)
        ? TokenBlock.NOTHING
        : block.take(tokens, clock);
  }

  /** Closes blocks that were lent before a member was absent; their tokens count as used. */
  public synchronized void forgetOthers(String time) {
    TokenBlock block = current;
    if (block != null && !block.time().equals(time)) {
      current = null;
      forfeit(block);
    }
    TokenBlock following = next;
    if (following != null && !following.time().equals(time)) {
      next = null;
      forfeit(following);
    }
  }

  private void forfeit(TokenBlock block) {
    block.close();
    closings.add(new BucketTokenBlocks.BlockReturn(block.id(), 0));
  }

  /** Returns whether to request the next block when {@code left} tokens are left. */
  public boolean isLow(long left) {
    TokenBlock block = current;
    return block != null && block.isLow(left) && next == null && mayAsk();
  }

  private boolean mayAsk() {
    return !asking && clock.getAsLong() - quietUntilNanos >= 0;
  }

  /** Returns whether there is no block and none may be requested now. */
  public boolean isOut() {
    return current == null && next == null && !mayAsk();
  }

  /** Adopts another size; blocks of another limit are returned. */
  public synchronized void follow(TokenBlockSize now) {
    boolean same = terms.quota().isSame(now.quota());
    terms = now;
    if (!same) {
      retireAll();
    }
  }

  /** {@link #take}, also from the next block if the one that serves has too little. */
  public synchronized long takeNext(long tokens) {
    TokenBlock block = current;
    long left = block == null ? TokenBlock.NOTHING : block.take(tokens, clock);
    TokenBlock following = next;
    if (left >= 0 || following == null || !following.has(tokens, clock.getAsLong())) {
      return left;
    }
    retireCurrent();
    current = following;
    next = null;
    return following.take(tokens, clock);
  }

  /** Creates a request for a block and for {@code tokens}; null if none may be sent now. */
  public synchronized BucketTokenBlocks.@Nullable BlockRequest begin(long tokens, String time) {
    long now = clock.getAsLong();
    if (gone || !mayAsk() || next != null || !terms.suits(tokens)) {
      return null;
    }
    TokenBlock block = current;
    if (tokens > 0 && block != null) {
      if (block.has(tokens, now)) {
        return null;
      }
      retireCurrent();
    }
    asking = true;
    return new BucketTokenBlocks.BlockRequest(ids.get(), time, closings.poll(), tokens, terms, now);
  }

  /** Adopts the reply of Redis; returns the reply to the caller that needed tokens. */
  public synchronized List<Object> settle(
      BucketTokenBlocks.BlockRequest request, List<Object> reply) {
    asking = false;
    long now = clock.getAsLong();
    if (ScriptCall.number(reply, 0) != LENT) {
      quietUntilNanos = now + QUIET_NANOS;
      return reply;
    }
    long size = ScriptCall.number(reply, 1);
    long left = size - request.tokens();
    long deadline = request.sentNanos() + ttlNanos - ttlNanos / DRIFT_DIVISOR;
    TokenBlock block = new TokenBlock(request.id(), request.time(), left, size, now, deadline);
    if (gone || !terms.quota().isSame(request.terms().quota())) {
      retire(block);
    } else if (current == null) {
      current = block;
    } else {
      next = block;
    }
    return List.of(GRANTED, left, 0L, reply.get(TIME_AT), reply.get(VERSION_AT));
  }

  /** Ends a request without a reply. A block that Redis may have lent expires there. */
  public synchronized void fail() {
    asking = false;
    quietUntilNanos = clock.getAsLong() + QUIET_NANOS;
  }

  private void retireAll() {
    retireCurrent();
    TokenBlock following = next;
    next = null;
    retire(following);
  }

  private void retireCurrent() {
    TokenBlock block = current;
    current = null;
    retire(block);
  }

  private void retire(@Nullable TokenBlock block) {
    if (block != null) {
      closings.add(new BucketTokenBlocks.BlockReturn(block.id(), block.close()));
    }
  }

  /** Closes blocks that are idle or whose lifetime is half over; returns what to send. */
  public synchronized List<BucketTokenBlocks.BlockReturn> sweep() {
    long now = clock.getAsLong();
    TokenBlock block = current;
    if (block != null && block.isIdle(now, ttlNanos / 4)) {
      retireAll();
    }
    if (block != null && block.endsWithin(now, ttlNanos / 2)) {
      retireCurrent();
    }
    TokenBlock following = next;
    if (following != null && following.endsWithin(now, ttlNanos / 2)) {
      next = null;
      retire(following);
    }
    return takeClosings();
  }

  /** Closes this object if it held no block since the last call; returns whether it is closed. */
  public synchronized boolean leaveIfUnused() {
    boolean empty = current == null && next == null && !asking && closings.isEmpty();
    gone |= empty && unused;
    unused = empty;
    return gone;
  }

  /** Closes all blocks for good; returns what to send. */
  public synchronized List<BucketTokenBlocks.BlockReturn> leave() {
    gone = true;
    retireAll();
    return takeClosings();
  }

  /** Returns the block returns that must be sent now, because no more requests follow. */
  public synchronized List<BucketTokenBlocks.BlockReturn> lastClosings() {
    return gone ? takeClosings() : List.of();
  }

  private List<BucketTokenBlocks.BlockReturn> takeClosings() {
    if (closings.isEmpty()) {
      return List.of();
    }
    List<BucketTokenBlocks.BlockReturn> all = List.copyOf(closings);
    closings.clear();
    return all;
  }
}
