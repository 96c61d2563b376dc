package dev.sluice.broker.internal.store.rocks;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.rocksdb.NativeLibraryLoader;
import org.rocksdb.RocksDB;

/*
 * RocksDB unpacks its native library (17 MB) into the temporary folder and deletes it when the JVM
 * exits, which a killed JVM never does. A loaded library needs its file no longer on Linux and
 * macOS, so it is deleted as soon as it is loaded. Windows keeps it until the exit.
 */

/** Loads RocksDB's native library and leaves no file behind. */
public final class NativeLibrary {
  private NativeLibrary() {}

  /** Loads the library unless this JVM has it already. */
  public static synchronized void load() {
    try {
      Path folder = Files.createTempDirectory("sluice-rocksdb-");
      try {
        NativeLibraryLoader.getInstance().loadLibrary(folder.toString());
      } finally {
        delete(folder);
      }
    } catch (IOException failure) {
      throw new UncheckedIOException("RocksDB's native library could not be loaded", failure);
    }
    RocksDB.loadLibrary();
  }

  private static void delete(Path folder) throws IOException {
    List<Path> files;
    try (Stream<Path> found = Files.list(folder)) {
      files = found.toList();
    }
    for (Path file : files) {
      if (!file.toFile().delete()) {
        return; // Windows: RocksDB has asked the JVM to delete it on exit.
      }
    }
    Files.delete(folder);
  }
}
