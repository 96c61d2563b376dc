package dev.sluice.broker;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.broker.internal.store.Store;
import dev.sluice.broker.internal.store.StoreTable;
import dev.sluice.broker.internal.store.rocks.RocksStore;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Nothing that was acknowledged after a sync is lost, and nothing deleted comes back. */
@Tag("any-jdk")
final class PowerLossTest {
  private static final int CYCLES = Integer.getInteger("sluice.cycles", 2);

  /** Of the ids that one child process may use. */
  private static final long IDS = 1_000_000_000;

  @TempDir private Path temp;

  @Test
  void powerLoss_losesNoConfirmedWrite() throws Exception {
    Random random = new Random();
    long seed = Long.getLong("sluice.seed", random.nextLong());
    random.setSeed(seed);
    Path ledger = temp.resolve("ledger");
    Path dir = temp.resolve("store");
    int promised = 0;
    for (int cycle = 0; cycle < CYCLES; cycle++) {
      // A small buffer: many logs and table files.
      long bufferBytes = cycle % 2 == 0 ? 256 << 10 : 64 << 20;
      PowerLoss.kill(child(dir, ledger, cycle, bufferBytes, true), random);
      PowerLoss.Promises promises = PowerLoss.Promises.read(ledger);
      PowerLoss.Cut cut = random.nextBoolean() ? PowerLoss.Cut.EARLIEST : PowerLoss.Cut.TORN;
      Path image = temp.resolve("image" + cycle);
      PowerLoss.cut(dir, image, promises.durable(), cut, random);
      assertThat(promises.broken(ids(image))).as("cycle %d, seed %d", cycle, seed).isEmpty();
      // On a busy machine a child may be killed before it has promised anything.
      assertThat(promises.size()).isGreaterThanOrEqualTo(promised);
      promised = promises.size();
      StoreImage.delete(dir);
      dir = image;
    }
    assertThat(promised).isPositive();
  }

  @Test
  void powerLoss_withoutSync_isDetected() throws Exception {
    Path ledger = temp.resolve("ledger");
    Path dir = temp.resolve("store");
    Random random = new Random(1);
    PowerLoss.kill(child(dir, ledger, 0, 64 << 20, false), random);
    PowerLoss.Promises promises = PowerLoss.Promises.read(ledger);
    Path image = temp.resolve("image");
    PowerLoss.cut(dir, image, promises.durable(), PowerLoss.Cut.EARLIEST, random);
    assertThat(promises.broken(ids(dir))).as("the kill alone loses nothing").isEmpty();
    assertThat(promises.broken(ids(image))).isNotEmpty().allMatch(word -> word.startsWith("lost"));
  }

  private static Process child(Path dir, Path ledger, int cycle, long bufferBytes, boolean syncs)
      throws Exception {
    return ChildJvm.start(
        List.of(),
        PowerLossMain.class,
        dir.toString(),
        ledger.toString(),
        String.valueOf(cycle * IDS),
        String.valueOf(bufferBytes),
        String.valueOf(syncs));
  }

  private static Set<String> ids(Path dir) {
    Set<String> ids = new HashSet<>();
    try (Store store = RocksStore.open(dir)) {
      store.scan(
          StoreTable.MESSAGE,
          new byte[0],
          new byte[] {-1},
          (key, value) -> {
            ids.add(new String(key, UTF_8));
            return true;
          });
    }
    return ids;
  }
}
