package dev.sluice.broker;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

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

/** What every {@link Store} does. */
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
    Rows rows = new Rows();
    for (Table table : Table.values()) {
      rows.put(table, key("k"), key(table.name()));
    }
    store.write(rows);
    for (Table table : Table.values()) {
      assertThat(store.get(table, key("k"))).isEqualTo(key(table.name()));
    }
  }

  @Test
  void get_ofNoRow_isNull() {
    assertThat(store.get(Table.STATE, key("absent"))).isNull();
  }

  @Test
  void put_replaces_andDeleteRemoves() {
    put(Table.STATE, "k", "1");
    put(Table.STATE, "k", "2");
    assertThat(store.get(Table.STATE, key("k"))).isEqualTo(key("2"));
    delete(Table.STATE, "k");
    assertThat(store.get(Table.STATE, key("k"))).isNull();
  }

  @Test
  void delete_ofNoRow_isNoError() {
    assertThatCode(() -> delete(Table.STATE, "absent")).doesNotThrowAnyException();
  }

  @Test
  void write_appliesChangesInTheirOrder() {
    Rows rows = new Rows();
    rows.put(Table.STATE, key("gone"), key("1"));
    rows.delete(Table.STATE, key("gone"));
    rows.delete(Table.STATE, key("there"));
    rows.put(Table.STATE, key("there"), key("2"));
    rows.put(Table.MESSAGE, key("m"), key("3"));
    rows.delete(Table.MESSAGE, key("m"));
    store.write(rows);
    assertThat(scan(Table.STATE, new byte[0], END)).containsExactly("there=2");
    assertThat(scan(Table.MESSAGE, new byte[0], END)).isEmpty();
  }

  @Test
  void write_ofNothing_isNoError() {
    store.write(new Rows());
    store.sync();
    assertThat(scan(Table.STATE, new byte[0], END)).isEmpty();
  }

  @Test
  void write_leavesItsRowsToTheCaller() {
    Rows rows = new Rows();
    rows.put(Table.STATE, key("a"), key("1"));
    store.write(rows);
    rows.put(Table.STATE, key("b"), key("2"));
    assertThat(scan(Table.STATE, new byte[0], END)).containsExactly("a=1");
    store.write(rows);
    assertThat(scan(Table.STATE, new byte[0], END)).containsExactly("a=1", "b=2");
  }

  @Test
  void rows_ofAnySize_comeBackWhole() {
    byte[] large = new byte[3 << 20];
    new Random(1).nextBytes(large);
    Rows rows = new Rows();
    rows.put(Table.MESSAGE, key("large"), large);
    rows.put(Table.MESSAGE, key("empty"), new byte[0]);
    rows.put(Table.STATE, new byte[0], key("empty key"));
    store.write(rows);
    store = reopen(store);
    assertThat(store.get(Table.MESSAGE, key("large"))).isEqualTo(large);
    assertThat(store.get(Table.MESSAGE, key("empty"))).isEmpty();
    assertThat(store.get(Table.STATE, new byte[0])).isEqualTo(key("empty key"));
  }

  @Test
  void getAll_answersInTheOrderOfKeys_withNullForNoRow() {
    put(Table.MESSAGE, "a", "1");
    put(Table.MESSAGE, "b", "2");
    put(Table.STATE, "c", "3");
    List<byte[]> values =
        store.getAll(Table.MESSAGE, List.of(key("b"), key("c"), key("a"), key("b")));
    assertThat(values).containsExactly(key("2"), null, key("1"), key("2"));
  }

  @Test
  void getAll_ofNoKeys_isEmpty() {
    assertThat(store.getAll(Table.MESSAGE, List.of())).isEmpty();
  }

  @Test
  void scan_includesFrom_andExcludesTo() {
    for (String key : List.of("a", "b", "c", "d")) {
      put(Table.STATE, key, key);
    }
    put(Table.LEASE, "b1", "of another table");
    assertThat(scan(Table.STATE, key("b"), key("d"))).containsExactly("b=b", "c=c");
    assertThat(scan(Table.STATE, key("a1"), key("b1"))).containsExactly("b=b");
    assertThat(scan(Table.STATE, key("e"), key("f"))).isEmpty();
    assertThat(scan(Table.STATE, key("b"), key("b"))).isEmpty();
    assertThat(scan(Table.STATE, key("d"), key("a"))).isEmpty();
  }

  @Test
  void scan_isInTheOrderOfUnsignedBytes() {
    byte[][] ordered = {{0}, {0, 0}, {1}, {127}, {-128}, {-1}, {-1, 5}};
    Rows rows = new Rows();
    for (int i = ordered.length - 1; i >= 0; i--) {
      rows.put(Table.STATE, ordered[i], new byte[0]);
    }
    store.write(rows);
    List<byte[]> seen = new ArrayList<>();
    store.scan(Table.STATE, new byte[0], END, (key, value) -> seen.add(key));
    assertThat(seen).containsExactly(ordered);
  }

  @Test
  void scan_endsWhenTheVisitorHasEnough() {
    for (String key : List.of("a", "b", "c")) {
      put(Table.STATE, key, key);
    }
    List<String> seen = new ArrayList<>();
    store.scan(
        Table.STATE,
        new byte[0],
        END,
        (key, value) -> {
          seen.add(text(key));
          return seen.size() < 2;
        });
    assertThat(seen).containsExactly("a", "b");
  }

  @Test
  void scan_doesNotSeeWhatItsVisitorWrites() {
    put(Table.STATE, "a", "1");
    put(Table.STATE, "b", "1");
    List<String> seen = new ArrayList<>();
    store.scan(
        Table.STATE,
        new byte[0],
        END,
        (key, value) -> {
          seen.add(text(key));
          delete(Table.STATE, "b");
          put(Table.STATE, "c", "1");
          return true;
        });
    assertThat(seen).containsExactly("a", "b");
    assertThat(scan(Table.STATE, new byte[0], END)).containsExactly("a=1", "c=1");
  }

  @Test
  void scan_whoseVisitorThrows_leavesTheStoreUsable() {
    put(Table.STATE, "a", "1");
    IllegalStateException thrown = new IllegalStateException("of the visitor");
    assertThatThrownBy(
            () ->
                store.scan(
                    Table.STATE,
                    new byte[0],
                    END,
                    (key, value) -> {
                      throw thrown;
                    }))
        .isSameAs(thrown);
    assertThat(scan(Table.STATE, new byte[0], END)).containsExactly("a=1");
  }

  @Test
  void reopen_keepsWhatWasWritten() {
    put(Table.MESSAGE, "a", "1");
    put(Table.MESSAGE, "b", "2");
    store.sync();
    put(Table.MESSAGE, "c", "3");
    delete(Table.MESSAGE, "a");
    store = reopen(store);
    assertThat(scan(Table.MESSAGE, new byte[0], END)).containsExactly("b=2", "c=3");
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
    assertRefused("write", () -> store.write(new Rows()));
    assertRefused("sync", store::sync);
    assertRefused("get", () -> store.get(Table.STATE, key("k")));
    assertRefused("getAll", () -> store.getAll(Table.STATE, List.of(key("k"))));
    assertRefused("scan", () -> scan(Table.STATE, new byte[0], END));
  }

  @Test
  void randomBatches_giveWhatAModelGives() {
    Random random = new Random(42);
    Map<Table, NavigableMap<byte[], byte[]>> model = new EnumMap<>(Table.class);
    for (Table table : Table.values()) {
      model.put(table, new TreeMap<>(Arrays::compareUnsigned));
    }
    int nextMessage = 0;
    for (int round = 0; round < 300; round++) {
      Rows rows = new Rows();
      for (int i = random.nextInt(20); i > 0; i--) {
        Table table = Table.ofColumnFamily(1 + random.nextInt(Table.values().length));
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
    for (Table table : Table.values()) {
      List<String> expected = new ArrayList<>();
      model.get(table).forEach((key, value) -> expected.add(text(key) + "=" + text(value)));
      assertThat(scan(table, new byte[0], END)).as(table.name()).isEqualTo(expected);
    }
  }

  /** One random change to both; returns the next key for a table where none comes twice. */
  private static int change(
      Rows rows, NavigableMap<byte[], byte[]> model, Table table, int next, Random random) {
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

  private void put(Table table, String key, String value) {
    Rows rows = new Rows();
    rows.put(table, key(key), key(value));
    store.write(rows);
  }

  private void delete(Table table, String key) {
    Rows rows = new Rows();
    rows.delete(table, key(key));
    store.write(rows);
  }

  private List<String> scan(Table table, byte[] from, byte[] to) {
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
