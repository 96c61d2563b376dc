package dev.sluice.broker;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The write-ahead logs in a directory. */
final class WalFiles {
  private static final Pattern NAME = Pattern.compile("(\\d+)\\.log");

  private WalFiles() {}

  /** The logs by their numbers. */
  static NavigableMap<Long, Path> in(Path dir) throws IOException {
    NavigableMap<Long, Path> logs = new TreeMap<>();
    for (Path file : list(dir)) {
      Matcher name = NAME.matcher(file.getFileName().toString());
      if (name.matches()) {
        logs.put(Long.valueOf(name.group(1)), file);
      }
    }
    return logs;
  }

  private static List<Path> list(Path dir) throws IOException {
    try (Stream<Path> files = Files.list(dir)) {
      return files.toList();
    }
  }

  /** Follows the end of the newest log; for one writer at a time. */
  static final class Tail {
    private final Path dir;
    private Path file;
    private WalPosition position;

    Tail(Path dir) throws IOException {
      this.dir = dir;
      var newest = in(dir).lastEntry();
      if (newest == null) {
        throw new IOException("no write-ahead log in " + dir);
      }
      file = newest.getValue();
      position = new WalPosition(newest.getKey(), Files.size(file));
    }

    WalPosition position() {
      return position;
    }

    /** The place after a batch that was just written. */
    WalPosition advance() throws IOException {
      long bytes = Files.size(file);
      if (bytes == position.bytes()) {
        // Every batch makes its log longer, so this one went to a new log.
        var newest = in(dir).lastEntry();
        file = newest.getValue();
        position = new WalPosition(newest.getKey(), Files.size(file));
      } else {
        position = new WalPosition(position.log(), bytes);
      }
      return position;
    }
  }
}
