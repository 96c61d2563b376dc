package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.broker.internal.engine.Schema;
import dev.sluice.broker.internal.store.Store;
import dev.sluice.broker.internal.store.StoreTable;
import dev.sluice.broker.internal.store.rocks.RocksStore;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** Starts brokers in processes of their own, kills them, and looks at what is left. */
final class KillDriver {
  final Path ledger;
  final Random random;
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  private int cycles;

  KillDriver(Path ledger, long seed) {
    this.ledger = ledger;
    this.random = new Random(seed);
  }

  int cycles() {
    return cycles;
  }

  /** Runs a broker under load for a while, in which it may not even get to its feet. */
  void cycle(Path dir, String kind, int maxMillis) throws IOException, InterruptedException {
    cycle(dir, kind, () -> Thread.sleep(random.nextInt(maxMillis)));
  }

  /** Runs a broker under load until it has confirmed messages that no consumer has acknowledged. */
  void cycleUntilConfirmed(Path dir, String kind) throws IOException, InterruptedException {
    int run = KillHistory.read(ledger).run + 1;
    cycle(
        dir,
        kind,
        () -> await().atMost(PATIENCE).until(() -> KillHistory.read(ledger).hasUntouched(run)));
  }

  /** Runs a broker under load until so many more messages are acknowledged and confirmed. */
  void cycleUntilSettled(Path dir, String kind, int more) throws IOException, InterruptedException {
    KillHistory before = KillHistory.read(ledger);
    long acked = acked(before) + more;
    long confirmed = confirmed(before) + more;
    Work work =
        () ->
            await()
                .atMost(PATIENCE)
                .until(
                    () -> {
                      KillHistory now = KillHistory.read(ledger);
                      return acked(now) >= acked && confirmed(now) >= confirmed;
                    });
    cycle(dir, kind, work);
  }

  private static long confirmed(KillHistory history) {
    return history.sent.values().stream().filter(sent -> sent.id != null).count();
  }

  private static long acked(KillHistory history) {
    return history.leases.values().stream()
        .filter(each -> each.ack == KillHistory.Ack.DONE)
        .count();
  }

  private interface Work {
    void await() throws InterruptedException;
  }

  private void cycle(Path dir, String kind, Work work) throws IOException, InterruptedException {
    Process child =
        ChildJvm.start(
            List.of(),
            KillMain.class,
            dir.toString(),
            ledger.toString(),
            String.valueOf(cycles++),
            kind);
    try {
      boolean whileItOpens = kind.equals("kill") && cycles > 1 && random.nextInt(5) == 0;
      if (!whileItOpens) {
        assertThat(child.inputReader().readLine()).isEqualTo("ready");
      }
      work.await();
      assertThat(child.isAlive()).as("the process has not ended by itself").isTrue();
    } finally {
      child.destroyForcibly().waitFor();
    }
  }

  /** Consumes everything, dead letters included; afterwards the queues are empty. */
  void drain(Path dir) throws Exception {
    try (KillLog log = new KillLog(ledger);
        Broker broker = Broker.open(dir)) {
      log.add("open");
      log.add("free");
      KillLoad.RATES.keySet().forEach(broker::removeLimit);
      List<Thread> consumers = new ArrayList<>();
      List<String> queues = List.copyOf(broker.queues().keySet());
      for (String queue : queues) {
        Thread consumer = new Thread(KillConsumer.drain(broker, log, queue));
        consumer.start();
        consumers.add(consumer);
      }
      await()
          .atMost(Duration.ofSeconds(60))
          .pollInterval(Duration.ofMillis(20))
          .untilAsserted(() -> queues.forEach(queue -> assertEmpty(broker.stats(queue))));
      for (Thread consumer : consumers) {
        consumer.interrupt();
        consumer.join();
      }
      // The last acks are counted before they are on the disk, where peek looks.
      await()
          .untilAsserted(
              () ->
                  queues.forEach(
                      queue ->
                          assertThat(
                                  broker.view().browse(queue, null, 10, BrokerView.PreviewSize.ALL))
                              .isEmpty()));
      log.add("drained");
    }
    assertThat(rows(dir)).as("rows of removed messages").isZero();
  }

  private static void assertEmpty(QueueStats stats) {
    assertThat(stats.depth() + stats.inFlight() + stats.delayed()).as("%s", stats).isZero();
  }

  private static int rows(Path dir) {
    int[] rows = {0};
    try (Store store = RocksStore.open(dir)) {
      for (StoreTable table : List.of(StoreTable.MESSAGE, StoreTable.STATE)) {
        store.scan(table, new byte[0], Schema.END, (key, value) -> ++rows[0] > 0);
      }
    }
    return rows[0];
  }

  List<String> violations(KillCheck.Fault fault) throws IOException {
    return KillCheck.violations(KillHistory.read(ledger), fault);
  }

  /** How much was done. */
  String summary() throws IOException {
    KillHistory history = KillHistory.read(ledger);
    return "%d kills, %d messages confirmed, %d deliveries, %d of moved messages, %d acks confirmed"
        .formatted(
            cycles, confirmed(history), history.leases.size(), moved(history), acked(history));
  }

  private static long moved(KillHistory history) {
    return history.leases.values().stream().filter(each -> !each.id.equals(each.place)).count();
  }
}
