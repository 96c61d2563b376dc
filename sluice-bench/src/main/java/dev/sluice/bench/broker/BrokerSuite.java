package dev.sluice.bench.broker;

import dev.sluice.bench.measure.Calm;
import dev.sluice.bench.measure.HeapProbe;
import dev.sluice.bench.measure.Report;
import dev.sluice.bench.measure.Rounds;
import dev.sluice.bench.measure.Scratch;
import dev.sluice.broker.Durability;
import dev.sluice.broker.Message;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;

/**
 * The durable broker through its embedded API, with messages of 1 KB. Every figure is of messages
 * that are accounted for: as many acknowledged or deleted as were enqueued, or the run fails.
 */
public final class BrokerSuite {
  private static final BrokerLoad.Shape BATCHES = BrokerLoad.Shape.BATCHES;
  private static final int THROTTLES = 1_000;

  /** As deep for any number of keys, and enough for one message in each of the most. */
  private static final int KEYS_BACKLOG = 100_000;

  private static final int SHALLOW = 1_000;
  private static final Duration SLICE = Duration.ofMillis(300);
  private static final String PER_SECOND = "_per_s";
  private static final String CPU = "_cpu_us";

  /**
   * How much is measured.
   *
   * @param warmUps the most slices of time to wait for the compiler
   * @param pending messages for heap and recovery
   */
  private record Effort(
      int rounds,
      int warmUps,
      Duration warmUp,
      Duration measured,
      Duration disk,
      Duration rate,
      Duration idle,
      int deep,
      int pending) {
    static final Effort QUICK =
        new Effort(
            1,
            5,
            Duration.ofMillis(200),
            Duration.ofMillis(800),
            Duration.ofMillis(200),
            Duration.ofSeconds(2),
            Duration.ofSeconds(3),
            100_000,
            100_000);
    static final Effort FULL =
        new Effort(
            5,
            30,
            Duration.ofSeconds(1),
            Duration.ofSeconds(3),
            Duration.ofMillis(700),
            Duration.ofSeconds(10),
            Duration.ofSeconds(5),
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

  public static Report run(boolean quick) throws Exception {
    try (Scratch scratch = new Scratch()) {
      return new BrokerSuite(quick ? Effort.QUICK : Effort.FULL, scratch).measure();
    }
  }

  private Report measure() throws Exception {
    warmUp();
    depth();
    rounds.run(
        unused -> {
          disk();
          speed();
          latency(Durability.ALWAYS, "");
          latency(Durability.OS, "_os");
          keys();
          hook();
        });
    once();
    head();
    table();
    return report;
  }

  private void warmUp() throws InterruptedException {
    try (BrokerRig rig = rig(Durability.ALWAYS)) {
      warmUp(load(rig, 1));
    }
  }

  /** Until the compiler has nothing left to gain. */
  private void warmUp(BrokerLoad load) throws InterruptedException {
    Calm calm = new Calm(2, effort.warmUps());
    double cpu;
    do {
      cpu = load.lifecycle(Duration.ZERO, SLICE).cpuMicros();
    } while (!calm.after(cpu));
  }

  // ---- rounds

  private void disk() throws IOException {
    DiskProbe.Limit limit = DiskProbe.measure(scratch.next(), effort.disk());
    diskGroup = limit.group();
    rounds.record("disk_limit_per_s", limit.perSecond());
  }

  private void speed() throws InterruptedException {
    record("lifecycle_fsync", lifecycle(Durability.ALWAYS, BATCHES));
    record("lifecycle_os", lifecycle(Durability.OS, BATCHES));
    record("lifecycle_single_fsync", lifecycle(Durability.ALWAYS, BrokerLoad.Shape.SINGLE));
    try (BrokerRig rig = rig(Durability.ALWAYS)) {
      BrokerLoad load = load(rig, 1);
      record("enqueue_fsync", load.enqueue(effort.warmUp(), effort.measured().dividedBy(2)));
      record("deliver_ack_fsync", load.drain());
    }
    try (BrokerRig rig = rig(Durability.OS)) {
      BrokerLoad load = load(rig, 1);
      record("enqueue_os", load.enqueue(effort.warmUp(), effort.measured().dividedBy(2)));
      load.purge();
    }
  }

  private void record(String name, BrokerLoad.Speed speed) {
    rounds.record(name + PER_SECOND, speed.perSecond());
    rounds.record(name + CPU, speed.cpuMicros());
  }

  private BrokerLoad.Speed lifecycle(Durability durability, BrokerLoad.Shape shape)
      throws InterruptedException {
    try (BrokerRig rig = rig(durability)) {
      return new BrokerLoad(rig, BrokerLoad.messages(1, shape.batch()), shape)
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
    record("lifecycle_10_keys", backlogged(10));
    record("lifecycle_10k_keys", backlogged(10_000));
    record("lifecycle_100k_keys", backlogged(KEYS_BACKLOG));
    try (BrokerRig rig = rig(Durability.OS)) {
      BrokerLoad load = throttled(rig);
      warmUp(load);
      record("lifecycle_throttled", load.lifecycle(effort.warmUp(), effort.measured()));
    }
  }

  /** Lifecycles beside a backlog that all keys share. */
  private BrokerLoad.Speed backlogged(int keys) throws InterruptedException {
    try (BrokerRig rig = rig(Durability.OS)) {
      BrokerLoad load = load(rig, keys);
      load.fill(KEYS_BACKLOG);
      BrokerLoad.Speed speed = load.lifecycle(effort.warmUp(), effort.measured());
      load.purge();
      return speed;
    }
  }

  private static BrokerLoad throttled(BrokerRig rig) throws Exception {
    rig.setThrottles(THROTTLES, 1e6, 1e6);
    return new BrokerLoad(
        rig, BrokerRig.batches(THROTTLES, BATCHES.batch(), BrokerSuite::throttled), BATCHES);
  }

  private static Message throttled(int i) {
    return BrokerRig.message(i)
        .withFairnessKey(BrokerRig.key(i))
        .withThrottleKeys(BrokerRig.throttle(i), BrokerRig.throttle((i + 7) % THROTTLES));
  }

  private void hook() throws InterruptedException {
    HookCost.Cost cost = HookCost.measure(scratch.next());
    rounds.record("hook_us", cost.cpuMicros());
    rounds.record("hook_timer_us", cost.timerMicros());
  }

  // ---- what takes long to set up

  /**
   * One broker for all rounds, as it takes long to fill; the shallow one first and alone, for a
   * deep one compacts its files in the background.
   */
  private void depth() throws InterruptedException {
    for (int pending : new int[] {SHALLOW, effort.deep()}) {
      try (BrokerRig rig = rig(Durability.OS)) {
        BrokerLoad load = load(rig, 1);
        load.fill(pending);
        warmUp(load);
        for (int round = 0; round < effort.rounds(); round++) {
          record(pending(pending), load.lifecycle(effort.warmUp(), effort.measured()));
        }
        load.purge();
      }
    }
  }

  private void once() throws Exception {
    Path folder = scratch.next();
    String pending = String.valueOf(effort.pending());
    double[] bytes = HeapProbe.figures(BrokerBytes.class, folder.toString(), pending);
    rounds.record("heap_b_per_msg", bytes[0]);
    rounds.record("heap_fixed_mb", bytes[1]);
    for (int round = 0; round < effort.rounds(); round++) {
      rounds.record(
          recovery(), HeapProbe.measure(BrokerRecovery.class, folder.toString(), pending));
    }
    Scratch.delete(folder);
    rounds.record("idle_cpu_percent_100k", IdleCost.percent(scratch.next(), effort.idle()));
    double delivered = RateAccuracy.percent(scratch.next(), 50, effort.rate());
    rounds.record("rate_error_percent", Math.abs(delivered - 100));
    rounds.record("rate_burst1_percent", RateAccuracy.percent(scratch.next(), 1, effort.rate()));
  }

  private static String pending(int messages) {
    return "lifecycle_" + scale(messages) + "_pending";
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
        "medians of %d round(s) of %d ms each, %d cores, %s",
        effort.rounds(),
        effort.measured().toMillis(),
        Runtime.getRuntime().availableProcessors(),
        scratch.fileSystem());
    if (scratch.isInMemory()) {
      report.line("WARNING: the temporary folder is in memory; use -Djava.io.tmpdir");
    }
    report.line("CPU time is that of the whole process, this load included");
    report.line("");
  }

  private void table() {
    row("disk_limit_per_s", "appended to a file, synced in groups of %,d", diskGroup);
    report.line("%-32s %14s %10s", "", "a second", "CPU us");
    speed("lifecycle_fsync", "enqueued, delivered, acknowledged; fsync=always, 1 key");
    speed("lifecycle_single_fsync", "the same, one message a call of the producer");
    speed("lifecycle_os", "fsync=os, 1 key");
    speed("enqueue_fsync", "no consumer");
    speed("deliver_ack_fsync", "no producer");
    speed("enqueue_os", "no consumer");
    speed("lifecycle_10_keys", "fsync=os, beside a backlog of %,d", KEYS_BACKLOG);
    speed("lifecycle_10k_keys", "the same backlog in 10,000 keys");
    speed("lifecycle_100k_keys", "the same backlog in 100,000 keys");
    speed("lifecycle_throttled", "fsync=os, 2 of %,d throttle keys, none short", THROTTLES);
    speed(pending(SHALLOW), "fsync=os, 1 key, beside a backlog of %,d", SHALLOW);
    speed(pending(effort.deep()), "the same beside a backlog of %,d", effort.deep());
    report.line("");
    row("p50_ms", "due to delivered at half of lifecycle_fsync_per_s, sent each ms");
    row("p99_ms", "the same");
    row("p50_os_ms", "the same at half of lifecycle_os_per_s");
    row("p99_os_ms", "the same");
    row("hook_us", "on_enqueue: CPU time of caller and script, less that without");
    row("hook_timer_us", "the same by the broker's own timer");
    row("heap_b_per_msg", "each of %,d pending, after collection", effort.pending());
    row("heap_fixed_mb", "beside that, however many are pending");
    row(recovery(), "open after a crash, %,d pending, cold JVM", effort.pending());
    row(
        "idle_cpu_percent_100k",
        "of one core, %,d keys wait for %,d rates",
        IdleCost.KEYS,
        IdleCost.RATES);
    row("rate_error_percent", "1,000/s, burst 50, over %d s", effort.rate().toSeconds());
    row("rate_burst1_percent", "of 1,000/s with burst 1, over %d s", effort.rate().toSeconds());
    report.line("");
    cost("keys_cost", "lifecycle_10_keys", "lifecycle_100k_keys");
    cost("depth_cost", pending(SHALLOW), pending(effort.deep()));
    rounds.ratio(report, "lifecycle_of_disk", "lifecycle_fsync_per_s", "disk_limit_per_s");
  }

  /** By speed, and by CPU time. */
  private void cost(String name, String cheap, String dear) {
    rounds.ratio(report, name, cheap + PER_SECOND, dear + PER_SECOND);
    rounds.ratio(report, name.replace("_cost", "_cpu_cost"), dear + CPU, cheap + CPU);
  }

  private void speed(String name, String note, Object... arguments) {
    double perSecond = rounds.median(name + PER_SECOND);
    double cpu = rounds.median(name + CPU);
    report.line(
        "%-32s %,14.0f %10.1f   %s",
        name + PER_SECOND, perSecond, cpu, String.format(Locale.ROOT, note, arguments));
    report.value(name + PER_SECOND, perSecond);
    report.value(name + CPU, cpu);
  }

  private void row(String name, String note, Object... arguments) {
    double value = rounds.median(name);
    String figure = String.format(Locale.ROOT, value < 1_000 ? "%.3f" : "%,.0f", value);
    report.line("%-32s %14s   %s", name, figure, String.format(Locale.ROOT, note, arguments));
    report.value(name, value);
  }
}
