package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.broker.internal.store.RowBatch;
import dev.sluice.broker.internal.store.Store;
import dev.sluice.broker.internal.store.StoreException;
import dev.sluice.broker.internal.store.StoreTable;
import dev.sluice.broker.internal.store.rocks.RocksSettings;
import dev.sluice.broker.internal.store.rocks.RocksStore;
import dev.sluice.broker.internal.store.rocks.SyncMarkerFile;
import dev.sluice.broker.internal.store.rocks.WalPosition;
import dev.sluice.broker.internal.store.rocks.WalVerifier;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Damage to files is reported, never skipped; a torn write that was not synced is no damage. */
@Tag("any-jdk")
final class RocksStoreCorruptionTest {
  private static final RocksSettings SMALL = new RocksSettings(64 << 10, true);
  private static final int HEADER_BYTES = 7;

  @TempDir private Path temp;

  @Test
  void everyBitOfALog_thatFlips_isReported() throws IOException {
    Path dir = closedStore(4);
    Path log = StoreImage.newestLog(dir);
    for (long bit = 0; bit < StoreImage.bits(log); bit++) {
      StoreImage.flip(log, bit);
      assertOpenFails(dir, "damaged");
      StoreImage.flip(log, bit);
    }
    assertHolds(dir, 4);
  }

  @Test
  void anyBitOfALongLog_thatFlips_isReported() throws IOException {
    Path dir = closedStore(1000);
    Path log = StoreImage.newestLog(dir);
    Random random = new Random(1);
    for (int i = 0; i < 300; i++) {
      long bit = random.nextLong(StoreImage.bits(log));
      StoreImage.flip(log, bit);
      assertOpenFails(dir, "damaged");
      StoreImage.flip(log, bit);
    }
    assertHolds(dir, 1000);
  }

  @Test
  void logWithoutAMark_isCheckedRecordByRecord() throws IOException {
    Path dir = closedStore(1000);
    Files.delete(dir.resolve(SyncMarkerFile.FILE));
    Path log = StoreImage.newestLog(dir);
    long middle = StoreImage.bits(log) / 2;
    for (long bit = middle; bit < middle + 800; bit++) {
      StoreImage.flip(log, bit);
      assertOpenFails(dir, "damaged");
      StoreImage.flip(log, bit);
    }
  }

  /** A gap that is known and written down: nothing tells this from a write that was cut short. */
  @Test
  void logWithoutAMark_whoseLastRecordLooksTorn_losesIt() throws IOException {
    Path dir = closedStore(1000);
    Path log = StoreImage.newestLog(dir);
    cut(log, Files.size(log) - 1);
    assertOpenFails(dir, "synced data is missing");
    Files.delete(dir.resolve(SyncMarkerFile.FILE));
    assertHolds(dir, 999);
  }

  @Test
  void zerosInALog_areReported() throws IOException {
    Path dir = closedStore(1000);
    Path log = StoreImage.newestLog(dir);
    byte[] whole = Files.readAllBytes(log);
    for (int from = 0; from + 512 <= whole.length; from += 512) {
      byte[] damaged = whole.clone();
      ByteBuffer.wrap(damaged, from, 512).put(new byte[512]);
      Files.write(log, damaged);
      assertOpenFails(dir, "damaged");
    }
  }

  @Test
  void missingNewestLog_isReported() throws IOException {
    Path dir = closedStore(10);
    Files.delete(StoreImage.newestLog(dir));
    assertOpenFails(dir, "the log that was synced last is missing");
  }

  @Test
  void missingOlderLog_isReported() throws IOException {
    Path dir = storeOfManyLogs("many");
    List<Path> logs = StoreImage.files(dir, ".log");
    assertThat(logs).hasSizeGreaterThan(3);
    for (int i = 0; i + 1 < logs.size(); i++) {
      Path damaged = StoreImage.copy(dir, temp.resolve("without" + i));
      Files.delete(damaged.resolve(logs.get(i).getFileName()));
      assertThatThrownBy(() -> RocksStore.open(damaged))
          .isInstanceOf(StoreException.class)
          .hasMessageMatching("(?s).*(Missing WAL|batches are missing).*");
    }
    assertHolds(dir, 500);
  }

