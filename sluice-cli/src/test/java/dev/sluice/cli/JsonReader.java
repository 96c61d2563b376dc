package dev.sluice.cli;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads JSON strictly into maps, lists, strings, longs, doubles and booleans. */
final class JsonReader {
  private final String text;
  private int at;

  private JsonReader(String text) {
    this.text = text;
  }

  static Map<String, Object> readObject(String text) {
    JsonReader reader = new JsonReader(text.strip());
    Map<String, Object> object = reader.object();
    reader.require(reader.at == reader.text.length(), "end");
    return object;
  }

  private Object value() {
    skipSpace();
    char c = text.charAt(at);
    if (c == '{') {
      return object();
    }
    if (c == '[') {
      return array();
    }
    return c == '"' ? string() : literal();
  }

  private Map<String, Object> object() {
    Map<String, Object> members = new LinkedHashMap<>();
    expect('{');
    if (ends('}')) {
      return members;
    }
    do {
      skipSpace();
      String name = string();
      expect(':');
      require(members.put(name, value()) == null, "a new name, not " + name);
    } while (more('}'));
    return members;
  }

  private List<Object> array() {
    List<Object> items = new ArrayList<>();
    expect('[');
    if (ends(']')) {
      return items;
    }
    do {
      items.add(value());
    } while (more(']'));
    return items;
  }

  private boolean ends(char end) {
    skipSpace();
    boolean ends = text.charAt(at) == end;
    at += ends ? 1 : 0;
    return ends;
  }

  private boolean more(char end) {
    skipSpace();
    char c = text.charAt(at++);
    require(c == ',' || c == end, ", or " + end);
    return c == ',';
  }

  private String string() {
    StringBuilder string = new StringBuilder();
    expect('"');
    for (char c = text.charAt(at++); c != '"'; c = text.charAt(at++)) {
      require(c >= ' ', "no control character");
      string.append(c == '\\' ? escaped() : c);
    }
    return string.toString();
  }

  private char escaped() {
    char c = text.charAt(at++);
    if (c == 'u') {
      at += 4;
      return (char) Integer.parseInt(text.substring(at - 4, at), 16);
    }
    require(c == '"' || c == '\\', "a known escape");
    return c;
  }

  private Object literal() {
    int start = at;
    while (at < text.length() && ",]}".indexOf(text.charAt(at)) < 0) {
      at++;
    }
    String literal = text.substring(start, at);
    if (literal.equals("true") || literal.equals("false")) {
      return Boolean.valueOf(literal);
    }
    return literal.contains(".")
        ? (Object) Double.valueOf(literal)
        : (Object) Long.valueOf(literal);
  }

  private void expect(char c) {
    skipSpace();
    require(text.charAt(at) == c, String.valueOf(c));
    at++;
  }

  private void skipSpace() {
    while (Character.isWhitespace(text.charAt(at))) {
      at++;
    }
  }

  private void require(boolean condition, String wanted) {
    if (!condition) {
      throw new AssertionError("wanted " + wanted + " at " + at + " of " + text);
    }
  }
}
