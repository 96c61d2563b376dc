package dev.sluice.cli.text;

/**
 * Text that others wrote, such as a server or a producer, as people see it: characters that steer a
 * terminal, that are not seen or that turn the order of others around become question marks.
 *
 * <p>These are the Unicode categories Cc, Cf, Cs, Zl and Zp. Private and unassigned characters (Co,
 * Cn) stay: a terminal has nothing to do for them but to draw, and what is unassigned for this Java
 * may be a letter by now.
 */
public final class TerminalText {
  private static final int REPLACEMENT = '?';

  private TerminalText() {}

  /** One line of it. */
  public static String line(String text) {
    return replaced(text, false);
  }

  /** Also many lines: line feeds and tabs stay. */
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

  /** Whether the character is drawn, and does nothing else. */
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
