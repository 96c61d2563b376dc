package dev.sluice.cli.text;

import java.util.Collection;
import java.util.Map;
import java.util.stream.Collectors;

/** Writes one JSON object, with the types that the command line prints. */
public final class JsonWriter {
  private final StringBuilder text = new StringBuilder("{");

  private JsonWriter() {}

  public static JsonWriter object() {
    return new JsonWriter();
  }

  public JsonWriter put(String name, String value) {
    return putRaw(name, quote(value));
  }

  public JsonWriter put(String name, long value) {
    return putRaw(name, Long.toString(value));
  }

  public JsonWriter put(String name, boolean value) {
    return putRaw(name, Boolean.toString(value));
  }

  public JsonWriter put(String name, JsonWriter value) {
    return putRaw(name, value.toString());
  }

  public JsonWriter put(String name, double value) {
    return putRaw(name, Double.toString(value));
  }

  public JsonWriter put(String name, Map<String, String> values) {
    JsonWriter object = object();
    values.forEach(object::put);
    return put(name, object);
  }

  public JsonWriter putTexts(String name, Collection<String> values) {
    return putArray(name, values.stream().map(JsonWriter::quote).toList());
  }

  public JsonWriter putObjects(String name, Collection<JsonWriter> values) {
    return putArray(name, values.stream().map(JsonWriter::toString).toList());
  }

  private JsonWriter putArray(String name, Collection<String> values) {
    return putRaw(name, values.stream().collect(Collectors.joining(",", "[", "]")));
  }

  private JsonWriter putRaw(String name, String value) {
    if (text.length() > 1) {
      text.append(',');
    }
    text.append(quote(name)).append(':').append(value);
    return this;
  }

  public static String quote(String value) {
    StringBuilder quoted = new StringBuilder("\"");
    value.codePoints().forEach(each -> append(quoted, each));
    return quoted.append('"').toString();
  }

  /**
   * Escapes characters that are not {@link TerminalText}: the same for parsers, and harmless on a
   * terminal.
   */
  private static void append(StringBuilder quoted, int character) {
    if (character == '"' || character == '\\') {
      quoted.append('\\').appendCodePoint(character);
    } else if (TerminalText.is(character)) {
      quoted.appendCodePoint(character);
    } else {
      for (char unit : Character.toChars(character)) {
        quoted.append(String.format("\\u%04x", (int) unit));
      }
    }
  }

  @Override
  public String toString() {
    return text + "}";
  }
}
