package dev.sluice.broker;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.broker.internal.store.RowBatch;
import dev.sluice.broker.internal.store.Store;
import dev.sluice.broker.internal.store.StoreException;
import dev.sluice.broker.internal.store.StoreTable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Random;
import java.util.TreeMap;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The contract of every {@link Store}. */
abstract class StoreContractTest {
  /** Greater than every key used here. */
  private static final byte[] END = {-1, -1, -1};

  private Store store;

  abstract Store open();

  /** Ends the store and opens what it held. */
  abstract Store reopen(Store store);

  @BeforeEach
  final void begin() {
    store = open();
  }

  @AfterEach
  final void end() {
    store.close();
  }

  @Test
  void write_isRead_inEveryTable() {
    RowBatch rows = new RowBatch();
    for (StoreTable table : StoreTable.values()) {
      rows.put(table, key("k"), key(table.name()));
    }
    store.write(rows);
    for (StoreTable table : StoreTable.values()) {
      assertThat(store.get(table, key("k"))).isEqualTo(key(table.name()));
    }
  }

  @Test
  void get_ofNoRow_isNull() {
    assertThat(store.get(StoreTable.STATE, key("absent"))).isNull();
  }

  @Test
  void put_replaces_andDeleteRemoves() {
    put(StoreTable.STATE, "k", "1");
    put(StoreTable.STATE, "k", "2");
    assertThat(store.get(StoreTable.STATE, key("k"))).isEqualTo(key("2"));
    delete(StoreTable.STATE, "k");
    assertThat(store.get(StoreTable.STATE, key("k"))).isNull();
  }

  @Test
  void delete_ofNoRow_isNoError() {
    assertThatCode(() -> delete(StoreTable.STATE, "absent")).doesNotThrowAnyException();
  }

  @Test
  void write_appliesChangesInTheirOrder() {
    RowBatch rows = new RowBatch();
    rows.put(StoreTable.STATE, key("gone"), key("1"));
    rows.delete(StoreTable.STATE, key("gone"));
    rows.delete(StoreTable.STATE, key("there"));
    rows.put(StoreTable.STATE, key("there"), key("2"));
    rows.put(StoreTable.MESSAGE, key("m"), key("3"));
    rows.delete(StoreTable.MESSAGE, key("m"));
    store.write(rows);
    assertThat(scan(StoreTable.STATE, new byte[0], END)).containsExactly("there=2");
    assertThat(scan(StoreTable.MESSAGE, new byte[0], END)).isEmpty();
  }

  @Test
  void write_ofNothing_isNoError() {
    store.write(new RowBatch());
    store.sync();
    assertThat(scan(StoreTable.STATE, new byte[0], END)).isEmpty();
  }

  @Test
  void write_doesNotKeepTheBatch() {
    RowBatch rows = new RowBatch();
    rows.put(StoreTable.STATE, key("a"), key("1"));
    store.write(rows);
    rows.put(StoreTable.STATE, key("b"), key("2"));
    assertThat(scan(StoreTable.STATE, new byte[0], END)).containsExactly("a=1");
    store.write(rows);
    assertThat(scan(StoreTable.STATE, new byte[0], END)).containsExactly("a=1", "b=2");
  }

  @Test
  void rows_ofAnySize_areReadUnchanged() {
    byte[] large = new byte[3 << 20];
    new Random(1).nextBytes(large);
    RowBatch rows = new RowBatch();
    rows.put(StoreTable.MESSAGE, key("large"), large);
    rows.put(StoreTable.MESSAGE, key("empty"), new byte[0]);
    rows.put(StoreTable.STATE, new byte[0], key("empty key"));
    store.write(rows);
    store = reopen(store);
    assertThat(store.get(StoreTable.MESSAGE, key("large"))).isEqualTo(large);
    assertThat(store.get(StoreTable.MESSAGE, key("empty"))).isEmpty();
    assertThat(store.get(StoreTable.STATE, new byte[0])).isEqualTo(key("empty key"));
  }

