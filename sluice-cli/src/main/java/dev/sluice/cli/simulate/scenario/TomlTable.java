package dev.sluice.cli.simulate.scenario;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.sluice.cli.text.Durations;
import dev.sluice.cli.text.InvalidInputException;
import dev.sluice.cli.text.JsonWriter;
import dev.sluice.cli.text.Numbers;
import dev.sluice.cli.text.RefillRate;
import dev.sluice.cli.text.Suggestions;
import dev.sluice.cli.text.TerminalText;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.regex.Pattern;

/** A table of a scenario file, read key by key. Errors have the file, the key and the value. */
final class TomlTable {
  private static final Pattern BARE = Pattern.compile("[A-Za-z0-9_-]+");
  private static final Pattern SLASH = Pattern.compile("/");

  /** A million events a second: more than a useful simulation needs. */
  private static final double MAX_RATE = 1_000_000;

  private final String file;
  private final String path;
  private final String name;
  private final ObjectNode node;

  private TomlTable(String file, String path, String name, ObjectNode node) {
    this.file = file;
    this.path = path;
    this.name = name;
    this.node = node;
  }

  static TomlTable root(String file, ObjectNode node) {
    return new TomlTable(file, "", "", node);
  }

  /** The last part of its path, such as the name of a queue. */
  String name() {
    return name;
  }

  /** Returns the path in the file. Together with the seed it determines the random source. */
  String path() {
    return path;
  }

  /** Refuses every other key. */
  TomlTable only(List<String> keys) {
    for (Map.Entry<String, JsonNode> each : node.properties()) {
      if (!keys.contains(each.getKey())) {
        List<String> meant = Suggestions.of(each.getKey(), keys);
        throw new InvalidInputException(
            "%s: unknown key %s; known are %s%s"
                .formatted(
                    file,
                    pathOf(each.getKey()),
                    String.join(", ", keys),
                    meant.isEmpty() ? "" : "; did you mean " + String.join(" or ", meant) + "?"));
      }
    }
    return this;
  }

  boolean has(String key) {
    return node.has(key);
  }

  JsonNode raw(String key) {
    JsonNode value = node.get(key);
    if (value == null) {
      throw new InvalidInputException("%s: %s is missing".formatted(file, pathOf(key)));
    }
    return value;
  }

  String text(String key) {
    JsonNode value = raw(key);
    if (!value.isTextual() || value.textValue().isEmpty()) {
      throw wrong(key, "text in quotes");
    }
    return value.textValue();
  }

  String text(String key, String usual) {
    return has(key) ? text(key) : usual;
  }

  long whole(String key, long least, long most) {
    JsonNode value = raw(key);
    if (!value.isIntegralNumber()
        || !value.canConvertToLong()
        || value.longValue() < least
        || value.longValue() > most) {
      throw wrong(key, "a whole number from %d to %d".formatted(least, most));
    }
    return value.longValue();
  }

  long whole(String key, long least, long most, long usual) {
    return has(key) ? whole(key, least, most) : usual;
  }

  int small(String key, int least, int most, int usual) {
    return (int) whole(key, least, most, usual);
  }

  double number(String key, double least, double most) {
    JsonNode value = raw(key);
    // Also false for values that are no numbers.
    if (!value.isNumber() || !(value.doubleValue() >= least && value.doubleValue() <= most)) {
      throw wrong(
          key, "a number from %s to %s".formatted(Numbers.format(least), Numbers.format(most)));
    }
    return value.doubleValue();
  }

  boolean flag(String key) {
    if (has(key) && !raw(key).isBoolean()) {
      throw wrong(key, "true or false");
    }
    return has(key) && raw(key).booleanValue();
  }

  /** A duration, in nanoseconds. */
  long nanos(String key) {
    JsonNode value = raw(key);
    if (!value.isTextual()) {
      throw wrong(key, "a duration in quotes, such as \"1.5s\"");
    }
    return at(key, () -> Durations.parseNanos(value.textValue()));
  }

