package dev.sluice.cli.text;

/** Quotes a user's text for messages. */
public final class Quoting {
  /** Long enough to recognize the text, short enough for one line. */
  private static final int MAX_LENGTH = 60;

  private Quoting() {}

  /** Returns the text in quotes, truncated, and without characters that control a terminal. */
  public static String of(String text) {
    String shown = text.length() > MAX_LENGTH ? text.substring(0, MAX_LENGTH) + "..." : text;
    return "'" + TerminalText.line(shown) + "'";
  }
}