  /** Logs that were not synced when they were closed are not tracked by RocksDB. */
  @Test
  void missingLogBetweenTwo_isReported_withoutTracking() throws IOException {
    Path dir = storeOfManyLogs("many");
    Files.delete(StoreImage.files(dir, ".log").get(1));
    assertThatThrownBy(() -> WalVerifier.check(dir, null))
        .isInstanceOf(StoreException.class)
        .hasMessageContaining("batches are missing");
  }

  @Test
  void olderLog_thatEndsEarly_isReported() throws IOException {
    Path dir = storeOfManyLogs("many");
    Path oldest = StoreImage.files(dir, ".log").get(0);
    long size = Files.size(oldest);
    cut(oldest, size - 1);
    assertOpenFails(dir, "a batch follows the torn end");
    Path other = storeOfManyLogs("other");
    cut(StoreImage.files(other, ".log").get(0), 0);
    assertThatThrownBy(() -> RocksStore.open(other)).isInstanceOf(StoreException.class);
  }

  @Test
  void tornEnd_thatWasNotSynced_losesOnlyThat() throws IOException {
    Path dir = temp.resolve("store");
    try (RocksStore store = RocksStore.open(dir)) {
      put(store, 0, 20);
      store.sync();
      WalPosition durable = store.durable();
      put(store, 20, 30);
      long size = Files.size(StoreImage.newestLog(dir));
      int previous = 20;
      for (long cut = durable.bytes(); cut <= size; cut += 47) {
        Path image = StoreImage.copy(dir, temp.resolve("cut" + cut));
        cut(StoreImage.newestLog(image), cut);
        try (Store torn = RocksStore.open(image)) {
          int count = count(torn);
          assertThat(count).isBetween(previous, 30);
          previous = count;
        }
      }
      assertThat(previous).isGreaterThan(28);
    }
  }

  @Test
  void zerosAfterTheEnd_areATornWrite() throws IOException {
    Path dir = closedStore(10);
    Path log = StoreImage.newestLog(dir);
    try (RandomAccessFile file = new RandomAccessFile(log.toFile(), "rw")) {
      file.setLength(file.length() + 100_000);
    }
    assertHolds(dir, 10);
  }

  @Test
  void tableFile_withAFlippedBit_isReportedAtOpen() throws IOException {
    Path dir = storeOfTables();
    Path table = StoreImage.files(dir, ".sst").get(0);
    Random random = new Random(2);
    for (int i = 0; i < 40; i++) {
      Path image = StoreImage.copy(dir, temp.resolve("image" + i));
      StoreImage.flip(image.resolve(table.getFileName()), random.nextLong(StoreImage.bits(table)));
      assertOpenFails(image, "open: ");
    }
  }

  @Test
  void tableFile_withAFlippedBit_isReportedAtReading_whenNotVerifiedAtOpen() throws IOException {
    Path dir = storeOfTables();
    StoreImage.flip(StoreImage.files(dir, ".sst").get(0), 8 * 100);
    try (Store store = RocksStore.open(dir, new RocksSettings(64 << 10, false))) {
      assertThatThrownBy(() -> count(store))
          .isInstanceOf(StoreException.class)
          .hasMessageContaining("scan: ");
      assertThatThrownBy(() -> store.get(StoreTable.MESSAGE, key(0)))
          .isInstanceOf(StoreException.class)
          .hasMessageContaining("get: ");
      assertThatThrownBy(() -> store.getAll(StoreTable.MESSAGE, List.of(key(0))))
          .isInstanceOf(StoreException.class)
          .hasMessageContaining("getAll: ");
    }
  }

  @Test
  void tableFile_thatIsMissingOrCut_isReported() throws IOException {
    Path dir = storeOfTables();
    Path missing = StoreImage.copy(dir, temp.resolve("missing"));
    Files.delete(StoreImage.files(missing, ".sst").get(0));
    assertOpenFails(missing, "open: ");
    Path shorter = StoreImage.copy(dir, temp.resolve("shorter"));
    Path table = StoreImage.files(shorter, ".sst").get(0);
    cut(table, Files.size(table) - 1);
    assertOpenFails(shorter, "open: ");
  }

  @Test
  void everyBitOfTheManifest_thatFlips_isReported() throws IOException {
    Path dir = closedStore(10);
    Path manifest = manifest(dir);
    for (long bit = 0; bit < StoreImage.bits(manifest); bit++) {
      StoreImage.flip(manifest, bit);
      assertOpenFails(dir, "damaged");
      StoreImage.flip(manifest, bit);
    }
    assertHolds(dir, 10);
  }

