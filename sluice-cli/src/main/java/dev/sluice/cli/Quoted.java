package dev.sluice.cli;

/** A user's text as messages show it. */
final class Quoted {
  /** Enough to recognise it, short enough for one line. */
  private static final int MAX_LENGTH = 60;

  private Quoted() {}

  /** In quotes, cut if long, and without characters that would upset a terminal. */
  static String of(String text) {
    String shown = text.length() > MAX_LENGTH ? text.substring(0, MAX_LENGTH) + "..." : text;
    return "'" + Printable.line(shown) + "'";
  }
}
