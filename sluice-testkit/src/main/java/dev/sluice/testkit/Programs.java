package dev.sluice.testkit;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Objects;

/** Programs that the fixtures start. */
public final class Programs {
  private Programs() {}

  /** The program's file, or a fault that says how to get it. */
  public static String find(String name) {
    return find(name, Objects.requireNonNullElse(System.getenv("PATH"), ""));
  }

  public static String find(String name, String path) {
    return Arrays.stream(path.split(File.pathSeparator, -1))
        .map(dir -> Path.of(dir, name))
        .filter(Files::isExecutable)
        .map(Path::toString)
        .findFirst()
        .orElseThrow(
            () -> new IllegalStateException(name + " is not on the PATH: ./test installs it"));
  }
}
