package dev.sluice.cli.text;

/**
 * Makes untrusted text safe for a terminal: characters that control a terminal, are invisible or
 * reverse the order of others become question marks.
 *
 * <p>These are the Unicode categories Cc, Cf, Cs, Zl and Zp. Private and unassigned characters (Co,
 * Cn) stay: a terminal can only draw them, and a character that this Java does not know may be
 * assigned by now.
 */
public final class TerminalText {
  private static final int REPLACEMENT = '?';

  private TerminalText() {}

  /** Returns one safe line; line feeds and tabs are replaced. */
  public static String line(String text) {
    return replaced(text, false);
  }

  /** Returns safe text of several lines; line feeds and tabs stay. */
  public static String lines(String text) {
    return replaced(text, true);
  }

  private static String replaced(String text, boolean lines) {
    if (text.codePoints().allMatch(each -> stays(each, lines))) {
      return text;
    }
    StringBuilder shown = new StringBuilder(text.length());
    text.codePoints()
        .forEach(each -> shown.appendCodePoint(stays(each, lines) ? each : REPLACEMENT));
    return shown.toString();
  }

  private static boolean stays(int character, boolean lines) {
    return is(character) || (lines && (character == '\n' || character == '\t'));
  }

  /** Returns whether a terminal only draws the character. */
  static boolean is(int character) {
    return switch (Character.getType(character)) {
      case Character.CONTROL,
          Character.FORMAT,
          Character.SURROGATE,
          Character.LINE_SEPARATOR,
          Character.PARAGRAPH_SEPARATOR ->
          false;
      default -> true;
    };
  }
}