  @Test
  void getAll_answersInTheOrderOfKeys_withNullForNoRow() {
    put(StoreTable.MESSAGE, "a", "1");
    put(StoreTable.MESSAGE, "b", "2");
    put(StoreTable.STATE, "c", "3");
    List<byte[]> values =
        store.getAll(StoreTable.MESSAGE, List.of(key("b"), key("c"), key("a"), key("b")));
    assertThat(values).containsExactly(key("2"), null, key("1"), key("2"));
  }

  @Test
  void getAll_ofNoKeys_isEmpty() {
    assertThat(store.getAll(StoreTable.MESSAGE, List.of())).isEmpty();
  }

  @Test
  void scan_includesFrom_andExcludesTo() {
    for (String key : List.of("a", "b", "c", "d")) {
      put(StoreTable.STATE, key, key);
    }
    put(StoreTable.LEASE, "b1", "of another table");
    assertThat(scan(StoreTable.STATE, key("b"), key("d"))).containsExactly("b=b", "c=c");
    assertThat(scan(StoreTable.STATE, key("a1"), key("b1"))).containsExactly("b=b");
    assertThat(scan(StoreTable.STATE, key("e"), key("f"))).isEmpty();
    assertThat(scan(StoreTable.STATE, key("b"), key("b"))).isEmpty();
    assertThat(scan(StoreTable.STATE, key("d"), key("a"))).isEmpty();
  }

  @Test
  void scan_isInTheOrderOfUnsignedBytes() {
    byte[][] ordered = {{0}, {0, 0}, {1}, {127}, {-128}, {-1}, {-1, 5}};
    RowBatch rows = new RowBatch();
    for (int i = ordered.length - 1; i >= 0; i--) {
      rows.put(StoreTable.STATE, ordered[i], new byte[0]);
    }
    store.write(rows);
    List<byte[]> seen = new ArrayList<>();
    store.scan(StoreTable.STATE, new byte[0], END, (key, value) -> seen.add(key));
    assertThat(seen).containsExactly(ordered);
  }

  @Test
  void scan_stopsWhenTheVisitorReturnsFalse() {
    for (String key : List.of("a", "b", "c")) {
      put(StoreTable.STATE, key, key);
    }
    List<String> seen = new ArrayList<>();
    store.scan(
        StoreTable.STATE,
        new byte[0],
        END,
        (key, value) -> {
          seen.add(text(key));
          return seen.size() < 2;
        });
    assertThat(seen).containsExactly("a", "b");
  }

  @Test
  void scan_doesNotSeeWritesOfItsVisitor() {
    put(StoreTable.STATE, "a", "1");
    put(StoreTable.STATE, "b", "1");
    List<String> seen = new ArrayList<>();
    store.scan(
        StoreTable.STATE,
        new byte[0],
        END,
        (key, value) -> {
          seen.add(text(key));
          delete(StoreTable.STATE, "b");
          put(StoreTable.STATE, "c", "1");
          return true;
        });
    assertThat(seen).containsExactly("a", "b");
    assertThat(scan(StoreTable.STATE, new byte[0], END)).containsExactly("a=1", "c=1");
  }

  @Test
  void scan_whoseVisitorThrows_leavesTheStoreUsable() {
    put(StoreTable.STATE, "a", "1");
    IllegalStateException thrown = new IllegalStateException("of the visitor");
    assertThatThrownBy(
            () ->
                store.scan(
                    StoreTable.STATE,
                    new byte[0],
                    END,
                    (key, value) -> {
                      throw thrown;
                    }))
        .isSameAs(thrown);
    assertThat(scan(StoreTable.STATE, new byte[0], END)).containsExactly("a=1");
  }