  long nanos(String key, long usual) {
    return has(key) ? nanos(key) : usual;
  }

  long positiveNanos(String key) {
    long nanos = nanos(key);
    if (nanos == 0) {
      throw wrong(key, "longer than 0s");
    }
    return nanos;
  }

  /** A number a second, or such as {@code "600/1m"}. */
  double rate(String key, double least) {
    JsonNode value = raw(key);
    double rate = Double.NaN;
    if (value.isNumber()) {
      rate = value.doubleValue();
    } else if (value.isTextual()) {
      String[] parts = SLASH.split(value.textValue(), -1);
      if (parts.length != 2) {
        throw wrong(key, "a number a second, or a rate such as \"600/1m\"");
      }
      rate =
          at(
              key,
              () ->
                  Numbers.parseDecimal("the number before /", parts[0])
                      * Durations.SECOND
                      / RefillRate.parsePeriod(parts[1]).toNanos());
    }
    if (!(rate >= least && rate <= MAX_RATE)) {
      throw wrong(
          key,
          "a number a second, or a rate such as \"600/1m\", from %s to %s a second"
              .formatted(least > 0 ? "more than 0" : "0", Numbers.format(MAX_RATE)));
    }
    return rate;
  }

  /** A time of day, in nanoseconds since midnight. */
  long timeOfDay(String key, String usual) {
    String text = text(key, usual);
    if (!text.matches("([01][0-9]|2[0-3]):[0-5][0-9]")) {
      throw wrong(key, "a time of day from \"00:00\" to \"23:59\"");
    }
    long minutes = Long.parseLong(text.substring(0, 2)) * 60 + Long.parseLong(text.substring(3));
    return minutes * 60 * Durations.SECOND;
  }

  List<String> texts(String key) {
    List<String> texts = new ArrayList<>();
    if (has(key)) {
      JsonNode list = raw(key);
      if (!list.isArray()) {
        throw wrong(key, "a list of texts in quotes");
      }
      for (JsonNode each : list) {
        if (!each.isTextual() || each.textValue().isEmpty()) {
          throw wrong(key, "a list of texts in quotes");
        }
        texts.add(each.textValue());
      }
    }
    return texts;
  }

  boolean isTable(String key) {
    return raw(key).isObject();
  }

  TomlTable table(String key) {
    if (!(raw(key) instanceof ObjectNode table)) {
      throw wrong(key, "a table");
    }
    return new TomlTable(file, pathOf(key), key, table);
  }

  /** Returns the tables in the table {@code key}, by name; none if there is no such key. */
  List<TomlTable> tables(String key) {
    if (!has(key)) {
      return List.of();
    }
    TomlTable outer = table(key);
    return outer.node.properties().stream().map(each -> outer.table(each.getKey())).toList();
  }

  InvalidInputException wrong(String key, String rule) {
    return new InvalidInputException(
        "%s: %s must be %s, but was %s"
            .formatted(file, pathOf(key), rule, TerminalText.line(raw(key).toString())));
  }

  /** A sentence about a key. */
  InvalidInputException about(String key, String sentence) {
    return new InvalidInputException("%s: %s %s".formatted(file, pathOf(key), sentence));
  }

  /** Runs {@code work} and adds the place to its errors. */
  <T> T at(String key, Supplier<T> work) {
    try {
      return work.get();
    } catch (InvalidInputException | IllegalArgumentException wrong) {
      throw new InvalidInputException(
          "%s: %s: %s".formatted(file, pathOf(key), wrong.getMessage()));
    }
  }

  /** Returns an error whose message has the key already. */
  InvalidInputException unplaced(IllegalArgumentException wrong) {
    return new InvalidInputException("%s: %s".formatted(file, wrong.getMessage()));
  }

  private String pathOf(String key) {
    String shown = BARE.matcher(key).matches() ? key : JsonWriter.quote(key);
    return path.isEmpty() ? shown : path + "." + shown;
  }
}
