package dev.sluice.attacks;

import java.nio.file.Path;
import java.util.Objects;

/** Returns how this JVM was started, to start others. */
final class JavaProgram {
  private JavaProgram() {}

  /** The command {@code java}. */
  static String command() {
    return Path.of(property("java.home"), "bin", "java").toString();
  }

  static String classPath() {
    return property("java.class.path");
  }

  private static String property(String name) {
    return Objects.requireNonNull(System.getProperty(name), name);
  }
}
