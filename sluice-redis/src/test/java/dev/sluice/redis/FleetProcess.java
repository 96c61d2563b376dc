package dev.sluice.redis;

import dev.sluice.Limit;
import dev.sluice.testkit.Await;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

/**
 * A node of a fleet in a process of its own: takes tokens of one bucket as fast as it can, and
 * writes down when each was granted.
 */
final class FleetProcess {
  static final long CAPACITY = 100;
  static final long RATE = 1_000;
  static final Limit LIMIT = new Limit.Balanced(CAPACITY, RATE, Duration.ofSeconds(1));
  static final String READY = "ready";
  static final String DONE = "done";

  /** Processes that fight for few cores stall, which is not what is tested. */
  private static final Duration PATIENCE = Duration.ofSeconds(1);

  private static final int THREADS = 2;

  /** How tokens are taken, and how long a caller who was denied one waits. */
  enum Mode {
    EXACT(200_000),
    /** Long enough for the bucket to recover: near the limit there are no leases. */
    LEASED(80_000_000);

    private final long pauseNanos;

    Mode(long pauseNanos) {
      this.pauseNanos = pauseNanos;
    }
  }

  private FleetProcess() {}

  /** Arguments: where Redis is, for how many seconds, where to write, how tokens are taken. */
  public static void main(String[] args) throws IOException, InterruptedException {
    SharedLimits.Builder settings = SharedLimits.builder().url(args[0]).timeout(PATIENCE);
    BufferedReader orders =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    // Without grants of its own: what is asked here is whether those of Redis are too many.
    try (FleetNode node = new FleetNode(settings, LIMIT, OutageMode.CLOSED)) {
      Await.until("Redis", Duration.ofSeconds(30), () -> node.status().available());
      for (String mode : List.of(args).subList(3, args.length)) {
        System.out.println(READY);
        // When all are ready.
        orders.readLine();
        Queue<String> grants = run(node, Mode.valueOf(mode), Long.parseLong(args[1]));
        Files.write(Path.of(args[2] + mode), grants);
        System.out.println(DONE + " " + node.status());
      }
    }
  }

  private static Queue<String> run(FleetNode node, Mode mode, long seconds)
      throws InterruptedException {
    Supplier<FleetNode.Answer> calls = calls(node, mode);
    Queue<String> grants = new ConcurrentLinkedQueue<>();
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < THREADS; i++) {
      threads.add(new Thread(() -> take(calls, mode, end, grants)));
    }
    threads.forEach(Thread::start);
    for (Thread thread : threads) {
      thread.join();
    }
    return grants;
  }

  private static void take(
      Supplier<FleetNode.Answer> calls, Mode mode, long end, Queue<String> grants) {
    while (System.nanoTime() - end < 0) {
      FleetNode.Answer answer = calls.get();
      if (answer.granted()) {
        grants.add(answer.earliest() + " " + answer.latest());
      } else {
        LockSupport.parkNanos(mode.pauseNanos);
      }
    }
  }

  private static Supplier<FleetNode.Answer> calls(FleetNode node, Mode mode) {
    if (mode == Mode.EXACT) {
      return node::take;
    }
    SharedTokenBucket.Blocking bucket =
        node.limits()
            .bucket(
                "leased",
                LIMIT,
                SharedLimitOptions.defaults().withOutageMode(OutageMode.CLOSED).withTokenBlocks())
            .blocking();
    return () -> {
      long before = FleetNode.micros();
      boolean granted = bucket.tryAcquire();
      return new FleetNode.Answer(granted, FleetNode.Judge.SHARE, before, FleetNode.micros());
    };
  }
}
