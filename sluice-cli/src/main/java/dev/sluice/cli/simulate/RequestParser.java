package dev.sluice.cli.simulate;

import dev.sluice.cli.text.Durations;
import dev.sluice.cli.text.InvalidInputException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.Reader;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/** Collects the requests of a simulation and checks them as they come. */
final class RequestParser {
  /** The most requests that fit into the default heap. */
  static final int MAX_COUNT = 1_000_000;

  /** Far beyond any request; keeps a file without line ends from filling the heap. */
  private static final int MAX_LINE = 10_000;

  private static final Pattern COMMENT = Pattern.compile("#.*");

  private final List<RequestBatch> batches = new ArrayList<>();
  private int count;
  private long tokens;
  private long lastNanos;

  static List<RequestBatch> ofArguments(List<String> arguments) {
    RequestParser requests = new RequestParser();
    for (int i = 0; i < arguments.size(); i++) {
      requests.add("request " + (i + 1), arguments.get(i));
    }
    return requests.batches;
  }

  /** Parses one request per line; {@code #} begins a comment. */
  static List<RequestBatch> ofLines(String source, Reader reader) throws IOException {
    RequestParser requests = new RequestParser();
    BufferedReader lines = new BufferedReader(reader);
    boolean more = true;
    for (int number = 1; more; number++) {
      String where = source + ", line " + number;
      StringBuilder line = new StringBuilder();
      more = readLine(lines, line, where);
      String request = COMMENT.matcher(line).replaceFirst("").strip();
      if (!request.isEmpty()) {
        requests.add(where, request);
      }
    }
    if (requests.batches.isEmpty()) {
      throw new InvalidInputException("there is no request in " + source);
    }
    return requests.batches;
  }

  /** Appends the next line to {@code line}; false if it was the last. */
  private static boolean readLine(BufferedReader reader, StringBuilder line, String where)
      throws IOException {
    int c;
    while ((c = reader.read()) >= 0 && c != '\n') {
      if (line.length() == MAX_LINE) {
        throw new InvalidInputException(where + ": a line has at most " + MAX_LINE + " characters");
      }
      line.append((char) c);
    }
    return c >= 0;
  }

  private void add(String where, String text) {
    try {
      RequestBatch batch = RequestBatch.parse(text);
      account(batch);
      batches.add(batch);
    } catch (InvalidInputException e) {
      throw new InvalidInputException(where + ": " + e.getMessage());
    }
  }

  private void account(RequestBatch batch) {
    if (batch.timeNanos() < lastNanos) {
      throw new InvalidInputException(
          "times must not go back: "
              + Durations.format(batch.timeNanos())
              + " comes after "
              + Durations.format(lastNanos));
    }
    if (batch.count() > MAX_COUNT - count) {
      throw new InvalidInputException(
          "at most "
              + MAX_COUNT
              + " requests can be simulated: this would make "
              + ((long) count + batch.count()));
    }
    lastNanos = batch.timeNanos();
    count += batch.count();
    tokens = sum(batch);
  }

  private long sum(RequestBatch batch) {
    try {
      return Math.addExact(tokens, Math.multiplyExact(batch.tokens(), batch.count()));
    } catch (ArithmeticException e) {
      throw new InvalidInputException(
          "all requests together may ask for at most " + Long.MAX_VALUE + " tokens");
    }
  }
}
