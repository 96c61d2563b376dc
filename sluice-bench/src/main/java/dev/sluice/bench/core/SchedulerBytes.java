package dev.sluice.bench.core;

import dev.sluice.FairScheduler;
import dev.sluice.Placement;
import dev.sluice.bench.measure.HeapProbe;
import java.lang.ref.Reference;
import java.util.List;

/** Heap that a million fairness keys with one item each take, beyond their strings and items. */
final class SchedulerBytes {
  private static final int KEYS = 1_000_000;

  private SchedulerBytes() {}

  public static void main(String[] args) {
    int throttles = Integer.parseInt(args[0]);
    List<Placement> placements = SchedulerBenchmark.placements(KEYS, throttles);
    FairScheduler.<Placement>create().queue("warm").enqueue(placements.get(0), placements.get(0));
    long before = HeapProbe.usedBytes();
    FairScheduler<Placement> scheduler = FairScheduler.create();
    try {
      for (Placement placement : placements) {
        scheduler.queue("queue").enqueue(placement, placement);
      }
      System.out.println((HeapProbe.usedBytes() - before) / (double) KEYS);
    } finally {
      Reference.reachabilityFence(scheduler);
      Reference.reachabilityFence(placements);
    }
  }
}
