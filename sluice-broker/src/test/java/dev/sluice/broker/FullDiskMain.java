package dev.sluice.broker;

import dev.sluice.broker.internal.store.RowBatch;
import dev.sluice.broker.internal.store.Store;
import dev.sluice.broker.internal.store.StoreException;
import dev.sluice.broker.internal.store.StoreTable;
import dev.sluice.broker.internal.store.rocks.RocksSettings;
import dev.sluice.broker.internal.store.rocks.RocksStore;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;

/**
 * Fills a small file system by a store until it fails, then makes room and opens the store again;
 * prints what happened. Arguments: the file system, the size of the buffer for messages.
 */
final class FullDiskMain {
  private static final int BATCH_BYTES = 200_000;

  /** To open a store takes as much room as its log has bytes: they go to a table file. */
  private static final int BALLAST_BYTES = 40 << 20;

  private final Path dir;
  private final RocksSettings settings;
  private int synced;

  private FullDiskMain(Path dir, RocksSettings settings) {
    this.dir = dir;
    this.settings = settings;
  }

  public static void main(String[] arguments) throws IOException {
    Path fileSystem = Path.of(arguments[0]);
    Path ballast = Files.write(fileSystem.resolve("ballast"), new byte[BALLAST_BYTES]);
    RocksSettings settings = new RocksSettings(Long.parseLong(arguments[1]), true);
    FullDiskMain main = new FullDiskMain(fileSystem.resolve("store"), settings);
    main.fill();
    main.openWhileFull();
    Files.delete(ballast);
    main.openWithRoom();
  }

  private void fill() {
    try (RocksStore store = RocksStore.open(dir, settings)) {
      long before = store.freeBytes();
      try {
        while (true) {
          store.write(batch(synced));
          store.sync();
          synced++;
        }
      } catch (StoreException e) {
        print("full: " + e.getMessage());
      }
      print("freeBytes: " + (before - store.freeBytes() > 10 << 20 ? "fell" : "stayed"));
      print("rows read: " + (count(store) >= synced));
      try {
        store.sync();
        print("sync: went on");
      } catch (StoreException e) {
        print("sync: refused");
      }
    }
  }

  private void openWhileFull() {
    try (Store store = RocksStore.open(dir, settings)) {
      print("open while full: rows lost=" + (count(store) < synced));
    } catch (StoreException e) {
      print("open while full: refused");
    }
  }

  private void openWithRoom() {
    try (Store store = RocksStore.open(dir, settings)) {
      int count = count(store);
      print("open with room: synced=" + synced + " rows lost=" + (count < synced));
      store.write(batch(count));
      store.sync();
      print("write with room: " + (count(store) == count + 1));
    }
  }

  /** Counts messages from 0 on, up to the first that is missing or other than it was put. */
  private static int count(Store store) {
    int[] count = {0};
    store.scan(
        StoreTable.MESSAGE,
        key(0),
        key(Integer.MAX_VALUE),
        (key, value) -> {
          boolean right =
              ByteBuffer.wrap(key).getInt() == count[0]
                  && ByteBuffer.wrap(value).equals(ByteBuffer.wrap(value(count[0])));
          count[0] += right ? 1 : 0;
          return right;
        });
    return count[0];
  }

  private static RowBatch batch(int number) {
    RowBatch rows = new RowBatch();
    rows.put(StoreTable.MESSAGE, key(number), value(number));
    rows.put(StoreTable.STATE, key(number), new byte[10]);
    return rows;
  }

  private static byte[] key(int number) {
    return ByteBuffer.allocate(Integer.BYTES).putInt(number).array();
  }

  private static byte[] value(int number) {
    byte[] value = new byte[BATCH_BYTES];
    new Random(number).nextBytes(value);
    return value;
  }

  private static void print(String line) {
    System.out.println(line);
  }
}
