package dev.sluice.testkit.redis;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Looks at processes from outside. */
public final class Processes {
  private Processes() {}

  /** A dead process may stay listed until its parent asks for its status; it does not run. */
  public static boolean runs(long pid) {
    try {
      return !Files.readString(Path.of("/proc", Long.toString(pid), "stat")).contains(") Z ");
    } catch (IOException e) {
      return false;
    }
  }
}
