package dev.sluice.broker;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.broker.internal.store.RowBatch;
import dev.sluice.broker.internal.store.StoreTable;
import dev.sluice.broker.internal.store.rocks.RocksSettings;
import dev.sluice.broker.internal.store.rocks.RocksStore;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Random;

/**
 * Writes to a store on one thread and syncs on another until it is killed; what a sync has covered
 * is acknowledged in the ledger. Arguments: directory, ledger, first id, size of the buffer for
 * messages, and whether to sync at all.
 */
final class PowerLossMain {
  private final RocksStore store;
  private final PowerLoss.Ledger ledger;
  private final boolean syncs;
  private final Random random;
  private long nextId;
  private boolean announced;

  /** Ids whose storing was acknowledged; these may be deleted. */
  private final Deque<String> stored = new ArrayDeque<>();

  /** Changes written since the last sync began. */
  private List<String> written = new ArrayList<>();

  private PowerLossMain(RocksStore store, PowerLoss.Ledger ledger, boolean syncs, long firstId) {
    this.store = store;
    this.ledger = ledger;
    this.syncs = syncs;
    this.random = new Random(firstId);
    this.nextId = firstId;
  }

  public static void main(String[] arguments) throws IOException {
    RocksSettings settings = new RocksSettings(Long.parseLong(arguments[3]), true);
    PowerLossMain main =
        new PowerLossMain(
            RocksStore.open(Path.of(arguments[0]), settings),
            new PowerLoss.Ledger(Path.of(arguments[1])),
            Boolean.parseBoolean(arguments[4]),
            Long.parseLong(arguments[2]));
    Thread syncer = new Thread(main::syncForEver);
    syncer.setDaemon(true);
    syncer.start();
    while (syncer.isAlive()) {
      main.writeBatch();
    }
  }

  private void writeBatch() throws IOException {
    RowBatch rows = new RowBatch();
    List<String> changes = new ArrayList<>();
    for (int i = random.nextInt(1, 20); i > 0; i--) {
      String id = String.valueOf(nextId++);
      rows.put(StoreTable.MESSAGE, id.getBytes(UTF_8), new byte[random.nextInt(2000)]);
      changes.add("+" + id);
    }
    List<String> deletions = new ArrayList<>();
    synchronized (this) {
      for (int i = random.nextInt(20); i > 0 && !stored.isEmpty(); i--) {
        String id = stored.remove();
        rows.delete(StoreTable.MESSAGE, id.getBytes(UTF_8));
        deletions.add("-" + id);
      }
    }
    if (!deletions.isEmpty()) {
      ledger.attempt(deletions);
    }
    store.write(rows);
    changes.addAll(deletions);
    synchronized (this) {
      written.addAll(changes);
    }
  }

  private void syncForEver() {
    try {
      while (true) {
        List<String> covered;
        synchronized (this) {
          covered = written;
          written = new ArrayList<>();
        }
        if (covered.isEmpty()) {
          Thread.onSpinWait();
          continue;
        }
        if (syncs) {
          store.sync();
        }
        ledger.acknowledge(store.durable(), covered);
        announce();
        synchronized (this) {
          covered.stream().filter(change -> change.startsWith("+")).forEach(this::addStored);
        }
      }
    } catch (IOException e) {
      throw new IllegalStateException("the ledger cannot be written", e);
    }
  }

  /** Announces the start once, because the parent reads one line. */
  private void announce() {
    if (!announced) {
      System.out.println("acknowledged");
      announced = true;
    }
  }

  private void addStored(String change) {
    stored.add(change.substring(1));
  }
}
