package dev.sluice.governor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The table of keys in docs/governor.md is the one of the code. */
class BudgetKeysTest {
  private static final Pattern ROW =
      Pattern.compile("\\| `([a-zA-Z0-9_.]+)` \\| (.+) \\| (none|`.+`) \\| (.+) \\|");
  private static final Pattern RANGE = Pattern.compile("(\\d+) to (\\d+)");
  private static final Pattern KNOWN = Pattern.compile("known are \\[(.*)\\]");

  /** A row of the table. */
  private record Row(String key, String value, String usual, String effect) {
    boolean hasEffect() {
      return !effect.equals("No effect.");
    }

    @Override
    public String toString() {
      return key;
    }
  }

  static List<Row> rows() throws IOException {
    String text = Files.readString(Path.of("..", "docs", "governor.md"));
    return text.substring(text.indexOf("## Keys of token-budget.json"))
        .lines()
        .map(ROW::matcher)
        .filter(Matcher::matches)
        .map(row -> new Row(row.group(1), row.group(2), row.group(3), row.group(4)))
        .toList();
  }

  private static Stream<Row> rowsWithDefault() throws IOException {
    return rows().stream().filter(row -> !row.usual().equals("none"));
  }

  private static Stream<Row> rowsWithRange() throws IOException {
    return rows().stream().filter(row -> RANGE.matcher(row.value()).matches());
  }

  private static Stream<Row> rowsWithoutEffect() throws IOException {
    return rows().stream().filter(row -> !row.hasEffect());
  }

  /** A file in which this key has this value. */
  private static BudgetConfig parse(String path, String value) {
    String key = "\"" + path.substring(path.lastIndexOf('.') + 1) + "\":" + value;
    String model = "";
    String tenant = "\"target_tpm\":1";
    String rules = "";
    String root = "";
    if (path.startsWith("models.X.tenants.X.")) {
      tenant = path.endsWith(".target_tpm") ? key : tenant + "," + key;
    } else if (path.startsWith("models.X.")) {
      model = key;
    } else if (path.startsWith("governor.")) {
      rules = key;
    } else {
      root = "," + key;
    }
    if (!path.equals("models.X.target_tpm")) {
      model = "\"target_tpm\":1" + (model.isEmpty() ? "" : ",") + model;
    }
    if (!path.equals("models.X.tenants")) {
      model += ",\"tenants\":{\"X\":{" + tenant + "}}";
    }
    return BudgetConfig.parse(
        "{\"models\":{\"X\":{" + model + "}},\"governor\":{" + rules + "}" + root + "}");
  }

  private static List<String> known(String prefix) {
    Throwable refused = catchThrowable(() -> parse(prefix + "zzz", "1"));
    Matcher known = KNOWN.matcher(String.valueOf(refused.getMessage()));
    assertThat(known.find()).as(refused.getMessage()).isTrue();
    return Stream.of(known.group(1).split(", ")).map(name -> prefix + name).toList();
  }

  @Test
  void theDocumentedKeys_areThoseThatAreKnown() throws IOException {
    List<String> known = new ArrayList<>();
    for (String prefix : List.of("", "models.X.", "models.X.tenants.X.", "governor.")) {
      known.addAll(known(prefix));
    }
    assertThat(rows()).extracting(Row::key).containsExactlyInAnyOrderElementsOf(known);
  }

  @ParameterizedTest
  @MethodSource("rowsWithDefault")
  void theDocumentedDefault_holdsWithoutTheKey(Row row) {
    String usual = row.usual().substring(1, row.usual().length() - 1);
    BudgetConfig without = parse("models.X.target_tpm", "1");
    if (row.key().equals("models.X.tenants")) {
      assertThat(parse(row.key(), usual).models().get("X").tenants()).isEmpty();
      assertThat(SeedBudget.read().models().values()).allMatch(each -> each.tenants().isEmpty());
    } else {
      assertThat(parse(row.key(), usual)).isEqualTo(without);
    }
  }

  @ParameterizedTest
  @MethodSource("rowsWithRange")
  void theDocumentedRange_isTheRule(Row row) {
    Matcher range = RANGE.matcher(row.value());
    assertThat(range.matches()).isTrue();
    long least = Long.parseLong(range.group(1));
    long most = Long.parseLong(range.group(2));
    BudgetConfig smallest = parse(row.key(), String.valueOf(least));
    assertThat(parse(row.key(), String.valueOf(most))).isNotEqualTo(smallest);
    assertThatThrownBy(() -> parse(row.key(), String.valueOf(least - 1)))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> parse(row.key(), String.valueOf(most + 1)))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @ParameterizedTest
  @MethodSource("rowsWithoutEffect")
  void ignoredKey_isDocumentedAsIgnored(Row row) {
    assertThat(parse(row.key(), "{}").ignoredKeys()).containsExactly(row.key());
  }

  @Test
  void effectiveKey_isNotDocumentedAsIgnored() throws IOException {
    for (Row row : rows()) {
      if (row.hasEffect() && RANGE.matcher(row.value()).matches()) {
        String least = row.value().substring(0, row.value().indexOf(' '));
        assertThat(parse(row.key(), least).ignoredKeys()).as(row.key()).isEmpty();
      }
    }
  }
}
