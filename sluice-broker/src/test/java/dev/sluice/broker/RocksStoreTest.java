package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

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
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;

final class RocksStoreTest extends StoreContractTest {
  /** Compaction runs in the background and gets little of a busy machine. */
  private static final Duration SOON = Duration.ofMinutes(2);

  @TempDir private Path dir;

  @Override
  Store open() {
    return RocksStore.open(dir.resolve("store"));
  }

  @Override
  Store reopen(Store store) {
    store.close();
    return RocksStore.open(dir.resolve("store"));
  }

  @Test
  void open_createsItsDirectory_readableByItsOwnerOnly() throws IOException {
    Path nested = dir.resolve("a/b/c");
    RocksStore.open(nested).close();
    assertThat(nested.resolve("CURRENT")).exists();
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(nested)))
        .isEqualTo("rwx------");
  }

  @Test
  void open_ofAnOpenStore_isRefused() {
    assertThatThrownBy(this::open)
        .isInstanceOf(StoreException.class)
        .hasMessageContaining("already open; close it there, or use another directory: " + dir);
  }

  @Test
  void open_ofAFile_isRefused() throws IOException {
    Path file = Files.createFile(dir.resolve("file"));
    assertOpenFails(file, "cannot use the directory: " + file + ": it is not a directory");
    assertOpenFails(file.resolve("below"), "/below: it is not a directory");
  }

  @Test
  void open_ofAnUnwritableDirectory_isRefused() {
    assertOpenFails(Path.of("/proc/self/store"), "cannot use the directory");
  }

  @Test
  void open_ofADirectoryWithOtherThings_isRefused() throws IOException {
    Path other = Files.createDirectory(dir.resolve("other"));
    Files.writeString(other.resolve("letter.txt"), "hello");
    assertOpenFails(other, "must be empty or hold a store");
    assertThat(other.toFile().list()).containsExactly("letter.txt");
  }

  @Test
  void open_ofAnotherRocksDatabase_isRefused() throws Exception {
    String other = dir.resolve("foreign").toString();
    try (Options options = new Options().setCreateIfMissing(true);
        RocksDB db = RocksDB.open(options, other)) {
      db.createColumnFamily(new ColumnFamilyDescriptor(key("theirs"))).close();
    }
    assertOpenFails(Path.of(other), "Column families not opened");
  }

  @Test
  void open_afterAFailedOpen_works() throws IOException {
    Path other = Files.createDirectory(dir.resolve("other"));
    Path letter = Files.writeString(other.resolve("letter.txt"), "hello");
    assertOpenFails(other, "must be empty or hold a store");
    Files.delete(letter);
    RocksStore.open(other).close();
  }

  @Test
  void visitor_thatClosesTheStore_fails() {
    Store store = RocksStore.open(dir.resolve("visited"));
    RowBatch rows = new RowBatch();
    rows.put(StoreTable.STATE, key("k"), key("v"));
    store.write(rows);
    assertThatThrownBy(
            () ->
                store.scan(
                    StoreTable.STATE,
                    key("a"),
                    key("z"),
                    (key, value) -> {
                      store.close();
                      return true;
                    }))
        .isInstanceOf(IllegalStateException.class);
    assertThat(store.get(StoreTable.STATE, key("k"))).isEqualTo(key("v"));
    store.close();
  }

  @Test
  void close_underLoad_completesOrFailsEveryCall() throws Exception {
    for (int round = 0; round < 5; round++) {
      Store store = RocksStore.open(dir.resolve("loaded"));
      CountDownLatch started = new CountDownLatch(4);
      AtomicInteger refused = new AtomicInteger();
      List<Thread> threads = new ArrayList<>();
      for (Runnable call : calls(store)) {
        Thread thread =
            new Thread(
                () -> {
                  call.run();
                  started.countDown();
                  try {
                    while (true) {
                      call.run();
                    }
                  } catch (StoreException e) {
                    refused.incrementAndGet();
                  }
                });
        threads.add(thread);
        thread.start();
      }
      started.await();
      store.close();
      for (Thread thread : threads) {
        thread.join();
      }
      assertThat(refused).hasValue(4);
    }
  }

  @Test
  void sync_syncsTheLogOfRocksDb() {
    try (RocksStore store = RocksStore.open(dir.resolve("synced"))) {
      store.write(messages(0, 1));
      long before = store.logSyncs();
      store.sync();
      assertThat(store.logSyncs()).isEqualTo(before + 1);
    }
  }

  @Test
  void durable_isWhereTheLogEndedWhenTheSyncBegan() throws IOException {
    Path synced = dir.resolve("synced");
    try (RocksStore store = RocksStore.open(synced)) {
      store.write(messages(0, 1));
      assertThat(store.durable().bytes()).isZero();
      store.sync();
      long size = Files.size(StoreImage.newestLog(synced));
      store.write(messages(1, 2));
      assertThat(store.durable().bytes()).isEqualTo(size).isPositive();
    }
  }

  @Test
  void enqueuedAndAckedMessages_leaveFewTableFiles() throws IOException {
    Path passing = dir.resolve("passing");
    try (Store store = RocksStore.open(passing, new RocksSettings(1 << 20, true))) {
      for (int i = 0; i < 2000; i++) {
        store.write(messages(i, i + 1));
        store.write(deletions(i, i + 1));
      }
      assertThat(tableBytes(passing)).isLessThan(1 << 20);
    }
  }

  @Test
  void deletedMessages_freeTheirSpace_withoutFurtherWrites() {
    Path drained = dir.resolve("drained");
    try (Store store = RocksStore.open(drained, new RocksSettings(1 << 20, true))) {
      for (int i = 0; i < 1000; i += 100) {
        store.write(messages(i, i + 100));
      }
      await()
          .atMost(SOON)
          .untilAsserted(() -> assertThat(tableBytes(drained)).isGreaterThan(5 << 20));
      store.write(deletions(0, 900));
      await().atMost(SOON).untilAsserted(() -> assertThat(tableBytes(drained)).isLessThan(2 << 20));
      assertThat(store.get(StoreTable.MESSAGE, number(899))).isNull();
      assertThat(store.get(StoreTable.MESSAGE, number(900))).isNotNull();
    }
  }

  @Test
  void deletedMessages_doNotPileUp() {
    Path busy = dir.resolve("busy");
    try (Store store = RocksStore.open(busy, new RocksSettings(1 << 20, true))) {
      for (int i = 0; i < 20_000; i += 1_000) {
        store.write(messages(i, i + 1_000));
        store.write(deletions(i, i + 1_000));
      }
      // Twenty times a thousand messages went through; not even three times as much stays.
      await().atMost(SOON).untilAsserted(() -> assertThat(tableBytes(busy)).isLessThan(24 << 20));
      assertThat(store.get(StoreTable.MESSAGE, number(0))).isNull();
    }
  }

  private static long tableBytes(Path dir) throws IOException {
    long bytes = 0;
    for (Path file : StoreImage.files(dir, ".sst")) {
      bytes += file.toFile().length();
    }
    return bytes;
  }

  /** Messages of 10 kB that cannot be compressed. */
  private static RowBatch messages(int from, int to) {
    RowBatch rows = new RowBatch();
    for (int i = from; i < to; i++) {
      byte[] message = new byte[10_000];
      new Random(i).nextBytes(message);
      rows.put(StoreTable.MESSAGE, number(i), message);
    }
    return rows;
  }

  private static RowBatch deletions(int from, int to) {
    RowBatch rows = new RowBatch();
    for (int i = from; i < to; i++) {
      rows.delete(StoreTable.MESSAGE, number(i));
    }
    return rows;
  }

  private static byte[] number(int number) {
    return ByteBuffer.allocate(Integer.BYTES).putInt(number).array();
  }

  private static List<Runnable> calls(Store store) {
    RowBatch rows = new RowBatch();
    for (int i = 0; i < 100; i++) {
      rows.put(StoreTable.STATE, key("k" + i), new byte[100]);
    }
    return List.of(
        () -> store.write(rows),
        store::sync,
        () -> store.scan(StoreTable.STATE, key("a"), key("z"), (key, value) -> true),
        () -> store.getAll(StoreTable.STATE, List.of(key("k1"), key("k2"))));
  }

  private static void assertOpenFails(Path dir, String message) {
    assertThatThrownBy(() -> RocksStore.open(dir))
        .isInstanceOf(StoreException.class)
        .hasMessageContaining("open: ")
        .hasMessageContaining(message)
        .hasMessageContaining(dir.toString());
  }
}
