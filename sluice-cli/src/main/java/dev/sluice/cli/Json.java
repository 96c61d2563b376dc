package dev.sluice.cli;

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

  private Json putRaw(String name, String value) {
    if (text.length() > 1) {
      text.append(',');
    }
    text.append(quote(name)).append(':').append(value);
    return this;
  }

  static String quote(String value) {
    StringBuilder quoted = new StringBuilder("\"");
    for (int i = 0; i < value.length(); i++) {
      char c = value.charAt(i);
      if (c == '"' || c == '\\') {
        quoted.append('\\').append(c);
      } else if (c < ' ') {
        quoted.append(String.format("\\u%04x", (int) c));
      } else {
        quoted.append(c);
      }
    }
    return quoted.append('"').toString();
  }

  @Override
  public String toString() {
    return text + "}";
  }
}
