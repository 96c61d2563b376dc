package dev.sluice.server;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The contents of {@code /metrics}.
 *
 * @param types of families of metrics, by name
 * @param help help texts of families that have one, by name
 * @param labels the names of those that the series of a metric have, by its name
 * @param series values by metric and labels, as they are written
 */
record Scrape(
    Map<String, String> types,
    Map<String, String> help,
    Map<String, Set<String>> labels,
    Map<String, Double> series) {
  private static final Pattern TYPE = Pattern.compile("# TYPE (\\w+) (\\w+)");
  private static final Pattern HELP = Pattern.compile("# HELP (\\w+) +(\\S.*)");
  private static final Pattern LABEL = Pattern.compile("(\\w+)=\"(?:[^\"\\\\]|\\\\.)*\"");
  private static final Pattern SERIES = Pattern.compile("(\\w+)(\\{.*})? (\\S+)");

  static Scrape of(HttpProbe http) {
    Scrape scrape =
        new Scrape(new TreeMap<>(), new TreeMap<>(), new TreeMap<>(), new LinkedHashMap<>());
    http.get("/metrics").response().body().lines().forEach(scrape::read);
    return scrape;
  }

  private void read(String line) {
    Matcher type = TYPE.matcher(line);
    Matcher helpful = HELP.matcher(line);
    Matcher one = SERIES.matcher(line);
    if (type.matches()) {
      types.put(type.group(1), type.group(2));
    } else if (helpful.matches()) {
      help.put(helpful.group(1), helpful.group(2));
    } else if (!line.startsWith("#") && one.matches()) {
      series.put(line.substring(0, line.lastIndexOf(' ')), Double.valueOf(one.group(3)));
      Set<String> names = labels.computeIfAbsent(one.group(1), name -> new TreeSet<>());
      if (one.group(2) != null) {
        LABEL.matcher(one.group(2)).results().forEach(label -> names.add(label.group(1)));
      }
    }
  }

  /** Zero if there is none. */
  double value(String of) {
    return series.getOrDefault(of, 0.0);
  }
}
