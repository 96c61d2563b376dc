package dev.sluice.bench.measure;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/** The results of a benchmark: lines for people, then one line of JSON for programs. */
public final class Report {
  private final List<String> lines = new ArrayList<>();
  private final Map<String, Double> values = new LinkedHashMap<>();
  private final Map<String, Double> ratios = new LinkedHashMap<>();

  public void line(String format, Object... arguments) {
    lines.add(String.format(Locale.ROOT, format, arguments));
  }

  public void value(String name, double value) {
    values.put(name, value);
  }

  public void ratio(String name, double value) {
    ratios.put(name, value);
  }

  public void print(String bench) {
    lines.forEach(System.out::println);
    System.out.printf(
        "{\"bench\":\"%s\",\"values\":%s,\"ratios\":%s}%n", bench, json(values), json(ratios));
  }

  private static String json(Map<String, Double> numbers) {
    return numbers.entrySet().stream()
        .map(e -> String.format(Locale.ROOT, "\"%s\":%.3f", e.getKey(), e.getValue()))
        .collect(Collectors.joining(",", "{", "}"));
  }
}
