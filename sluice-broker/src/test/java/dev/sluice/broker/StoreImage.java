package dev.sluice.broker;

import dev.sluice.broker.internal.store.rocks.RocksStore;
import dev.sluice.broker.internal.store.rocks.WalFiles;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;

/** The files of a {@link RocksStore}, to copy and to damage. */
final class StoreImage {
  private StoreImage() {}

  /** Copies the files that a process would leave if it ended now, even while the store is open. */
  static Path copy(Path from, Path to) throws IOException {
    Files.createDirectories(to);
    for (Path file : files(from)) {
      copyIfThere(file, to.resolve(file.getFileName()));
    }
    return to;
  }

  /** RocksDB writes its options anew in the background, and needs none to open. */
  private static void copyIfThere(Path file, Path to) throws IOException {
    try {
      Files.copy(file, to);
    } catch (NoSuchFileException gone) {
      if (!to.getFileName().toString().startsWith("OPTIONS-")) {
        throw gone;
      }
    }
  }

  static void delete(Path dir) throws IOException {
    for (Path file : files(dir)) {
      Files.delete(file);
    }
    Files.delete(dir);
  }

  /** Files by how their names end, oldest first. */
  static List<Path> files(Path dir, String suffix) throws IOException {
    return files(dir).stream().filter(file -> file.toString().endsWith(suffix)).toList();
  }

  private static List<Path> files(Path dir) throws IOException {
    try (Stream<Path> files = Files.list(dir)) {
      return files.sorted().toList();
    }
  }

  static Path newestLog(Path dir) throws IOException {
    return Objects.requireNonNull(WalFiles.in(dir).lastEntry()).getValue();
  }

  /** Inverts one bit, in place; a second call restores it. */
  static void flip(Path file, long bit) throws IOException {
    try (RandomAccessFile bytes = new RandomAccessFile(file.toFile(), "rw")) {
      bytes.seek(bit / 8);
      int old = bytes.read();
      bytes.seek(bit / 8);
      bytes.write(old ^ (1 << (bit % 8)));
    }
  }

  static long bits(Path file) throws IOException {
    return 8 * Files.size(file);
  }
}
