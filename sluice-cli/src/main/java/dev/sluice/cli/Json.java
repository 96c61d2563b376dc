package dev.sluice.cli;

import java.util.Collection;
import java.util.Map;
import java.util.stream.Collectors;

/** Writes one JSON object; as much of JSON as this command line prints. */
final class Json {
  private final StringBuilder text = new StringBuilder("{");

  private Json() {}

  static Json object() {
    return new Json();
  }

  Json put(String name, String value) {
    return putRaw(name, quote(value));
  }

  Json put(String name, long value) {
    return putRaw(name, Long.toString(value));
  }

  Json put(String name, boolean value) {
    return putRaw(name, Boolean.toString(value));
  }

  Json put(String name, Json value) {
    return putRaw(name, value.toString());
  }

  Json put(String name, double value) {
    return putRaw(name, Double.toString(value));
  }

  Json put(String name, Map<String, String> values) {
    Json object = object();
    values.forEach(object::put);
    return put(name, object);
  }

  Json putTexts(String name, Collection<String> values) {
    return putArray(name, values.stream().map(Json::quote).toList());
  }

  Json putObjects(String name, Collection<Json> values) {
    return putArray(name, values.stream().map(Json::toString).toList());
  }

  private Json putArray(String name, Collection<String> values) {
    return putRaw(name, values.stream().collect(Collectors.joining(",", "[", "]")));
  }

  private Json putRaw(String name, String value) {
    if (text.length() > 1) {
      text.append(',');
    }
    text.append(quote(name)).append(':').append(value);
    return this;
  }

  static String quote(String value) {
    StringBuilder quoted = new StringBuilder("\"");
    value.codePoints().forEach(each -> append(quoted, each));
    return quoted.append('"').toString();
  }

  /** What is not {@link Printable} is escaped: the same to a reader, and harmless on a terminal. */
  private static void append(StringBuilder quoted, int character) {
    if (character == '"' || character == '\\') {
      quoted.append('\\').appendCodePoint(character);
    } else if (Printable.is(character)) {
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
