package dev.sluice.cli.text;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Parses tokens by name, written {@code NAME} or {@code NAME=TOKENS}. */
public final class CostArguments {
  private CostArguments() {}

  public static Map<String, Long> parse(List<String> texts) {
    Map<String, Long> costs = new LinkedHashMap<>();
    for (String text : texts) {
      int equals = text.lastIndexOf('=');
      String key = equals < 0 ? text : text.substring(0, equals);
      long tokens = equals < 0 ? 1 : Numbers.parse("TOKENS", text.substring(equals + 1));
      if (key.isEmpty() || tokens == 0) {
        throw new InvalidInputException(
            "the name must not be empty and TOKENS must be positive, but was " + Quoting.of(text));
      }
      if (costs.put(key, tokens) != null) {
        throw new InvalidInputException("a name can be given only once: " + Quoting.of(key));
      }
    }
    return costs;
  }
}
