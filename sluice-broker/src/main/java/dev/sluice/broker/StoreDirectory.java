package dev.sluice.broker;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystemException;
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
  private static final Set<PosixFilePermission> OWNER_ONLY =
      PosixFilePermissions.fromString("rwx------");

  /** What a first open that was cut short may have left behind. */
  private static final Pattern UNFINISHED =
      Pattern.compile(
          "LOCK|LOG|LOG\\.old\\..*|IDENTITY|MANIFEST-000001|.*\\.dbtmp|" + SyncMark.FILE);

  private StoreDirectory() {}

  /**
   * Creates the directory, or checks that it holds a store or nothing; then makes it accessible to
   * its owner alone.
   */
  static void prepare(Path dir) throws IOException {
    make(dir.toAbsolutePath());
    if (!Files.exists(dir.resolve(Manifest.CURRENT))) {
      requireUnused(dir);
    }
    restrict(dir);
  }

  /** Leaves a directory of another owner as it is, which a container's volume often is. */
  private static void restrict(Path dir) throws IOException {
    if (isPosix(dir) && !OWNER_ONLY.containsAll(Files.getPosixFilePermissions(dir))) {
      try {
        Files.setPosixFilePermissions(dir, OWNER_ONLY);
      } catch (FileSystemException notOurs) {
        return;
      }
    }
  }

  private static boolean isPosix(Path dir) {
    return dir.getFileSystem().supportedFileAttributeViews().contains("posix");
  }

  private static void requireUnused(Path dir) throws IOException {
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

  /** Creates the directory for its owner alone, and the missing ones above it. */
  private static void make(Path dir) throws IOException {
    FileAttribute<?>[] ownerOnly =
        isPosix(dir)
            ? new FileAttribute<?>[] {PosixFilePermissions.asFileAttribute(OWNER_ONLY)}
            : new FileAttribute<?>[0];
    make(dir, ownerOnly);
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
