package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;

final class RocksStoreTest extends StoreContractTest {
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
  void open_makesItsDirectory() {
    Path nested = dir.resolve("a/b/c");
    RocksStore.open(nested).close();
    assertThat(nested.resolve("CURRENT")).exists();
  }

  @Test
  void open_ofWhatIsOpen_isRefused() {
    assertThatThrownBy(this::open)
        .isInstanceOf(StoreException.class)
        .hasMessageContaining("already open");
  }

  @Test
  void open_ofAFile_isRefused() throws IOException {
    Path file = Files.createFile(dir.resolve("file"));
    assertOpenFails(file, "cannot use the directory");
    assertOpenFails(file.resolve("below"), "cannot use the directory");
  }

  @Test
  void open_whereNothingCanBeWritten_isRefused() {
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
  void visitor_mustNotClose() {
    Store store = RocksStore.open(dir.resolve("visited"));
    Rows rows = new Rows();
    rows.put(Table.STATE, key("k"), key("v"));
    store.write(rows);
    assertThatThrownBy(
            () ->
                store.scan(
                    Table.STATE,
                    key("a"),
                    key("z"),
                    (key, value) -> {
                      store.close();
                      return true;
                    }))
        .isInstanceOf(IllegalStateException.class);
    assertThat(store.get(Table.STATE, key("k"))).isEqualTo(key("v"));
    store.close();
  }

  @Test
  void close_underLoad_endsEveryCallWithAnAnswerOrARefusal() throws Exception {
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

  private static List<Runnable> calls(Store store) {
    Rows rows = new Rows();
    for (int i = 0; i < 100; i++) {
      rows.put(Table.STATE, key("k" + i), new byte[100]);
    }
    return List.of(
        () -> store.write(rows),
        store::sync,
        () -> store.scan(Table.STATE, key("a"), key("z"), (key, value) -> true),
        () -> store.getAll(Table.STATE, List.of(key("k1"), key("k2"))));
  }

  private static void assertOpenFails(Path dir, String message) {
    assertThatThrownBy(() -> RocksStore.open(dir))
        .isInstanceOf(StoreException.class)
        .hasMessageContaining("open: ")
        .hasMessageContaining(message)
        .hasMessageContaining(dir.toString());
  }
}
