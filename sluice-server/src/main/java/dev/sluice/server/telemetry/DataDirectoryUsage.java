package dev.sluice.server.telemetry;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import org.jspecify.annotations.Nullable;

/** Measures how much space the data directory uses, and how much its disk has left. */
public final class DataDirectoryUsage {
  private final Path directory;

  public DataDirectoryUsage(Path directory) {
    this.directory = directory;
  }

  /** Returns the size of all files in bytes; a file that is deleted meanwhile counts as empty. */
  double usedBytes() {
    Sum sum = new Sum();
    try {
      Files.walkFileTree(directory, sum);
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
    return sum.bytes;
  }

  double freeBytes() {
    try {
      return Files.getFileStore(directory).getUsableSpace();
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
  }

  private static final class Sum extends SimpleFileVisitor<Path> {
    long bytes;

    @Override
    public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
      bytes += attributes.size();
      return FileVisitResult.CONTINUE;
    }

    @Override
    public FileVisitResult visitFileFailed(Path file, IOException gone) {
      return FileVisitResult.CONTINUE;
    }

    @Override
    public FileVisitResult postVisitDirectory(Path visited, @Nullable IOException failure) {
      return FileVisitResult.CONTINUE;
    }
  }
}
