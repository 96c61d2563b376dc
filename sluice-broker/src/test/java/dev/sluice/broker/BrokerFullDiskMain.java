package dev.sluice.broker;

import dev.sluice.broker.BrokerException.Code;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Fills a small file system by a broker, makes room, and prints what happened. Arguments: the file
 * system, the reserve of the broker in bytes, how many messages are enqueued at once (0: another
 * process fills the disk), and milliseconds between.
 */
final class BrokerFullDiskMain {
  private static final int MESSAGE_BYTES = 50_000;

  /** To open a store takes as much room as its log has bytes: they go to a table file. */
  private static final int BALLAST_BYTES = 40 << 20;

  /** More than the broker takes to give back what it can. */
  private static final long RECLAIMED_MILLIS = 2_500;

  /** 200 MB. */
  private static final int CHURNED = 4_000;

  private static final QueueConfig QUEUE =
      QueueConfig.builder().leaseTimeout(Duration.ofSeconds(1)).build();

  private final Path dir;
  private final Path ballast;
  private final BrokerConfig config;
  private final int atOnce;
  private final long pauseNanos;
  private final Set<UUID> confirmed = new HashSet<>();
  private int doubtful;

  private BrokerFullDiskMain(Path fileSystem, long reserve, int atOnce, long pauseMillis)
      throws Exception {
    this.dir = fileSystem.resolve("broker");
    this.ballast = Files.write(fileSystem.resolve("ballast"), new byte[BALLAST_BYTES]);
    this.config = BrokerConfig.builder().diskReserveBytes(reserve).build();
    this.atOnce = atOnce;
    this.pauseNanos = TimeUnit.MILLISECONDS.toNanos(pauseMillis);
  }

  public static void main(String[] arguments) throws Exception {
    long reserve = Long.parseLong(arguments[1]);
    BrokerFullDiskMain main =
        new BrokerFullDiskMain(
            Path.of(arguments[0]),
            reserve,
            Integer.parseInt(arguments[2]),
            Long.parseLong(arguments[3]));
    if (main.atOnce == 0) {
      main.shareWithAnotherProcess();
    } else if (main.atOnce == 1) {
      Files.delete(main.ballast);
      main.churn();
    } else if (reserve > 0) {
      main.meetReserve();
    } else {
      main.meetEnd();
      main.openWhileFull();
      Files.delete(main.ballast);
      main.openWithRoom();
    }
    // A thread that hangs must not keep the process.
    System.exit(0);
  }

  /** Near the end of the disk messages are refused and can be settled, until there is room. */
  private void meetReserve() throws Exception {
    try (Broker broker = Broker.open(dir, config)) {
      broker.createQueue("q", QUEUE);
      print("enqueue: " + told(fill(broker)));
      print("enqueue again: " + told(fillUp(broker)));
      print("acked half: " + acked(broker, confirmed.size() / 2));
      print("redrive: " + broker.redrive("q.dlq", 0, false));
      Files.delete(ballast);
      long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
      Throwable refusal = enqueue(broker);
      while (refusal != null && System.nanoTime() < deadline) {
        refusal = enqueue(broker);
      }
      print("enqueue with room: " + told(refusal));
    }
    openWithRoom();
  }

