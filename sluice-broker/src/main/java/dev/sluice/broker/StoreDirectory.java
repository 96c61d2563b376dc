package dev.sluice.broker;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The directory of a {@link RocksStore} before RocksDB opens it. */
final class StoreDirectory {
  private static final FileAttribute<Set<PosixFilePermission>> OWNER_ONLY =
      PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));

  /** What a first open that was cut short may have left behind. */
  private static final Pattern UNFINISHED =
      Pattern.compile(
          "LOCK|LOG|LOG\\.old\\..*|IDENTITY|MANIFEST-000001|.*\\.dbtmp|" + SyncMark.FILE);

  private StoreDirectory() {}

  /** Makes the directory, or sees that it holds a store or nothing. */
  static void prepare(Path dir) throws IOException {
    make(dir.toAbsolutePath());
    if (Files.exists(dir.resolve(Manifest.CURRENT))) {
      return;
    }
    try (Stream<Path> files = Files.list(dir)) {
      files
          .map(file -> file.getFileName().toString())
          .filter(name -> !UNFINISHED.matcher(name).matches())
          .findAny()
          .ifPresent(
              name -> {
                throw new StoreException(
                    "open: the directory must be empty or hold a store: "
                        + dir
                        + " has "
                        + name
                        + " but no "
                        + Manifest.CURRENT);
              });
    }
  }

  /** With what is missing above it. Messages are nobody's business but the owner's. */
  private static void make(Path dir) throws IOException {
    boolean posix = dir.getFileSystem().supportedFileAttributeViews().contains("posix");
    make(dir, posix ? new FileAttribute<?>[] {OWNER_ONLY} : new FileAttribute<?>[0]);
  }

  private static void make(Path dir, FileAttribute<?>... attributes) throws IOException {
    if (Files.isDirectory(dir)) {
      return;
    }
    Path parent = dir.getParent();
    if (parent == null) {
      throw new IOException("no such root: " + dir);
    }
    make(parent, new FileAttribute<?>[0]);
    Files.createDirectory(dir, attributes);
    // RocksDB syncs its directory, but not the entry of that directory in its parent.
    try (FileChannel entries = FileChannel.open(parent, StandardOpenOption.READ)) {
      entries.force(true);
    }
  }
}
