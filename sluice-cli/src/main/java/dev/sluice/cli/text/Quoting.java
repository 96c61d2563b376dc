package dev.sluice.cli.text;

/** A user's text as messages show it. */
public final class Quoting {
  /** Enough to recognise it, short enough for one line. */
  private static final int MAX_LENGTH = 60;

  private Quoting() {}

  /** In quotes, cut if long, and without characters that would upset a terminal. */
  public static String of(String text) {
    String shown = text.length() > MAX_LENGTH ? text.substring(0, MAX_LENGTH) + "..." : text;
    return "'" + TerminalText.line(shown) + "'";
  }
}
