package dev.sluice.bench.core;

import dev.sluice.FairQueue;
import dev.sluice.FairScheduler;
import dev.sluice.Limit;
import dev.sluice.Next;
import dev.sluice.Placement;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/** One item through the scheduler; run by {@link SchedulerSuite}. */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class SchedulerBenchmark {

  /** A scheduler in which every key always has an item. */
  @State(Scope.Benchmark)
  public static class Busy {
    @Param("10")
    int keys;

    /** Throttle keys of an item, none of them exhausted. */
    @Param("0")
    int throttles;

    /** Keys that wait at exhausted buckets meanwhile, ten at each. */
    @Param("0")
    int parked;

    FairScheduler<Placement> scheduler = FairScheduler.create();
    FairQueue<Placement> queue = scheduler.queue("queue");
    long now;

    @Setup
    public void fill() {
      for (Placement placement : placements(keys, throttles)) {
        queue.enqueue(placement, placement);
      }
      for (int i = 0; i < 1_000; i++) {
        scheduler.advanceTo(now);
        scheduler.setLimit("throttle" + i, Limit.ofRate(1e9, 1e6));
      }
      park(scheduler, parked, now);
    }
  }

  /** A scheduler in which all keys wait. */
  @State(Scope.Benchmark)
  public static class Parked {
    @Param("100000")
    int parked;

    FairScheduler<Placement> scheduler = FairScheduler.create();

    @Setup
    public void fill() {
      park(scheduler, parked, 0);
    }
  }

  /** Placements of so many keys, in an order that has nothing to do with their place in memory. */
  static List<Placement> placements(int keys, int throttles) {
    List<Placement> placements = new ArrayList<>(keys);
    for (int i = 0; i < keys; i++) {
      Placement placement = Placement.of("tenant-" + i);
      for (int j = 0; j < throttles; j++) {
        placement = placement.withThrottleKeys("throttle" + (i * 31 + j * 17) % 1_000);
      }
      placements.add(placement);
    }
    Collections.shuffle(placements, new Random(1));
    return placements;
  }

  private static void park(FairScheduler<Placement> scheduler, int keys, long now) {
    for (int i = 0; i < keys / 10; i++) {
      scheduler.advanceTo(now);
      scheduler.setLimit("exhausted" + i, Limit.ofRate(1e-3, 1));
    }
    FairQueue<Placement> queue = scheduler.queue("parked");
    List<Placement> placements = new ArrayList<>();
    for (int i = 0; i < keys; i++) {
      Placement placement = Placement.of("parked-" + i).withThrottleKeys("exhausted" + i / 10);
      placements.add(placement);
    }
    Collections.shuffle(placements, new Random(2));
    for (Placement placement : placements) {
      queue.enqueue(placement, placement);
      queue.enqueue(placement, placement);
    }
    for (int parked = 0; parked < keys / 10; ) {
      Next<Placement> next = scheduler.next(now);
      if (next instanceof Next.Offer<Placement> offer) {
        parked += offer.queue().equals("parked") ? 1 : 0;
        Placement placement = offer.confirm().item();
        if (!offer.queue().equals("parked")) {
          scheduler.queue(offer.queue()).enqueue(placement, placement);
        }
      }
    }
  }

  /** Delivers an item and enqueues one of the same key. */
  @Benchmark
  public Object deliver(Busy state) {
    if (state.scheduler.next(state.now++) instanceof Next.Offer<Placement> offer) {
      Placement placement = offer.confirm().item();
      return state.queue.enqueue(placement, placement);
    }
    throw new IllegalStateException("nothing can go");
  }

  /** Asks while nothing can go. */
  @Benchmark
  public Object poll(Parked state) {
    return state.scheduler.next(0);
  }
}
