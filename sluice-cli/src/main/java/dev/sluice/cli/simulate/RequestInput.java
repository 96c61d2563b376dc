package dev.sluice.cli.simulate;

import dev.sluice.cli.text.FileErrors;
import dev.sluice.cli.text.InvalidInputException;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Where requests come from: the arguments, a file, or standard input.
 *
 * @param arguments requests, or a single {@code -}
 * @param file a file, {@code -}, or null if the arguments count
 */
record RequestInput(List<String> arguments, @Nullable Path file) {
  private static final String STANDARD_INPUT = "-";

  List<RequestBatch> read(InputStream standardInput) {
    if (file == null && arguments.isEmpty()) {
      throw new InvalidInputException("no requests: give some, such as 0ms:7, or --file");
    }
    if (file != null && !arguments.isEmpty()) {
      throw new InvalidInputException("requests come from --file or from arguments, not from both");
    }
    if (isStandardInput()) {
      return readLines("standard input", () -> standardInput);
    }
    return file == null
        ? RequestParser.ofArguments(arguments)
        : readLines(file.toString(), () -> Files.newInputStream(file));
  }

  private boolean isStandardInput() {
    return file == null
        ? arguments.equals(List.of(STANDARD_INPUT))
        : file.equals(Path.of(STANDARD_INPUT));
  }

  @FunctionalInterface
  private interface Opener {
    InputStream open() throws IOException;
  }

  private static List<RequestBatch> readLines(String name, Opener opener) {
    try (InputStream bytes = opener.open()) {
      return RequestParser.ofLines(name, new InputStreamReader(bytes, StandardCharsets.UTF_8));
    } catch (IOException e) {
      throw FileErrors.cannotRead(name, e);
    }
  }
}
