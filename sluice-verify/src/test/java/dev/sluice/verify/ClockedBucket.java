package dev.sluice.verify;

import dev.sluice.Limit;
import dev.sluice.NanoClock;
import dev.sluice.TokenBucket;
import dev.sluice.properties.BucketModel;
import java.util.concurrent.atomic.AtomicLong;
import org.jetbrains.lincheck.datastructures.LongGen;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;

/**
 * Consumers of a bucket against a clock that others move on meanwhile.
 *
 * <p>The bucket reads the clock itself. Its first reading is part of the answer: see {@link
 * ClockVerifier}.
 */
@Param(name = "tokens", gen = LongGen.class, conf = "1:3")
@Param(name = "ticks", gen = LongGen.class, conf = "1:4")
public abstract class ClockedBucket {
  private static final ThreadLocal<Long> READING = new ThreadLocal<>();

  /** Makes the bucket to test. */
  @FunctionalInterface
  interface Maker {
    Bucket make(Limit limit, long initialTokens, NanoClock clock);
  }

  private final AtomicLong time = new AtomicLong();
  private final Limit limit;
  private final long initialTokens;
  private final long tickNanos;
  final Bucket bucket;

  /** The real bucket; its clock starts at zero and advances by whole ticks. */
  ClockedBucket(Limit limit, long initialTokens, long tickNanos) {
    this(limit, initialTokens, tickNanos, ClockedBucket::real);
  }

  ClockedBucket(Limit limit, long initialTokens, long tickNanos, Maker maker) {
    this.limit = limit;
    this.initialTokens = initialTokens;
    this.tickNanos = tickNanos;
    this.bucket = maker.make(limit, initialTokens, this::read);
    READING.remove();
  }

  private static Bucket real(Limit limit, long initialTokens, NanoClock clock) {
    return new Bucket.Real(
        TokenBucket.builder().limit(limit).initialTokens(initialTokens).clock(clock).build());
  }

  /** Lets time pass before the run. */
  final void skip(long nanos) {
    time.addAndGet(nanos);
  }

  /** Where an explanation of a run starts. */
  final BucketModel model() {
    return BucketModel.of(Refills.of(limit), initialTokens, 0);
  }

  final long clockNanos() {
    return time.get();
  }

  /** How many tokens the number one stands for in this suite. */
  long batchTokens() {
    return 1;
  }

  /** Remembers the first reading of an operation; helping with a change takes another. */
  private long read() {
    long nowNanos = time.get();
    if (READING.get() == null) {
      READING.set(nowNanos);
    }
    return nowNanos;
  }

  /** The answer to an operation of this thread, with the first reading it made. */
  static Answer answer(long value) {
    Answer answer = new Answer(READING.get(), value);
    READING.remove();
    return answer;
  }

  @Operation
  public Answer tryAcquire(@Param(name = "tokens") long batches) {
    return answer(bucket.tryAcquire(batches * batchTokens()) ? batches : 0);
  }

  @Operation
  public Answer advance(@Param(name = "ticks") long ticks) {
    long deltaNanos = ticks * tickNanos;
    return new Answer(time.addAndGet(deltaNanos), deltaNanos);
  }
}
