package dev.sluice.broker.internal.store.rocks;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.sluice.broker.internal.store.StoreException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The file in which RocksDB lists its table files and logs.
 *
 * @param number of the file; RocksDB starts a new one now and then
 * @param bytes length of the file
 */
record ManifestFile(long number, long bytes) {
  /** RocksDB takes a directory without this file, which names the manifest, for a new one. */
  static final String CURRENT = "CURRENT";

  private static final Pattern NAME = Pattern.compile("MANIFEST-(\\d+)\n");

  /** The manifest in use. */
  static ManifestFile in(Path dir) throws IOException {
    String name = name(dir);
    return new ManifestFile(number(name, dir), Files.size(dir.resolve(name.strip())));
  }

  /** Throws {@link StoreException} if it is damaged, or shorter than when the store was closed. */
  static void check(Path dir, @Nullable ManifestFile closed) throws IOException {
    if (!Files.exists(dir.resolve(CURRENT))) {
      return;
    }
    String name = name(dir);
    long number = number(name, dir);
    Path file = dir.resolve(name.strip());
    if (!Files.exists(file)) {
      throw new StoreException("open: damaged: there is no manifest: " + file);
    }
    long end = RecordLogReader.read(file, start -> {}).bytes();
    if (closed == null || number > closed.number()) {
      return;
    }
    if (number < closed.number() || end < closed.bytes()) {
      throw new StoreException("open: damaged: shorter than recorded at the last close: " + file);
    }
  }

  private static String name(Path dir) throws IOException {
    return Files.readString(dir.resolve(CURRENT), ISO_8859_1);
  }

  private static long number(String name, Path dir) {
    Matcher matcher = NAME.matcher(name);
    if (!matcher.matches()) {
      throw new StoreException("open: damaged: no name of a manifest: " + dir.resolve(CURRENT));
    }
    return Long.parseLong(matcher.group(1));
  }
}
