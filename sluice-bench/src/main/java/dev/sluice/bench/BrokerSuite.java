package dev.sluice.bench;

import dev.sluice.broker.Durability;
import dev.sluice.broker.Message;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;

/**
 * The durable broker through its embedded API, with messages of 1 KB. Every figure is of messages
 * that are accounted for: as many acknowledged or deleted as were enqueued, or the run fails.
 */
final class BrokerSuite {
  private static final BrokerLoad.Shape BATCHES = BrokerLoad.Shape.BATCHES;
  private static final int THROTTLES = 1_000;

  /** As deep for any number of keys, and enough for one message in each of the most. */
  private static final int KEYS_BACKLOG = 100_000;

  private static final int SHALLOW = 1_000;

  /**
   * How much is measured.
   *
   * @param pending messages for heap and recovery
   */
  private record Effort(
      int rounds,
      Duration warmUp,
      Duration measured,
      Duration disk,
      Duration rate,
      int deep,
      int pending) {
    static final Effort QUICK =
        new Effort(
            1,
            Duration.ofMillis(500),
            Duration.ofMillis(1_200),
            Duration.ofMillis(300),
            Duration.ofSeconds(3),
            100_000,
            200_000);
    static final Effort FULL =
        new Effort(
            5,
            Duration.ofSeconds(1),
            Duration.ofSeconds(3),
            Duration.ofMillis(700),
            Duration.ofSeconds(10),
            1_000_000,
            1_000_000);
  }

  private final Effort effort;
  private final Scratch scratch;
  private final Rounds rounds;
  private final Report report = new Report();
  private int diskGroup;

  private BrokerSuite(Effort effort, Scratch scratch) {
    this.effort = effort;
    this.scratch = scratch;
    this.rounds = Rounds.of(effort.rounds());
  }

  static Report run(boolean quick) throws Exception {
    try (Scratch scratch = new Scratch()) {
      return new BrokerSuite(quick ? Effort.QUICK : Effort.FULL, scratch).measure();
    }
  }

  private Report measure() throws Exception {
    lifecycle(Durability.OS, BATCHES, 1);
    rounds.run(
        unused -> {
          disk();
          speed();
          latency(Durability.ALWAYS, "");
          latency(Durability.OS, "_os");
          keys();
          hook();
        });
    depth();
    once();
    head();
    table();
    return report;
  }

  // ---- rounds

  private void disk() throws IOException {
    DiskProbe.Limit limit = DiskProbe.measure(scratch.next(), effort.disk());
    diskGroup = limit.group();
    rounds.record("disk_limit_per_s", limit.perSecond());
  }

  private void speed() throws InterruptedException {
    BrokerLoad.Speed synced = lifecycle(Durability.ALWAYS, BATCHES, 1);
    rounds.record("lifecycle_fsync_per_s", synced.perSecond());
    rounds.record("lifecycle_fsync_cpu_us", synced.cpuMicros());
    BrokerLoad.Speed written = lifecycle(Durability.OS, BATCHES, 1);
    rounds.record("lifecycle_os_per_s", written.perSecond());
    rounds.record("lifecycle_os_cpu_us", written.cpuMicros());
    rounds.record(
        "lifecycle_single_fsync_per_s",
        lifecycle(Durability.ALWAYS, BrokerLoad.Shape.SINGLE, 1).perSecond());
    try (BrokerRig rig = rig(Durability.ALWAYS)) {
      BrokerLoad load = load(rig, 1);
      rounds.record("enqueue_fsync_per_s", load.enqueue(effort.warmUp(), effort.measured()));
      rounds.record("deliver_ack_fsync_per_s", load.drain());
    }
    try (BrokerRig rig = rig(Durability.OS)) {
      BrokerLoad load = load(rig, 1);
      rounds.record("enqueue_os_per_s", load.enqueue(effort.warmUp(), effort.measured()));
      load.purge();
    }
  }

  private BrokerLoad.Speed lifecycle(Durability durability, BrokerLoad.Shape shape, int keys)
      throws InterruptedException {
    try (BrokerRig rig = rig(durability)) {
      return new BrokerLoad(rig, BrokerLoad.messages(keys, shape.batch()), shape)
          .lifecycle(effort.warmUp(), effort.measured());
    }
  }