  @Test
  void manifest_thatIsMissingOrCut_isReported() throws IOException {
    Path dir = closedStore(10);
    Path manifest = manifest(dir);
    cut(manifest, Files.size(manifest) - 1);
    assertOpenFails(dir, "shorter than recorded");
    Files.delete(manifest);
    assertOpenFails(dir, "there is no manifest");
  }

  @Test
  void current_thatIsMissingOrDamaged_isReported() throws IOException {
    Path dir = closedStore(10);
    Path current = dir.resolve("CURRENT");
    for (long bit = 0; bit < StoreImage.bits(current); bit++) {
      StoreImage.flip(current, bit);
      assertOpenFails(dir, "damaged");
      StoreImage.flip(current, bit);
    }
    Files.delete(current);
    assertOpenFails(dir, "must be empty or hold a store");
  }

  @Test
  void damagedMark_isNoDamageToTheStore() throws IOException {
    Path dir = closedStore(10);
    Files.write(dir.resolve(SyncMarkerFile.FILE), new byte[2000]);
    assertHolds(dir, 10);
  }

  @Test
  void refusedStore_isLeftAsItWas() throws IOException {
    Path dir = closedStore(10);
    Path log = StoreImage.newestLog(dir);
    StoreImage.flip(log, 8 * HEADER_BYTES);
    assertOpenFails(dir, "damaged");
    assertOpenFails(dir, "damaged");
    StoreImage.flip(log, 8 * HEADER_BYTES);
    assertHolds(dir, 10);
  }

  private Path closedStore(int count) {
    Path dir = temp.resolve("store");
    try (Store store = RocksStore.open(dir)) {
      put(store, 0, count);
    }
    return dir;
  }

  /** Logs stay as long as one table, here STATE, has a row that is in no table file yet. */
  private Path storeOfManyLogs(String name) {
    Path dir = temp.resolve(name);
    try (Store store = RocksStore.open(dir, SMALL)) {
      RowBatch rows = new RowBatch();
      rows.put(StoreTable.STATE, key(0), new byte[10]);
      store.write(rows);
      for (int i = 0; i < 500; i += 10) {
        put(store, i, i + 10, 2000);
        store.sync();
      }
    }
    return dir;
  }

  /** Rows replayed from a log when the store opens go to table files. */
  private Path storeOfTables() throws IOException {
    Path dir = closedStore(1000);
    RocksStore.open(dir).close();
    assertThat(StoreImage.files(dir, ".sst")).isNotEmpty();
    return dir;
  }

  private static Path manifest(Path dir) throws IOException {
    return dir.resolve(Files.readString(dir.resolve("CURRENT")).strip());
  }

  private static void cut(Path file, long size) throws IOException {
    try (RandomAccessFile open = new RandomAccessFile(file.toFile(), "rw")) {
      open.setLength(size);
    }
  }

  private static void assertOpenFails(Path dir, String message) {
    assertThatThrownBy(() -> RocksStore.open(dir))
        .isInstanceOf(StoreException.class)
        .hasMessageContaining(message);
  }

  private static void assertHolds(Path dir, int count) {
    try (Store store = RocksStore.open(dir)) {
      assertThat(count(store)).isEqualTo(count);
    }
  }

  /** Counts the messages from 0 on; their content must be what was put. */
  private static int count(Store store) {
    int[] count = {0};
    store.scan(
        StoreTable.MESSAGE,
        key(0),
        key(Integer.MAX_VALUE),
        (key, value) -> {
          assertThat(key).isEqualTo(key(count[0]));
          assertThat(value).isEqualTo(value(count[0], value.length));
          return ++count[0] > 0;
        });
    return count[0];
  }

  private static void put(Store store, int from, int to) {
    put(store, from, to, 100);
  }

  private static void put(Store store, int from, int to, int bytes) {
    for (int i = from; i < to; i++) {
      RowBatch rows = new RowBatch();
      rows.put(StoreTable.MESSAGE, key(i), value(i, bytes));
      store.write(rows);
    }
  }

  private static byte[] key(int number) {
    return ByteBuffer.allocate(Integer.BYTES).putInt(number).array();
  }

  private static byte[] value(int number, int bytes) {
    byte[] value = new byte[bytes];
    new Random(number).nextBytes(value);
    return value;
  }
}
