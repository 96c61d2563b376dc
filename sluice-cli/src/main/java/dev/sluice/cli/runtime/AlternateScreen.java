package dev.sluice.cli.runtime;

import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The alternate screen of a terminal, rewritten in place. Closing restores the previous content and
 * the keyboard mode. Without {@code stty}, keys are read only after Enter.
 */
public final class AlternateScreen implements AutoCloseable {
  private static final String ENTER = "\u001b[?1049h\u001b[?25l";
  private static final String LEAVE = "\u001b[?25h\u001b[?1049l";
  private static final String HOME = "\u001b[H";
  private static final String CLEAR_LINE = "\u001b[K";
  private static final String CLEAR_REST = "\u001b[J";
  private static final int WIDTH = 80;
  private static final int HEIGHT = 24;

  private final PrintWriter out;
  private final CommandContext context;
  private final Optional<String> settings;

  /** The size of the terminal, in characters. */
  public record Size(int width, int height) {}

  public AlternateScreen(PrintWriter out, CommandContext context) {
    this.out = out;
    this.context = context;
    this.settings = stty("-g");
    settings.ifPresent(before -> stty("-icanon", "-echo"));
    out.print(ENTER);
    out.flush();
  }

  public void show(List<String> lines) {
    StringBuilder frame = new StringBuilder(HOME);
    for (int i = 0; i < lines.size(); i++) {
      frame.append(i == 0 ? "" : "\r\n").append(lines.get(i)).append(CLEAR_LINE);
    }
    out.print(frame.append(CLEAR_REST));
    out.flush();
  }

  /** Returns the present size. */
  public Size size() {
    return stty("size")
        .map(AlternateScreen::parse)
        .orElseGet(() -> ofEnvironment(context.environment()));
  }

  /** Parses rows and columns as stty prints them; a terminal without a known size prints 0. */
  public static Size parse(String rowsAndColumns) {
    if (!rowsAndColumns.matches("[1-9][0-9]{0,4} [1-9][0-9]{0,4}")) {
      return new Size(WIDTH, HEIGHT);
    }
    int space = rowsAndColumns.indexOf(' ');
    return new Size(
        Integer.parseInt(rowsAndColumns.substring(space + 1)),
        Integer.parseInt(rowsAndColumns.substring(0, space)));
  }

  private static Size ofEnvironment(Map<String, String> environment) {
    return parse(
        environment.getOrDefault("LINES", "" + HEIGHT)
            + " "
            + environment.getOrDefault("COLUMNS", "" + WIDTH));
  }

  /** Returns whether the user has pressed q. */
  public boolean quitAsked() {
    try {
      InputStream input = context.input();
      while (input.available() > 0) {
        int key = input.read();
        if (key == 'q' || key == 'Q') {
          return true;
        }
      }
      return false;
    } catch (IOException closed) {
      return false;
    }
  }

  @Override
  public void close() {
    out.print(LEAVE);
    out.flush();
    settings.ifPresent(this::stty);
  }

  /** Runs stty and returns its output; empty without a terminal or without stty. */
  private Optional<String> stty(String... arguments) {
    if (!context.terminals().input()) {
      return Optional.empty();
    }
    String[] command = new String[arguments.length + 1];
    command[0] = "stty";
    System.arraycopy(arguments, 0, command, 1, arguments.length);
    try {
      Process process =
          new ProcessBuilder(command)
              .redirectInput(Redirect.INHERIT)
              .redirectError(Redirect.DISCARD)
              .start();
      String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      return process.waitFor() == 0 ? Optional.of(output.strip()) : Optional.empty();
    } catch (IOException absent) {
      return Optional.empty();
    } catch (InterruptedException now) {
      Thread.currentThread().interrupt();
      return Optional.empty();
    }
  }
}
