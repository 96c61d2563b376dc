package dev.sluice.broker.internal.store.rocks;

import dev.sluice.broker.internal.store.StoreException;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystemException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The directory of a {@link RocksStore} before RocksDB opens it. */
public final class StoreDirectory {
  private static final Set<PosixFilePermission> OWNER_ONLY =
      PosixFilePermissions.fromString("rwx------");
  private static final Set<PosixFilePermission> OWNER_FILE =
      PosixFilePermissions.fromString("rw-------");

  /** Files that an interrupted first open may have left. */
  private static final Pattern UNFINISHED =
      Pattern.compile(
          "LOCK|LOG|LOG\\.old\\..*|IDENTITY|MANIFEST-000001|.*\\.dbtmp|" + SyncMarkerFile.FILE);

  private StoreDirectory() {}

  /**
   * Creates the directory, or checks that it holds a store or nothing; then makes it and all that
   * it holds accessible to its owner alone.
   */
  public static void prepare(Path dir) throws IOException {
    make(dir.toAbsolutePath());
    if (!Files.exists(dir.resolve(ManifestFile.CURRENT))) {
      requireUnused(dir);
    }
    restrict(dir);
  }

  /**
   * Makes {@code dir} and everything in it accessible to its owner alone. Follows no links below
   * {@code dir}, and skips files of another owner, as the volume of a container often has.
   */
  private static void restrict(Path dir) throws IOException {
    if (isPosix(dir)) {
      Files.walkFileTree(dir.toRealPath(), new Restriction());
    }
  }

  private static final class Restriction extends SimpleFileVisitor<Path> {
    @Override
    public FileVisitResult preVisitDirectory(Path dir, BasicFileAttributes attributes)
        throws IOException {
      restrict(dir, OWNER_ONLY);
      return FileVisitResult.CONTINUE;
    }

    @Override
    public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
      if (attributes.isRegularFile()) {
        restrict(file, OWNER_FILE);
      }
      return FileVisitResult.CONTINUE;
    }

    @Override
    public FileVisitResult visitFileFailed(Path notOurs, IOException reason) {
      return FileVisitResult.CONTINUE;
    }

    private static void restrict(Path path, Set<PosixFilePermission> mode) throws IOException {
      try {
        if (!OWNER_ONLY.containsAll(Files.getPosixFilePermissions(path))) {
          Files.setPosixFilePermissions(path, mode);
        }
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
                        + ManifestFile.CURRENT);
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