  private void latency(Durability durability, String suffix) throws Exception {
    String capacity = durability == Durability.OS ? "lifecycle_os_per_s" : "lifecycle_fsync_per_s";
    try (BrokerRig rig = rig(durability)) {
      OpenLoop.Latency latency =
          new OpenLoop(rig, rounds.last(capacity) / 2).measure(effort.warmUp(), effort.measured());
      rounds.record("p50" + suffix + "_ms", latency.p50());
      rounds.record("p99" + suffix + "_ms", latency.p99());
    }
  }

  private void keys() throws Exception {
    rounds.record("lifecycle_10_keys_per_s", backlogged(10));
    rounds.record("lifecycle_10k_keys_per_s", backlogged(10_000));
    rounds.record("lifecycle_100k_keys_per_s", backlogged(KEYS_BACKLOG));
    try (BrokerRig rig = rig(Durability.OS)) {
      rig.setThrottles(THROTTLES, 1e6, 1e6);
      List<List<Message>> batches =
          BrokerRig.batches(THROTTLES, BATCHES.batch(), BrokerSuite::throttled);
      rounds.record(
          "lifecycle_throttled_per_s",
          new BrokerLoad(rig, batches, BATCHES)
              .lifecycle(effort.warmUp(), effort.measured())
              .perSecond());
    }
  }

  /** Lifecycles beside a backlog that all keys share. */
  private double backlogged(int keys) throws InterruptedException {
    try (BrokerRig rig = rig(Durability.OS)) {
      BrokerLoad load = load(rig, keys);
      load.fill(KEYS_BACKLOG);
      double perSecond = load.lifecycle(effort.warmUp(), effort.measured()).perSecond();
      load.purge();
      return perSecond;
    }
  }

  private static Message throttled(int i) {
    return BrokerRig.message(i)
        .withKey(BrokerRig.key(i))
        .withThrottles(BrokerRig.throttle(i), BrokerRig.throttle((i + 7) % THROTTLES));
  }

  private void hook() throws InterruptedException {
    HookCost.Cost cost = HookCost.measure(scratch.next(), 40_000);
    rounds.record("hook_us", cost.cpuMicros());
    rounds.record("hook_timer_us", cost.timerMicros());
  }

  // ---- what takes long to set up

  /** One broker for all rounds: what takes long is to fill it. */
  private void depth() throws InterruptedException {
    for (int pending : new int[] {SHALLOW, effort.deep()}) {
      try (BrokerRig rig = rig(Durability.OS)) {
        BrokerLoad load = load(rig, 1);
        load.fill(pending);
        for (int round = 0; round < effort.rounds(); round++) {
          rounds.record(
              "lifecycle_" + scale(pending) + "_pending_per_s",
              load.lifecycle(effort.warmUp(), effort.measured()).perSecond());
        }
        load.purge();
      }
    }
  }

  private void once() throws Exception {
    Path folder = scratch.next();
    String pending = String.valueOf(effort.pending());
    rounds.record(
        "heap_b_per_msg", HeapProbe.measure(BrokerBytes.class, folder.toString(), pending));
    for (int round = 0; round < effort.rounds(); round++) {
      rounds.record(
          recovery(), HeapProbe.measure(BrokerRecovery.class, folder.toString(), pending));
    }
    Scratch.delete(folder);
    rounds.record("idle_cpu_percent_100k", IdleCost.percent(scratch.next(), Duration.ofSeconds(5)));
    double delivered = RateAccuracy.percent(scratch.next(), 50, effort.rate());
    rounds.record("rate_error_percent", Math.abs(delivered - 100));
    rounds.record("rate_burst1_percent", RateAccuracy.percent(scratch.next(), 1, effort.rate()));
  }

  private String recovery() {
    return "recover_" + scale(effort.pending()) + "_s";
  }

  private static String scale(int count) {
    return count % 1_000_000 == 0 ? count / 1_000_000 + "m" : count / 1_000 + "k";
  }

