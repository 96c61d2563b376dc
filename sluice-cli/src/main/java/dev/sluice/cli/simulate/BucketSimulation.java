package dev.sluice.cli.simulate;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.ManualClock;
import dev.sluice.TokenBucket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;

/** Sends requests to a bucket in simulated time and records their decisions. */
final class BucketSimulation {
  /**
   * The end of time, after 292 years. A waiter that is due at the last instant of the clock is
   * never served.
   */
  private static final long END_NANOS = Long.MAX_VALUE - 1;

  private final ManualClock clock = ManualClock.create();
  private final TokenBucket bucket;
  private final Limit limit;
  private final long initialTokens;
  private final boolean waiting;

  private final List<BatchResult> outcomes = new ArrayList<>();
  private final RequestTotals total = new RequestTotals();
  private final SortedMap<Long, RequestTotals> periods = new TreeMap<>();
  private long longestWaitNanos;

  /**
   * A simulation yet to run.
   *
   * @param waiting whether excess requests wait instead of being denied
   */
  BucketSimulation(Limit limit, long initialTokens, boolean waiting) {
    this.limit = limit;
    this.initialTokens = initialTokens;
    this.waiting = waiting;
    this.bucket =
        TokenBucket.builder()
            .limit(limit)
            .initialTokens(initialTokens)
            .clock(clock)
            .maxWaiters(RequestParser.MAX_COUNT)
            .build();
  }

  void run(List<RequestBatch> batches) {
    for (RequestBatch batch : batches) {
      clock.advanceNanos(batch.timeNanos() - clock.nanoTime());
      put(batch);
    }
    serveWaiters();
  }

  private void put(RequestBatch batch) {
    BatchResult outcome = new BatchResult(batch, bucket.available());
    outcomes.add(outcome);
    total.requested().add(batch.count(), batch.tokens());
    period().requested().add(batch.count(), batch.tokens());
    for (int i = 0; i < batch.count(); i++) {
      if (waiting) {
        consume(outcome);
      } else {
        decide(outcome);
      }
    }
    outcome.left = bucket.available();
  }

  private void decide(BatchResult outcome) {
    Decision decision = bucket.decide(outcome.batch.tokens());
    if (decision.isGranted()) {
      outcome.granted++;
      countGrant(outcome);
    } else {
      outcome.denial = decision;
      countDenial(outcome);
    }
  }

  private void consume(BatchResult outcome) {
    CompletableFuture<Void> grant = bucket.acquireAsync(outcome.batch.tokens());
    if (grant.isCompletedExceptionally()) {
      countDenial(outcome);
    } else if (grant.isDone()) {
      outcome.granted++;
      countGrant(outcome);
    } else {
      CompletableFuture<Void> unused = grant.thenRun(() -> serve(outcome));
    }
  }

  /** Called by the clock, at the instant at which the tokens are there. */
  private void serve(BatchResult outcome) {
    outcome.served++;
    outcome.servedNanos = clock.nanoTime();
    longestWaitNanos = Math.max(longestWaitNanos, outcome.servedNanos - outcome.batch.timeNanos());
    countGrant(outcome);
  }

  private void countGrant(BatchResult outcome) {
    total.granted().add(1, outcome.batch.tokens());
    period().granted().add(1, outcome.batch.tokens());
  }

  private void countDenial(BatchResult outcome) {
    outcome.denied++;
    total.denied().add(1, outcome.batch.tokens());
    period().denied().add(1, outcome.batch.tokens());
  }

  /** Continues until no request waits or the clock ends. */
  private void serveWaiters() {
    if (bucket.waiters() > 0) {
      long untilFullNanos = bucket.timeToFull().orElse(Duration.ZERO).toNanos();
      clock.advanceNanos(Math.min(untilFullNanos, END_NANOS - clock.nanoTime()));
    }
  }

  private RequestTotals period() {
    long length = periodNanos();
    long start = length == 0 ? 0 : clock.nanoTime() / length * length;
    return periods.computeIfAbsent(start, ignored -> new RequestTotals());
  }

  /** Length of a refill period; 0 where there is none. */
  long periodNanos() {
    if (limit instanceof Limit.Balanced balanced) {
      return balanced.refillPeriod().toNanos();
    }
    return limit instanceof Limit.Strict strict ? strict.period().toNanos() : 0;
  }

  Limit limit() {
    return limit;
  }

  long initialTokens() {
    return initialTokens;
  }

  boolean isWaiting() {
    return waiting;
  }

  List<BatchResult> outcomes() {
    return outcomes;
  }

  RequestTotals total() {
    return total;
  }

  /** Sums by period in which something happened, by its start; one entry if there are none. */
  SortedMap<Long, RequestTotals> periods() {
    return periods;
  }

  WaitSummary waits() {
    return new WaitSummary(
        outcomes.stream().mapToLong(o -> o.served).sum(),
        outcomes.stream().mapToLong(BatchResult::unserved).sum(),
        longestWaitNanos);
  }
}