  @Test
  void reopen_keepsWrites() {
    put(StoreTable.MESSAGE, "a", "1");
    put(StoreTable.MESSAGE, "b", "2");
    store.sync();
    put(StoreTable.MESSAGE, "c", "3");
    delete(StoreTable.MESSAGE, "a");
    store = reopen(store);
    assertThat(scan(StoreTable.MESSAGE, new byte[0], END)).containsExactly("b=2", "c=3");
  }

  @Test
  void freeBytes_isPositive() {
    assertThat(store.freeBytes()).isPositive();
  }

  @Test
  void close_twice_isNoError() {
    store.close();
    assertThatCode(store::close).doesNotThrowAnyException();
  }

  @Test
  void everyOperation_afterClose_isRefusedByName() {
    store.close();
    assertRefused("write", () -> store.write(new RowBatch()));
    assertRefused("sync", store::sync);
    assertRefused("get", () -> store.get(StoreTable.STATE, key("k")));
    assertRefused("getAll", () -> store.getAll(StoreTable.STATE, List.of(key("k"))));
    assertRefused("scan", () -> scan(StoreTable.STATE, new byte[0], END));
  }

  @Test
  void randomBatches_agreeWithAModel() {
    Random random = new Random(42);
    Map<StoreTable, NavigableMap<byte[], byte[]>> model = new EnumMap<>(StoreTable.class);
    for (StoreTable table : StoreTable.values()) {
      model.put(table, new TreeMap<>(Arrays::compareUnsigned));
    }
    int nextMessage = 0;
    for (int round = 0; round < 300; round++) {
      RowBatch rows = new RowBatch();
      for (int i = random.nextInt(20); i > 0; i--) {
        StoreTable table =
            StoreTable.ofColumnFamily(1 + random.nextInt(StoreTable.values().length));
        nextMessage = change(rows, model.get(table), table, nextMessage, random);
      }
      store.write(rows);
      if (random.nextInt(10) == 0) {
        store.sync();
      }
      if (random.nextInt(60) == 0) {
        store = reopen(store);
      }
    }
    for (StoreTable table : StoreTable.values()) {
      List<String> expected = new ArrayList<>();
      model.get(table).forEach((key, value) -> expected.add(text(key) + "=" + text(value)));
      assertThat(scan(table, new byte[0], END)).as(table.name()).isEqualTo(expected);
    }
  }

  /** One random change to both; returns the next key for a table where none comes twice. */
  private static int change(
      RowBatch rows,
      NavigableMap<byte[], byte[]> model,
      StoreTable table,
      int next,
      Random random) {
    boolean delete = random.nextInt(3) == 0;
    if (delete && table.writeOnce) {
      if (!model.isEmpty()) {
        rows.delete(table, model.pollFirstEntry().getKey());
      }
      return next;
    }
    byte[] key = key(String.valueOf(table.writeOnce ? next : random.nextInt(50)));
    if (delete) {
      rows.delete(table, key);
      model.remove(key);
      return next;
    }
    byte[] value = key(String.valueOf(random.nextInt()));
    rows.put(table, key, value);
    model.put(key, value);
    return table.writeOnce ? next + 1 : next;
  }

  private void put(StoreTable table, String key, String value) {
    RowBatch rows = new RowBatch();
    rows.put(table, key(key), key(value));
    store.write(rows);
  }

  private void delete(StoreTable table, String key) {
    RowBatch rows = new RowBatch();
    rows.delete(table, key(key));
    store.write(rows);
  }

  private List<String> scan(StoreTable table, byte[] from, byte[] to) {
    List<String> seen = new ArrayList<>();
    store.scan(table, from, to, (key, value) -> seen.add(text(key) + "=" + text(value)));
    return seen;
  }

  private static void assertRefused(String operation, ThrowingCallable call) {
    assertThatThrownBy(call)
        .isInstanceOf(StoreException.class)
        .hasMessageContaining(operation + ": the store is closed");
  }

  static byte[] key(String text) {
    return text.getBytes(UTF_8);
  }

  static String text(byte[] key) {
    return new String(key, UTF_8);
  }
}
