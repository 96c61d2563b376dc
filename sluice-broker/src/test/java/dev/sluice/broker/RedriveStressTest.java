package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Messages move back and forth while several operators redrive, browse and restart the broker. */
@Timeout(120)
final class RedriveStressTest {
  private static final int MESSAGES = 400;
  private static final int ROUNDS = 3;

  @TempDir private Path dir;
  private final Set<UUID> acked = ConcurrentHashMap.newKeySet();
  private final AtomicLong moves = new AtomicLong();

  @Test
  void message_isInOnePlace_underOneId_andAcknowledgedOnce() throws Exception {
    Set<UUID> sent = new HashSet<>();
    try (Broker broker = Broker.open(dir)) {
      broker.createQueue("q", QueueConfig.builder().maxAttempts(1).build());
      for (int i = 0; i < MESSAGES; i++) {
        Message message = Message.of("m" + i).withFairnessKey("k" + i % 5);
        // Some begin as dead letters.
        sent.add(broker.enqueue(i % 10 == 0 ? "q.dlq" : "q", message).join());
      }
    }
    for (int round = 0; round < ROUNDS; round++) {
      try (Broker broker = Broker.open(dir)) {
        run(broker, round == ROUNDS - 1 ? 0 : MESSAGES / 4);
        Set<UUID> left = new HashSet<>(sent);
        left.removeAll(acked);
        assertThat(stored(broker)).containsExactlyInAnyOrderElementsOf(left);
      }
    }
    assertThat(acked).isEqualTo(sent);
    assertThat(moves.get()).isGreaterThan(MESSAGES);
  }

  private static List<UUID> stored(Broker broker) {
    List<UUID> all = new ArrayList<>(ids(broker, "q"));
    all.addAll(ids(broker, "q.dlq"));
    return all;
  }

  private static List<UUID> ids(Broker broker, String queue) {
    return broker.view().browse(queue, null, 1_000, BrokerView.PreviewSize.ALL).stream()
        .map(StoredMessage::id)
        .toList();
  }

  /** Runs until at most {@code least} messages are left. */
  private void run(Broker broker, int least) throws Exception {
    AtomicBoolean done = new AtomicBoolean();
    List<Callable<Void>> all =
        List.of(
            () -> consume(broker, least, done),
            () -> consume(broker, least, done),
            () -> redrive(broker, done),
            () -> redrive(broker, done),
            () -> browse(broker, done));
    ExecutorService threads = Executors.newFixedThreadPool(all.size());
    try {
      for (Future<Void> each : threads.invokeAll(all, 60, TimeUnit.SECONDS)) {
        each.get();
      }
    } finally {
      threads.shutdownNow();
    }
  }

  private Void consume(Broker broker, int least, AtomicBoolean done) throws Exception {
    SplittableRandom random = new SplittableRandom(least);
    try (MessageConsumer consumer = broker.consume("q", 10)) {
      while (!done.get()) {
        for (Delivery each : consumer.poll(10, Duration.ofMillis(20))) {
          if (random.nextInt(3) == 0) {
            each.ack().join();
            assertThat(acked.add(each.id())).as("acknowledged once: %s", each).isTrue();
          } else {
            each.nack("no").join();
          }
        }
        if (acked.size() >= MESSAGES - least) {
          done.set(true);
        }
      }
    } finally {
      done.set(true);
    }
    return null;
  }

  private Void redrive(Broker broker, AtomicBoolean done) {
    while (!done.get()) {
      moves.addAndGet(broker.redrive("q.dlq", 7, false));
    }
    return null;
  }

  private static Void browse(Broker broker, AtomicBoolean done) {
    while (!done.get()) {
      assertThat(ids(broker, "q")).doesNotHaveDuplicates();
      List<UUID> dead = ids(broker, "q.dlq");
      assertThat(dead).doesNotHaveDuplicates();
      if (!dead.isEmpty()) {
        UUID from = dead.get(dead.size() / 2);
        assertThat(broker.view().browse("q.dlq", from, 100, BrokerView.PreviewSize.ALL))
            .extracting(StoredMessage::id)
            .doesNotHaveDuplicates();
      }
    }
    return null;
  }
}