  private BrokerRig rig(Durability durability) {
    return new BrokerRig(scratch.next(), BrokerRig.queue(durability));
  }

  private static BrokerLoad load(BrokerRig rig, int keys) {
    return new BrokerLoad(rig, BrokerLoad.messages(keys, BATCHES.batch()), BATCHES);
  }

  // ---- the report

  private void head() throws IOException {
    report.line(
        "messages of 1 KB, batches of %d, %,d on their way, one producer, one consumer",
        BATCHES.batch(), BATCHES.window());
    report.line(
        "consumer: polls of up to %,d, each acknowledged in one call, prefetch %,d",
        BATCHES.poll(), BATCHES.prefetch());
    report.line(
        "medians of %d round(s) of %s each, %d cores, %s",
        effort.rounds(),
        effort.measured(),
        Runtime.getRuntime().availableProcessors(),
        scratch.fileSystem());
    if (scratch.isInMemory()) {
      report.line("WARNING: the temporary folder is in memory; use -Djava.io.tmpdir");
    }
    report.line("");
  }

  private void table() {
    row("disk_limit_per_s", "appended to a file, synced in groups of %,d", diskGroup);
    row("lifecycle_fsync_per_s", "enqueued, delivered, acknowledged; fsync=always, 1 key");
    row("lifecycle_single_fsync_per_s", "the same, one message a call of the producer");
    row("lifecycle_os_per_s", "fsync=os, 1 key");
    row("lifecycle_fsync_cpu_us", "CPU time a message, fsync=always, this load included");
    row("lifecycle_os_cpu_us", "the same, fsync=os");
    row("enqueue_fsync_per_s", "no consumer");
    row("deliver_ack_fsync_per_s", "no producer");
    row("enqueue_os_per_s", "no consumer");
    row("lifecycle_10_keys_per_s", "fsync=os, beside a backlog of %,d", KEYS_BACKLOG);
    row("lifecycle_10k_keys_per_s", "the same backlog in 10,000 keys");
    row("lifecycle_100k_keys_per_s", "the same backlog in 100,000 keys");
    row("lifecycle_throttled_per_s", "fsync=os, 2 of %,d throttle keys, none short", THROTTLES);
    row("lifecycle_1k_pending_per_s", "fsync=os, 1 key, beside a backlog of 1,000");
    row(deep(), "the same beside a backlog of %,d", effort.deep());
    row("p50_ms", "due to delivered at half of lifecycle_fsync_per_s, sent each ms");
    row("p99_ms", "the same");
    row("p50_os_ms", "the same at half of lifecycle_os_per_s");
    row("p99_os_ms", "the same");
    row("hook_us", "on_enqueue: CPU time of the caller, less that without");
    row("hook_timer_us", "the same by the broker's own timer");
    row("heap_b_per_msg", "%,d pending, after collection", effort.pending());
    row(recovery(), "open after a crash, %,d pending, cold JVM", effort.pending());
    row(
        "idle_cpu_percent_100k",
        "of one core, %,d keys wait for %,d rates",
        IdleCost.KEYS,
        IdleCost.RATES);
    row("rate_error_percent", "1,000/s, burst 50, over %s", effort.rate());
    row("rate_burst1_percent", "delivered at 1,000/s, burst 1, over %s", effort.rate());
    report.line("");
    rounds.ratio(report, "keys_cost", "lifecycle_10_keys_per_s", "lifecycle_100k_keys_per_s");
    rounds.ratio(report, "depth_cost", "lifecycle_1k_pending_per_s", deep());
    rounds.ratio(report, "lifecycle_of_disk", "lifecycle_fsync_per_s", "disk_limit_per_s");
  }

  private String deep() {
    return "lifecycle_" + scale(effort.deep()) + "_pending_per_s";
  }

  private void row(String name, String note, Object... arguments) {
    double value = rounds.median(name);
    String figure = String.format(Locale.ROOT, value < 1_000 ? "%.3f" : "%,.0f", value);
    report.line("%-32s %14s   %s", name, figure, String.format(Locale.ROOT, note, arguments));
    report.value(name, value);
  }
}
