package dev.sluice.broker.internal.store.rocks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The write-ahead logs in a directory. */
public final class WalFiles {
  private static final Pattern NAME = Pattern.compile("(\\d+)\\.log");

  private WalFiles() {}

  /** The logs by their numbers. */
  public static NavigableMap<Long, Path> in(Path dir) throws IOException {
    NavigableMap<Long, Path> logs = new TreeMap<>();
    try (Stream<Path> files = Files.list(dir)) {
      files.forEach(
          file -> {
            Matcher name = NAME.matcher(file.getFileName().toString());
            if (name.matches()) {
              logs.put(Long.valueOf(name.group(1)), file);
            }
          });
    }
    return logs;
  }

  /** Follows the end of the newest log; for one thread at a time. */
  static final class Tail {
    private final Path dir;
    private Map.Entry<Long, Path> newest;
    private WalPosition position;

    Tail(Path dir) throws IOException {
      this.dir = dir;
      this.newest = newest(dir);
      this.position = end();
    }

    WalPosition position() {
      return position;
    }

    /** The place after a batch that was just written. */
    WalPosition advance() throws IOException {
      // A batch makes its log longer: this one, which may be deleted by now, or a newer one.
      long bytes = newest.getValue().toFile().length();
      if (bytes > position.bytes()) {
        position = new WalPosition(newest.getKey(), bytes);
      } else {
        newest = newest(dir);
        position = end();
      }
      return position;
    }

    private WalPosition end() throws IOException {
      return new WalPosition(newest.getKey(), Files.size(newest.getValue()));
    }

    private static Map.Entry<Long, Path> newest(Path dir) throws IOException {
      Map.Entry<Long, Path> newest = in(dir).lastEntry();
      if (newest == null) {
        throw new IOException("there is no write-ahead log: " + dir);
      }
      return newest;
    }
  }
}
