package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.broker.internal.store.StoreException;
import dev.sluice.broker.internal.store.rocks.NativeLibrary;
import dev.sluice.broker.internal.store.rocks.StoreDirectory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class StoreDirectoryTest {
  @TempDir Path folder;

  private static String mode(Path path) throws IOException {
    return PosixFilePermissions.toString(Files.getPosixFilePermissions(path));
  }

  @Test
  void existingDirectory_becomesPrivate() throws IOException {
    Path data = Files.createDirectory(folder.resolve("data"));
    Files.setPosixFilePermissions(data, PosixFilePermissions.fromString("rwxrwxr-x"));
    Broker.open(data, BrokerConfig.defaults()).close();
    assertThat(mode(data)).isEqualTo("rwx------");
  }

  /** Except for files outside of it that links lead to. */
  @Test
  void everythingInAnExistingDirectory_becomesPrivate() throws IOException {
    Path data = folder.resolve("data");
    Broker.open(data, BrokerConfig.defaults()).close();
    Path secret = Files.writeString(data.resolve("keys.json"), "{}");
    Path inner = Files.createDirectory(data.resolve("governor"));
    Path journal = Files.writeString(inner.resolve("journal"), "");
    Path elsewhere = Files.writeString(folder.resolve("elsewhere"), "");
    Files.createSymbolicLink(data.resolve("link"), elsewhere);
    for (Path file : List.of(secret, journal, elsewhere)) {
      Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-rw-rw-"));
    }
    Files.setPosixFilePermissions(inner, PosixFilePermissions.fromString("rwxrwxrwx"));
    Path linked = Files.createSymbolicLink(folder.resolve("linked"), data);
    StoreDirectory.prepare(linked);
    assertThat(mode(secret)).isEqualTo("rw-------");
    assertThat(mode(journal)).isEqualTo("rw-------");
    assertThat(mode(inner)).isEqualTo("rwx------");
    assertThat(mode(data.resolve("CURRENT"))).isEqualTo("rw-------");
    assertThat(mode(elsewhere)).isEqualTo("rw-rw-rw-");
  }

  @Test
  void directoryWithOtherFiles_keepsItsMode() throws IOException {
    Files.createFile(folder.resolve("holiday.jpg"));
    Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
    assertThatThrownBy(() -> StoreDirectory.prepare(folder)).isInstanceOf(StoreException.class);
    assertThat(mode(folder)).isEqualTo("rwxr-xr-x");
  }

  @Test
  void openBroker_leavesNoNativeLibraryInTheTemporaryFolder() throws IOException {
    NativeLibrary.load();
    String loaded = loadedLibrary();
    assertThat(loaded).endsWith(" (deleted)");
    assertThat(Path.of(loaded.replace(" (deleted)", "")).getParent()).doesNotExist();
  }

  /** The file of RocksDB's library as Linux has it mapped into this process. */
  private static String loadedLibrary() throws IOException {
    try (Stream<String> maps = Files.lines(Path.of("/proc/self/maps"))) {
      return maps.filter(line -> line.contains("librocksdbjni"))
          .map(line -> line.substring(line.indexOf('/')))
          .findFirst()
          .orElseThrow();
    }
  }
}
