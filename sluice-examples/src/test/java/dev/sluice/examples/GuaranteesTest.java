package dev.sluice.examples;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.broker.BrokerException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The tests that tables name are there, and so are the metrics that pages name. */
final class GuaranteesTest {
  private static final Pattern SPAN = Pattern.compile("`([^`]+)`");
  private static final Pattern TEST = Pattern.compile("([A-Z]\\w+)(?:\\.([a-z*][\\w*]*))?");
  private static final Pattern METHOD = Pattern.compile("[a-z][\\w*]*\\*|[a-z]+[A-Z]\\w*");
  private static final Pattern METHOD_NAME = Pattern.compile("\\b([a-z]\\w*)\\s*\\(");
  private static final Pattern PARENTS =
      Pattern.compile("(?:class|interface) (\\w+)[^{]*?(?:extends|implements) ([\\w, .]+)");
  private static final Pattern METRIC = Pattern.compile("\\b((?:sluice|token_bucket)_\\w+)");
  private static final Pattern METRIC_ROW =
      Pattern.compile("(?m)^\\| `((?:sluice|token_bucket)_\\w+)` \\| \\w+ \\| ([^|]*) \\|");
  private static final Pattern SELECTED =
      Pattern.compile("\\b((?:sluice|token_bucket)_\\w+)\\{(\\w+)[!=~]+\"(\\w+)\"}");
  private static final Pattern BENCH = Pattern.compile("`\\./bench ([a-z-]+)");

  private final Map<String, String> sources = new HashMap<>();

  GuaranteesTest() {
    for (Path file : Pages.sources()) {
      sources.merge(
          file.getFileName().toString().replace(".java", ""), Pages.read(file), String::concat);
    }
  }

  /** Of a class and of what it extends or implements. */
  private Set<String> methods(String type) {
    String source = sources.get(type);
    Set<String> names = new HashSet<>();
    if (source != null) {
      names.addAll(Pages.groups(METHOD_NAME, source));
      Matcher parents = PARENTS.matcher(source);
      while (parents.find()) {
        if (parents.group(1).equals(type)) {
          for (String parent : parents.group(2).split("[, .]+", -1)) {
            names.addAll(parent.equals(type) ? Set.of() : methods(parent));
          }
        }
      }
    }
    return names;
  }

  private boolean has(String type, String pattern) {
    Pattern method = Pattern.compile(pattern.replace("*", ".*"));
    return methods(type).stream().anyMatch(name -> method.matcher(name).matches());
  }

  /** The rows of tables whose last column names tests. */
  private static List<String> rowsWithTests(String... pages) {
    List<String> rows = new ArrayList<>();
    for (String page : pages) {
      boolean namesTests = false;
      for (String line : Pages.read(page).lines().toList()) {
        boolean isHeader = line.endsWith("| defended by |") || line.endsWith("| test |");
        namesTests = isHeader || (namesTests && line.startsWith("|"));
        if (namesTests && !isHeader && line.startsWith("| ")) {
          rows.add(line);
        }
      }
    }
    return rows;
  }

  @Test
  void namedTests_exist() {
    List<String> missing = new ArrayList<>();
    int named = 0;
    for (String row :
        rowsWithTests(
            "docs/guarantees.md", "docs/fila.md", "docs/governor-fleet.md", "docs/redis.md")) {
      String defence = row.substring(row.lastIndexOf(" | "));
      List<String> types = new ArrayList<>();
      for (String span : Pages.groups(SPAN, defence)) {
        Matcher test = TEST.matcher(span);
        if (test.matches()) {
          named++;
          types.add(test.group(1));
          String method = test.group(2);
          if (!sources.containsKey(test.group(1))
              || (method != null && !has(test.group(1), method))) {
            missing.add(span);
          }
        } else if (METHOD.matcher(span).matches()) {
          named++;
          if (types.stream().noneMatch(type -> has(type, span))) {
            missing.add(types + " " + span);
          }
        }
      }
    }
    assertThat(missing).isEmpty();
    assertThat(named).isGreaterThan(300);
  }

  /** Those of the table in docs/operations.md, which DashboardTest holds against the server. */
  @Test
  void namedMetrics_areInTheTable() {
    Set<String> known = new TreeSet<>(Pages.groups(METRIC_ROW, Pages.read("docs/operations.md")));
    assertThat(known).hasSizeGreaterThan(30);
    Set<String> strange = new TreeSet<>();
    for (Path page : Pages.all()) {
      for (String name : Pages.groups(METRIC, Pages.read(page))) {
        String base = name.replaceAll("_(bucket|count|sum|max)$", "");
        if (!known.contains(name) && !(base.endsWith("_seconds") && known.contains(base))) {
          strange.add(Pages.ROOT.relativize(page) + ": " + name);
        }
      }
    }
    assertThat(strange).isEmpty();
  }

  @Test
  void alerts_selectByExistingLabels() {
    String page = Pages.read("docs/operations.md");
    Map<String, String> labels = new HashMap<>();
    METRIC_ROW.matcher(page).results().forEach(row -> labels.put(row.group(1), row.group(2)));
    List<MatchResult> selected = SELECTED.matcher(page).results().toList();
    assertThat(selected).isNotEmpty();
    for (MatchResult each : selected) {
      String metric = each.group(1).replaceAll("_seconds_(bucket|count|sum|max)$", "_seconds");
      assertThat(labels.get(metric)).as(each.group()).contains("`" + each.group(2) + "`");
      // Values are named in the table, or are the broker's reasons in small letters.
      String value = each.group(3);
      assertThat(page.contains("`" + value + "`") || isReason(value)).as(each.group()).isTrue();
    }
  }

  private static boolean isReason(String value) {
    return Stream.of(BrokerException.Code.values())
        .anyMatch(code -> code.name().toLowerCase(Locale.ROOT).equals(value));
  }

  @Test
  void namedBenchmarks_haveAChapter() {
    String chapters = Pages.read("docs/benchmarks.md");
    for (Path page : Pages.all()) {
      for (String name : Pages.groups(BENCH, Pages.read(page))) {
        assertThat(chapters).as("%s of %s", name, page).contains("\n## " + name + "\n");
      }
    }
    assertThat(Files.exists(Pages.ROOT.resolve("bench"))).isTrue();
  }
}
