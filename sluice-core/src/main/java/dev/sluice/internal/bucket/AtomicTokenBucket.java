package dev.sluice.internal.bucket;

import static dev.sluice.internal.util.Preconditions.requireNonNegative;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.NanoClock;
import dev.sluice.TokenBucket;
import dev.sluice.internal.bucket.CellSuccessor.Change;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** The token bucket: a chain of cells, of which the last one serves. */
public final class AtomicTokenBucket extends Cell implements TokenBucket {
  /*
   * The bucket is its own first cell, so that until its first reconfiguration a call touches one
   * object. Later cells are reached through `live`.
   *
   * Lock order: the waiting list's lock, and nothing under it but alarms and cells.
   */
  private static final VarHandle LIVE;

  static {
    try {
      LIVE = MethodHandles.lookup().findVarHandle(AtomicTokenBucket.class, "live", Cell.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  // Immutable.
  private final NanoClock clock;
  private final WaitingListMonitor waitingList;

  /** Atomic. The cell in service, or one from which it can be reached. */
  private volatile Cell live = this;

  public AtomicTokenBucket(UnitScale scale, long initialTokens, NanoClock clock, int maxWaiters) {
    super(scale, initialTokens, clock.nanoTime());
    this.clock = clock;
    this.waitingList = new WaitingListMonitor(this, clock, maxWaiters);
  }

  @Override
  public boolean tryAcquire() {
    return tryAcquire(1, clock.nanoTime());
  }

  @Override
  public boolean tryAcquire(long tokens) {
    if (tokens <= 0) {
      return requireNonNegative("tokens", tokens) == 0;
    }
    return tryAcquire(tokens, clock.nanoTime());
  }

  @Override
  public boolean tryAcquire(long tokens, long nowNanos) {
    if (tokens <= 0) {
      return requireNonNegative("tokens", tokens) == 0;
    }
    long outcome = take(tokens, nowNanos);
    return outcome >= 0 || (outcome <= QUEUED && tryAcquireElsewhere(tokens, nowNanos));
  }

  private boolean tryAcquireElsewhere(long tokens, long nowNanos) {
    long outcome = takeElsewhere(tokens, nowNanos);
    return outcome == QUEUED ? waitingList.decide(tokens, nowNanos).isGranted() : outcome >= 0;
  }

  private long takeElsewhere(long tokens, long nowNanos) {
    Cell cell = inService(nowNanos);
    long outcome;
    while ((outcome = cell.take(tokens, nowNanos)) <= EXPIRED) {
      cell = after(cell, outcome, nowNanos);
    }
    return outcome;
  }

  /** {@link #tryAcquire} for a caller that joins the list otherwise: never waits for its lock. */
  private boolean takesAtOnce(long tokens, long nowNanos) {
    return tokens <= 0
        ? requireNonNegative("tokens", tokens) == 0
        : takeElsewhere(tokens, nowNanos) >= 0;
  }

  @Override
  public Decision decide(long tokens) {
    if (requireNonNegative("tokens", tokens) == 0) {
      return peek(0);
    }
    long nowNanos = clock.nanoTime();
    Decision decision = decideUnlessQueued(tokens, nowNanos);
    return decision == null ? waitingList.decide(tokens, nowNanos) : decision;
  }

  /** Decides without the list; null if the tokens would be there, but callers wait. */
  @Nullable Decision decideUnlessQueued(long tokens, long nowNanos) {
    Cell cell = inService(nowNanos);
    long outcome;
    while ((outcome = cell.take(tokens, nowNanos)) <= EXPIRED) {
      cell = after(cell, outcome, nowNanos);
    }
    return outcome == QUEUED ? null : cell.epochScale.decision("", outcome, tokens, nowNanos);
  }

  @Override
  public Decision peek(long tokens) {
    long nowNanos = clock.nanoTime();
    if (requireNonNegative("tokens", tokens) == 0) {
      return new Decision.Granted(available(nowNanos));
    }
    Cell cell = upToDate(nowNanos);
    return cell.epochScale.decision("", cell.wouldTake(tokens, nowNanos), tokens, nowNanos);
  }

  @Override
  public CompletableFuture<Void> acquireAsync(long tokens) {
    long nowNanos = clock.nanoTime();
    return takesAtOnce(tokens, nowNanos)
        ? CompletableFuture.completedFuture(null)
        : waitingList.join(tokens, nowNanos).withoutValue();
  }

  @Override
  public CompletableFuture<Boolean> acquireAsync(long tokens, Duration maxWait) {
    long maxWaitNanos = saturatedNanos(maxWait);
    long nowNanos = clock.nanoTime();
    return takesAtOnce(tokens, nowNanos)
        ? CompletableFuture.completedFuture(true)
        : waitingList.joinFor(maxWaitNanos, tokens, nowNanos);
  }

  @Override
  public void acquire(long tokens) throws InterruptedException {
    long nowNanos = clock.nanoTime();
    if (!takesAtOnce(tokens, nowNanos)) {
      waitingList.joinBlocking(tokens, nowNanos, WaitingListMonitor.FOR_EVER).await();
    }
  }

  @Override
  public boolean acquire(long tokens, Duration maxWait) throws InterruptedException {
    long maxWaitNanos = saturatedNanos(maxWait);
    long nowNanos = clock.nanoTime();
    return takesAtOnce(tokens, nowNanos)
        || waitingList.joinBlocking(tokens, nowNanos, maxWaitNanos).awaitBeforeDeadline();
  }

  private static long saturatedNanos(Duration maxWait) {
    Objects.requireNonNull(maxWait, "maxWait");
    if (maxWait.isNegative()) {
      throw new IllegalArgumentException("maxWait must not be negative, but was " + maxWait);
    }
    return maxWait.compareTo(Limit.MAX_PERIOD) > 0
        ? WaitingListMonitor.FOR_EVER
        : maxWait.toNanos();
  }

  @Override
  public long available() {
    return available(clock.nanoTime());
  }

  @Override
  public long available(long nowNanos) {
    Cell cell = upToDate(nowNanos);
    return cell.epochScale.availableAt(cell.fullAt(), nowNanos);
  }

  @Override
  public Optional<Duration> timeToFull() {
    long nowNanos = clock.nanoTime();
    Cell cell = upToDate(nowNanos);
    long fullAt = cell.fullAt();
    if (!cell.scale.refills()) {
      return fullAt == 0 ? Optional.of(Duration.ZERO) : Optional.empty();
    }
    return Optional.of(Duration.ofNanos(cell.epochScale.nanosUntil(fullAt, nowNanos)));
  }

  @Override
  public void replenish(long tokens) {
    if (requireNonNegative("tokens", tokens) > 0) {
      waitingList.replenish(tokens, clock.nanoTime());
    }
  }

  @Override
  public void reset() {
    waitingList.reset(clock.nanoTime());
  }

  @Override
  public void reconfigure(Limit limit) {
    UnitScale scale = UnitScale.of(Objects.requireNonNull(limit, "limit"));
    waitingList.reconfigure(scale, clock.nanoTime());
  }

  @Override
  public Limit limit() {
    return inService(clock.nanoTime()).scale.limit();
  }

  @Override
  public int waiters() {
    return waitingList.size();
  }

  /** The cell that serves, after finishing any handover that is under way. */
  public Cell inService(long nowNanos) {
    Cell cell = live;
    while (cell.isSealed()) {
      cell = after(cell, MOVED, nowNanos);
    }
    return cell;
  }

  /**
   * Returns the current cell, after its list has admitted all waiters that arrived before this
   * call.
   */
  private Cell upToDate(long nowNanos) {
    Cell cell = inService(nowNanos);
    if (cell.hasArrivals()) {
      waitingList.size(); // admits them
    }
    return inService(nowNanos);
  }

  /** Notes that a caller has come to the list. */
  void arrive(long nowNanos) {
    boolean noted;
    do {
      noted = inService(nowNanos).arrive();
    } while (!noted);
  }

  /** {@link #inService} where no instant is at hand. */
  public Cell latest() {
    return inService(live.epochScale.bornNanos());
  }

  /** Returns the cell in service, with an epoch that can represent grants at {@code nowNanos}. */
  Cell covering(long nowNanos) {
    Cell cell = inService(nowNanos);
    while (!cell.covers(nowNanos)) {
      after(cell, EXPIRED, nowNanos);
      cell = inService(nowNanos);
    }
    return cell;
  }

  /** Returns the cell to ask next when {@code cell} answered {@link #MOVED} or {@link #EXPIRED}. */
  Cell after(Cell cell, long outcome, long nowNanos) {
    if (outcome == EXPIRED) {
      cell.ask(new Change(cell.scale, nowNanos));
      if (!cell.seal(waitingList.isHeldByCaller())) {
        // Callers have come to wait; the same cell now answers so.
        return cell;
      }
    }
    Cell next = cell.successor(epochNanos, nowNanos, clock);
    if (LIVE.compareAndSet(this, cell, next) && cell != this) {
      // No caller starts from this cell any more; the waiting list, too, starts from later cells.
      skipTo(next);
    }
    return next;
  }

  /**
   * Replaces {@code cell} by one with another scale, under the list's lock; returns false if
   * another thread has replaced it.
   */
  public boolean change(Cell cell, UnitScale scale, long nowNanos) {
    boolean won = cell.ask(new Change(scale, nowNanos));
    cell.seal(true);
    after(cell, MOVED, nowNanos);
    return won;
  }

  /** The cell that took over from {@code sealed}, whose handover is done. */
  Cell successorOf(Cell sealed) {
    return sealed.successor(epochNanos, sealed.epochScale.bornNanos(), clock);
  }

  @Override
  public String toString() {
    return "TokenBucket[limit=" + limit() + ", available=" + available() + "]";
  }
}
