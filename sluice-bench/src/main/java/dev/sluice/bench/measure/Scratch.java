package dev.sluice.bench.measure;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** A temporary folder that is deleted when closed, or at the latest when the program ends. */
public final class Scratch implements AutoCloseable {
  private final Path root;
  private final Thread atExit = new Thread(this::deleteAll);
  private int folders;

  public Scratch() throws IOException {
    root = Files.createTempDirectory("sluice-bench");
    Runtime.getRuntime().addShutdownHook(atExit);
  }

  /** A name that nothing has yet. */
  public Path next() {
    return root.resolve(String.valueOf(folders++));
  }

  /** Returns the type of the file system. */
  public String fileSystem() throws IOException {
    return Files.getFileStore(root).type();
  }

  public boolean isInMemory() throws IOException {
    return List.of("tmpfs", "ramfs").contains(fileSystem());
  }

  public static void delete(Path folder) {
    try (Stream<Path> all = Files.walk(folder)) {
      for (Path each : all.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(each);
      }
    } catch (NoSuchFileException gone) {
      // As it should be.
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void deleteAll() {
    delete(root);
  }

  @Override
  public void close() {
    deleteAll();
    Runtime.getRuntime().removeShutdownHook(atExit);
  }
}
