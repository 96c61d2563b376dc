package dev.sluice.cli.runtime;

import dev.sluice.cli.text.FileErrors;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** Reads files and the standard input, which is named {@code -}. */
public final class InputFiles {
  private static final String STANDARD = "-";

  private InputFiles() {}

  /** Returns the whole content. */
  public static byte[] bytes(String file, InputStream standard) {
    try {
      return file.equals(STANDARD) ? standard.readAllBytes() : Files.readAllBytes(Path.of(file));
    } catch (IOException unreadable) {
      throw FileErrors.cannotRead(file, unreadable);
    }
  }

  /** Returns a reader of UTF-8 lines. */
  public static BufferedReader lines(String file, InputStream standard) {
    try {
      return file.equals(STANDARD)
          ? new BufferedReader(new InputStreamReader(standard, StandardCharsets.UTF_8))
          : Files.newBufferedReader(Path.of(file));
    } catch (IOException unreadable) {
      throw FileErrors.cannotRead(file, unreadable);
    }
  }

  /** Returns the next line, or null at the end. */
  public static @Nullable String next(BufferedReader lines, String file) {
    try {
      return lines.readLine();
    } catch (IOException unreadable) {
      throw FileErrors.cannotRead(file, unreadable);
    }
  }

  /** Returns the size of a file; 0 if it is unknown. */
  public static long size(String file) {
    try {
      return file.equals(STANDARD) ? 0 : Files.size(Path.of(file));
    } catch (IOException unknown) {
      return 0;
    }
  }

  /** Reads one line and no byte beyond it; empty at the end. */
  static String line(InputStream standard) {
    ByteArrayOutputStream line = new ByteArrayOutputStream();
    try {
      for (int next = standard.read(); next >= 0 && next != '\n'; next = standard.read()) {
        line.write(next);
      }
    } catch (IOException unreadable) {
      throw FileErrors.cannotRead(STANDARD, unreadable);
    }
    return line.toString(StandardCharsets.UTF_8);
  }
}