  /** Messages that come and go, many times what the disk holds: room comes back by itself. */
  private void churn() throws Exception {
    int refusals = 0;
    try (Broker broker = Broker.open(dir, config)) {
      broker.createQueue("q", QUEUE);
      for (int i = 0; i < CHURNED; i++) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        Throwable refusal = enqueue(broker);
        while (refusal != null && System.nanoTime() < deadline) {
          refusals++;
          LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(50));
          refusal = enqueue(broker);
        }
        if (refusal != null) {
          print("churned: " + i + " " + told(refusal));
          return;
        }
        acked(broker, 1);
      }
      print("churned: done");
      print("refused on the way: " + (refusals > 0));
    }
  }

  /** Fills the disk: the broker stops, and every waiting call fails. */
  private void meetEnd() throws Exception {
    Broker broker = Broker.open(dir, config);
    broker.createQueue("q", QUEUE);
    MessageConsumer idle = broker.consume("q.dlq", 1);
    CompletableFuture<Void> waiting =
        CompletableFuture.runAsync(() -> poll(idle), task -> new Thread(task).start());
    enqueue(broker);
    MessageConsumer busy = broker.consume("q", 1);
    List<Delivery> taken = busy.poll(1, Duration.ofSeconds(20));
    print("enqueue: " + told(fill(broker)));
    print("enqueue again: " + told(enqueue(broker)));
    print("ack: " + told(failure(taken.get(0).ack())));
    print("nack: " + told(failure(taken.get(0).nack("n"))));
    print("extend: " + told(failure(taken.get(0).extend(Duration.ofSeconds(1)))));
    print("stats: " + told(failure(() -> broker.stats("q"))));
    print("create: " + told(failure(() -> broker.createQueue("r"))));
    print("consume: " + told(failure(() -> broker.consume("q", 1))));
    print("waiting consumer: " + told(failure(waiting)));
    print("close: " + told(failure(broker::close)));
    print("waiting consumer then: " + told(failure(waiting)));
  }

  /**
   * Another process takes the last byte, twice: the broker waits for space and then continues by
   * itself. Confirmed messages are stored, and acknowledged ones are removed.
   */
  private void shareWithAnotherProcess() throws Exception {
    Files.delete(ballast);
    Path taken = dir.resolveSibling("taken");
    try (Broker broker = Broker.open(dir, config)) {
      broker.createQueue("q", QUEUE);
      for (int round = 1; round <= 2; round++) {
        for (int i = 0; i < 100; i++) {
          enqueue(broker);
        }
        MessageConsumer waiting = broker.consume("q.dlq", 1);
        takeAll(taken);
        print("settle " + round + ": " + told(settleUntilRefused(broker)));
        print("status " + round + ": " + broker.view().status());
        print("enqueue " + round + ": " + told(enqueue(broker)));
        print("consume " + round + ": " + told(failure(() -> broker.consume("q", 1))));
        print("waiting " + round + ": " + told(failure(() -> poll(waiting))));
        Files.delete(taken);
        long from = System.nanoTime();
        while (broker.view().status() == BrokerStatus.WAITING_FOR_SPACE) {
          LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(20));
        }
        System.err.println("back after ms: " + (System.nanoTime() - from) / 1_000_000);
        print("status then " + round + ": " + broker.view().status());
      }
      print("again: " + told(enqueue(broker)));
      print("stopped: " + broker.view().failure().isDone());
      int left = confirmed.size();
      print("lost: " + (left - acked(broker, left)));
      print("left: " + (broker.stats("q").depth() > doubtful));
    }
  }

  /** Fills the disk with {@code file}, in a process of its own. */
  private static void takeAll(Path file) throws Exception {
    Process taker =
        new ProcessBuilder("dd", "if=/dev/zero", "of=" + file, "bs=4k")
            .redirectErrorStream(true)
            .start();
    String said = new String(taker.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    if (taker.waitFor() == 0 || !said.contains("No space left on device")) {
      throw new IllegalStateException("the disk was not filled: " + said);
    }
  }

  /** Receives and acks; returns why that was refused. Acks without an answer count as doubtful. */
  private Throwable settleUntilRefused(Broker broker) throws Exception {
    UUID underWay = null;
    try (MessageConsumer consumer = broker.consume("q", 1)) {
      while (true) {
        List<Delivery> taken = consumer.poll(1, Duration.ofSeconds(20));
        underWay = taken.get(0).id();
        Throwable refusal = failure(taken.get(0).ack());
        if (refusal != null) {
          doubtful += confirmed.remove(underWay) ? 1 : 0;
          return refusal;
        }
        confirmed.remove(underWay);
      }
    } catch (BrokerException refused) {
      return refused;
    }
  }

  private static void poll(MessageConsumer consumer) {
    try {
      consumer.take();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private void openWhileFull() {
    try (Broker broker = Broker.open(dir, config)) {
      print("open while full: lost=" + (broker.stats("q").depth() < confirmed.size()));
    } catch (BrokerException e) {
      print("open while full: " + e.code());
    }
  }

  /** All that was confirmed, and not acknowledged, is there. */
  private void openWithRoom() throws Exception {
    try (Broker broker = Broker.open(dir, config)) {
      long depth = broker.stats("q").depth();
      print("with room: confirmed=" + confirmed.size());
      print("too many: " + Math.max(0, depth - confirmed.size() - doubtful));
      int left = confirmed.size();
      print("lost: " + (left - acked(broker, left)));
      print("enqueue at last: " + told(enqueue(broker)));
    }
  }

  /** Acknowledges up to {@code count} of the confirmed messages; returns how many there were. */
  private int acked(Broker broker, int count) throws Exception {
    int acked = 0;
    try (MessageConsumer consumer = broker.consume("q", 1)) {
      while (acked < count) {
        List<Delivery> taken = consumer.poll(1, Duration.ofSeconds(5));
        if (taken.isEmpty()) {
          return acked;
        }
        taken.get(0).ack().get(20, TimeUnit.SECONDS);
        acked += confirmed.remove(taken.get(0).id()) ? 1 : 0;
      }
    }
    return acked;
  }

  /** Enqueues until it is refused; returns why. */
  private Throwable fill(Broker broker) {
    while (true) {
      List<CompletableFuture<UUID>> calls = new ArrayList<>();
      for (int i = 0; i < atOnce; i++) {
        calls.add(broker.enqueue("q", Message.of(payload())));
      }
      Throwable refusal = null;
      for (CompletableFuture<UUID> call : calls) {
        Throwable failure = failure(call);
        if (failure == null) {
          confirmed.add(call.join());
        } else {
          doubtful += codeOf(failure) == Code.WAITING_FOR_SPACE ? 1 : 0;
          refusal = refusal == null ? failure : refusal;
        }
      }
      if (refusal != null) {
        return refusal;
      }
      LockSupport.parkNanos(pauseNanos);
    }
  }

  /** Fills it until there is nothing left that the broker can give back by itself; returns why. */
  private Throwable fillUp(Broker broker) throws InterruptedException {
    while (true) {
      Thread.sleep(RECLAIMED_MILLIS);
      Throwable refusal = enqueue(broker);
      if (refusal != null) {
        return refusal;
      }
      fill(broker);
    }
  }

  private @Nullable Throwable enqueue(Broker broker) {
    CompletableFuture<UUID> call = broker.enqueue("q", Message.of(payload()));
    Throwable failure = failure(call);
    if (failure == null) {
      confirmed.add(call.join());
    }
    return failure;
  }

  private static byte[] payload() {
    byte[] payload = new byte[MESSAGE_BYTES];
    new Random(1).nextBytes(payload);
    return payload;
  }

  /** Why {@code call} failed; null if it did not. */
  private static @Nullable Throwable failure(CompletableFuture<?> call) {
    return failure(
        () -> {
          try {
            call.get(10, TimeUnit.SECONDS);
          } catch (Exception e) {
            throw new CompletionException(e instanceof ExecutionException ? e.getCause() : e);
          }
        });
  }

  private static @Nullable Throwable failure(Runnable call) {
    try {
      call.run();
      return null;
    } catch (RuntimeException e) {
      return e;
    }
  }

  private static @Nullable Code codeOf(Throwable failure) {
    return KillConsumer.codeOf(failure);
  }

  private static String told(@Nullable Throwable failure) {
    if (failure == null) {
      return "done";
    }
    Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
    Code code = codeOf(failure);
    return code == null ? String.valueOf(cause) : code + ": " + cause.getMessage();
  }

  private static void print(String line) {
    System.out.println(line);
  }
}
