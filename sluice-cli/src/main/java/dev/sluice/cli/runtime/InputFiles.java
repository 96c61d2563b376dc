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

/** What is read from files and from the standard input, which is called {@code -}. */
public final class InputFiles {
  private static final String STANDARD = "-";

  private InputFiles() {}

  /** All of it. */
  public static byte[] bytes(String file, InputStream standard) {
    try {
      return file.equals(STANDARD) ? standard.readAllBytes() : Files.readAllBytes(Path.of(file));
    } catch (IOException unreadable) {
      throw FileErrors.cannotRead(file, unreadable);
    }
  }

  /** Line by line, as UTF-8. */
  public static BufferedReader lines(String file, InputStream standard) {
    try {
      return file.equals(STANDARD)
          ? new BufferedReader(new InputStreamReader(standard, StandardCharsets.UTF_8))
          : Files.newBufferedReader(Path.of(file));
    } catch (IOException unreadable) {
      throw FileErrors.cannotRead(file, unreadable);
    }
  }

  /** Null at the end. */
  public static @Nullable String next(BufferedReader lines, String file) {
    try {
      return lines.readLine();
    } catch (IOException unreadable) {
      throw FileErrors.cannotRead(file, unreadable);
    }
  }

  /** How large a file is; 0 if nobody knows. */
  public static long size(String file) {
    try {
      return file.equals(STANDARD) ? 0 : Files.size(Path.of(file));
    } catch (IOException unknown) {
      return 0;
    }
  }

  /** One line and no byte more; empty at the end. */
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
