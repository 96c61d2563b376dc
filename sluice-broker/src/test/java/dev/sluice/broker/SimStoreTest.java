package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.broker.internal.store.RowBatch;
import dev.sluice.broker.internal.store.Store;
import dev.sluice.broker.internal.store.StoreException;
import dev.sluice.broker.internal.store.StoreTable;
import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

final class SimStoreTest extends StoreContractTest {
  @Override
  Store open() {
    return new SimStore();
  }

  @Override
  Store reopen(Store store) {
    store.close();
    return ((SimStore) store).reopen();
  }

  @Test
  void crash_losesAnyUnsyncedSuffix_andNothingElse() {
    Set<Integer> survivors =
        survivorsOfCrashes(
            store -> {
              put(store, 0, 2);
              store.sync();
              put(store, 2, 5);
            });
    assertThat(survivors).containsExactlyInAnyOrder(2, 3, 4, 5);
  }

  @Test
  void endSync_keepsWritesBeforeTheSyncBegan() {
    Set<Integer> survivors =
        survivorsOfCrashes(
            store -> {
              put(store, 0, 2);
              store.beginSync();
              put(store, 2, 4);
              store.endSync();
            });
    assertThat(survivors).containsExactlyInAnyOrder(2, 3, 4);
  }

  @Test
  void crash_duringASync_mayLoseAllOfIt() {
    Set<Integer> survivors =
        survivorsOfCrashes(
            store -> {
              put(store, 0, 2);
              store.beginSync();
            });
    assertThat(survivors).containsExactlyInAnyOrder(0, 1, 2);
  }

  @Test
  void failedSync_mayOrMayNotHaveStoredItsBatches() {
    Set<Integer> survivors =
        survivorsOfCrashes(
            store -> {
              put(store, 0, 2);
              store.failNextSync();
              assertThatThrownBy(store::sync).isInstanceOf(StoreException.class);
              assertThatThrownBy(store::sync).hasMessageContaining("failed before");
              assertThatThrownBy(() -> put(store, 2, 3)).hasMessageContaining("failed before");
            });
    assertThat(survivors).containsExactlyInAnyOrder(0, 1, 2);
  }

  @Test
  void failedWrite_isNotRead_butMayAppearAfterACrash() {
    Set<Integer> survivors =
        survivorsOfCrashes(
            store -> {
              put(store, 0, 1);
              store.sync();
              store.failNextWrite();
              assertThatThrownBy(() -> put(store, 1, 2)).isInstanceOf(StoreException.class);
              assertThat(count(store)).isEqualTo(1);
            });
    assertThat(survivors).containsExactlyInAnyOrder(1, 2);
  }

  @Test
  void messagePutTwice_isADefect_alsoAfterItsDeletionAndACrash() {
    SimStore store = new SimStore();
    put(store, 0, 1);
    assertThatThrownBy(() -> put(store, 0, 1)).isInstanceOf(AssertionError.class);

    SimStore other = new SimStore();
    put(other, 0, 1);
    delete(other, 0);
    other.sync();
    SimStore crashed = other.crash(new Random(1));
    assertThatThrownBy(() -> put(crashed, 0, 1)).isInstanceOf(AssertionError.class);
  }

  @Test
  void messageOfALostBatch_mayBePutAgain() {
    SimStore store = new SimStore();
    put(store, 0, 1);
    Random loseAll = new Random(0);
    SimStore crashed = store.crash(loseAll);
    while (count(crashed) > 0) {
      SimStore again = new SimStore();
      put(again, 0, 1);
      crashed = again.crash(loseAll);
    }
    put(crashed, 0, 1);
    assertThat(count(crashed)).isEqualTo(1);
  }

  @Test
  void messageDeletedWithoutARow_isADefect() {
    SimStore store = new SimStore();
    assertThatThrownBy(() -> delete(store, 0)).isInstanceOf(AssertionError.class);
    put(store, 0, 1);
    delete(store, 0);
    assertThatThrownBy(() -> delete(store, 0)).isInstanceOf(AssertionError.class);
  }

  @Test
  void freeBytes_returnsTheSetValue() {
    SimStore store = new SimStore();
    store.freeBytes(17);
    assertThat(store.freeBytes()).isEqualTo(17);
  }

  /** Numbers of messages that were left after many crashes, each of a store of its own. */
  private static Set<Integer> survivorsOfCrashes(Consumer<SimStore> work) {
    Random random = new Random(7);
    Set<Integer> survivors = new HashSet<>();
    for (int i = 0; i < 100; i++) {
      SimStore store = new SimStore();
      work.accept(store);
      SimStore crashed = store.crash(random);
      int count = count(crashed);
      for (int message = 0; message < count; message++) {
        assertThat(crashed.get(StoreTable.MESSAGE, key(message))).isNotNull();
      }
      survivors.add(count);
    }
    return survivors;
  }

  private static int count(Store store) {
    int[] count = {0};
    store.scan(StoreTable.MESSAGE, new byte[0], new byte[] {-1}, (key, value) -> ++count[0] > 0);
    return count[0];
  }

  /** Messages from one number up to another, each by a batch. */
  private static void put(Store store, int from, int to) {
    for (int message = from; message < to; message++) {
      RowBatch rows = new RowBatch();
      rows.put(StoreTable.MESSAGE, key(message), new byte[0]);
      store.write(rows);
    }
  }

  private static void delete(Store store, int message) {
    RowBatch rows = new RowBatch();
    rows.delete(StoreTable.MESSAGE, key(message));
    store.write(rows);
  }

  private static byte[] key(int message) {
    return new byte[] {(byte) message};
  }
}
