package dev.sluice.broker;

import dev.sluice.broker.BrokerException.Code;
import dev.sluice.broker.internal.runtime.BrokerLifecycle;
import dev.sluice.broker.internal.runtime.LocalBroker;
import dev.sluice.broker.internal.store.Store;
import dev.sluice.broker.internal.store.rocks.RocksStore;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;

/**
 * A broker under load until it is killed. Arguments: directory, ledger, number of this process, and
 * what it is: {@code kill} for the ordinary broker, {@code power} for one that writes down how far
 * it has synced, {@code nosync} for one that does so too but never syncs.
 */
final class KillMain {
  private static final int PRODUCERS = 3;
  private static final int UNCONFIRMED = 16;

  private final Broker broker;
  private final KillLog log;
  private final int cycle;

  private KillMain(Broker broker, KillLog log, int cycle) {
    this.broker = broker;
    this.log = log;
    this.cycle = cycle;
  }

  public static void main(String[] arguments) throws Exception {
    Path ledger = Path.of(arguments[1]);
    int cycle = Integer.parseInt(arguments[2]);
    String kind = arguments[3];
    KillHistory before = KillHistory.read(ledger);
    KillLog log = new KillLog(ledger);
    log.add("open");
    try {
      KillMain main = new KillMain(open(Path.of(arguments[0]), kind, log), log, cycle);
      KillLoad.prepare(main.broker, !kind.equals("kill"));
      System.out.println("ready");
      main.comeBack(before);
      main.work();
    } catch (RuntimeException e) {
      log.broken("process", e);
      throw e;
    }
  }

  static Broker open(Path dir, String kind, KillLog log) throws ReflectiveOperationException {
    LoggedStore.Syncs syncs =
        switch (kind) {
          case "power" -> LoggedStore.Syncs.LOGGED;
          case "nosync" -> LoggedStore.Syncs.NEVER;
          default -> LoggedStore.Syncs.SILENTLY;
        };
    return over(new LoggedStore(RocksStore.open(dir), log, syncs));
  }

  /** A broker on any store. */
  static Broker over(Store store) {
    return new LocalBroker(BrokerLifecycle.open(() -> store, BrokerConfig.defaults()));
  }

  /** Clients of the last process: some still have leases, others do not know what was enqueued. */
  private void comeBack(KillHistory before) {
    Random random = new Random(cycle);
    for (KillHistory.Lease lease : before.unsettledAtEnd()) {
      if (random.nextInt(3) == 0) {
        KillConsumer.ackAgain(broker, log, lease);
      }
    }
    Semaphore open = new Semaphore(1_000_000);
    before.unconfirmedAtEnd().forEach(number -> send(number, "again", open, new AtomicBoolean()));
  }

  private void work() throws IOException {
    boolean churns = cycle % 2 == 0;
    for (int i = 0; i < PRODUCERS; i++) {
      int producer = i;
      start(() -> produce(producer, PRODUCERS, 2));
    }
    start(() -> produce(KillLoad.NUMBERS / 2, 1, 50));
    long seed = cycle * 100L;
    start(new KillConsumer(broker, log, "a", seed + 1, false));
    start(new KillConsumer(broker, log, "a", seed + 2, false));
    start(new KillConsumer(broker, log, "b", seed + 3, false));
    start(new KillConsumer(broker, log, "b", seed + 4, churns));
    start(new KillConsumer(broker, log, KillLoad.SLOW, seed + 7, false));
    start(new KillConsumer(broker, log, "a.dlq", seed + 5, false));
    start(new KillConsumer(broker, log, "b.dlq", seed + 6, false));
    start(this::redrive);
  }

  private static void start(Runnable work) {
    new Thread(work).start();
  }

  /** Sends without end; when a queue is full, consumers get some time. */
  private void produce(long producer, long step, long pauseMillis) {
    Semaphore open = new Semaphore(UNCONFIRMED);
    AtomicBoolean full = new AtomicBoolean();
    for (long number = cycle * KillLoad.NUMBERS + producer; ; number += step) {
      open.acquireUninterruptibly();
      send(number, String.valueOf(producer), open, full);
      if (full.getAndSet(false)) {
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(pauseMillis));
      }
    }
  }

  private void send(long number, String producer, Semaphore open, AtomicBoolean full) {
    String queue = KillLoad.queueOf(number);
    log.add("send", number, queue, producer);
    var unused =
        broker
            .enqueue(queue, KillLoad.message(number))
            .whenComplete(
                (id, failure) -> {
                  if (failure == null) {
                    log.add("sent", number, id);
                  } else if (KillConsumer.codeOf(failure) == Code.QUEUE_FULL) {
                    log.add("refused", number);
                    full.set(true);
                  } else if (!KillConsumer.isStopped(failure)) {
                    log.broken("enqueue", failure);
                  }
                  open.release();
                });
  }

  private void redrive() {
    Random random = new Random(cycle);
    List<String> queues = List.of("a.dlq", "b.dlq");
    while (true) {
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(random.nextInt(20, 200)));
      try {
        broker.redrive(queues.get(random.nextInt(2)), random.nextInt(1, 5), random.nextBoolean());
      } catch (BrokerException e) {
        if (e.code() != Code.QUEUE_FULL) {
          log.broken("redrive", e);
        }
      }
    }
  }
}
