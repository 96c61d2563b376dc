package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A file system that is really full. It is mounted by the child process for itself alone, in a
 * namespace of its own, which on Linux needs no privilege.
 */
@Tag("any-jdk")
final class RocksStoreFullDiskTest {
  @TempDir private Path temp;

  /** With a large buffer the log meets the end of the disk, with a small one table files do. */
  @ParameterizedTest
  @ValueSource(longs = {64 << 20, 1 << 20})
  void fullDisk_stopsTheStore_andLosesNothingThatWasSynced(long bufferBytes) throws Exception {
    String mount = "mount -t tmpfs -o size=64m tmpfs \"$0\" && exec \"$@\"";
    List<String> prefix = List.of("unshare", "-rm", "sh", "-c", mount, temp.toString());
    Process child =
        ChildJvm.start(prefix, FullDiskMain.class, temp.toString(), String.valueOf(bufferBytes));
    List<String> lines = ChildJvm.output(child);

    assertThat(lines).hasSize(7);
    assertThat(lines.get(0)).matches("full: (write|sync): .*[Nn]o space.*");
    assertThat(lines.get(1)).isEqualTo("freeBytes: fell");
    assertThat(lines.get(2)).isEqualTo("rows read: true");
    assertThat(lines.get(3)).isEqualTo("sync: refused");
    assertThat(lines.get(4)).matches("open while full: (refused|rows lost=false)");
    assertThat(lines.get(5)).matches("open with room: synced=\\d{2,} rows lost=false");
    assertThat(lines.get(6)).isEqualTo("write with room: true");
  }
}
