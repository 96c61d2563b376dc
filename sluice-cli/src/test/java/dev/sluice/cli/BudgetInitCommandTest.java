package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.Allocation;
import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.ModelBudget;
import dev.sluice.testkit.load.SeedBudget;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class BudgetInitCommandTest {
  /** A row of the table of keys: the last part of a key that has an effect. */
  private static final Pattern KEY =
      Pattern.compile(
          "(?m)^\\| `(?:\\w+\\.)*(\\w+)` \\| [^|]* \\| [^|]* \\| (?!No effect)[^|]* \\|$");

  @TempDir Path dir;

  @Test
  void init_writesAFileWithEveryKey() throws IOException {
    Path file = dir.resolve("budget.json");
    Cli cli = Cli.run("governor", "init", file.toString());
    assertThat(cli.exitCode()).isZero();
    assertThat(cli.out()).contains("SLUICE_GOVERNOR_FILE=" + file);
    String written = Files.readString(file);
    assertThat(documentedKeys()).hasSizeGreaterThan(20).allMatch(key -> written.contains(key));
    BudgetConfig config = BudgetConfig.read(file);
    assertThat(config.ignoredKeys()).isEmpty();
    ModelBudget plain = SeedBudget.budget(100_000, 100_000).allocation(Allocation.CEILING).build();
    assertThat(config)
        .isEqualTo(
            BudgetConfig.builder()
                .models(
                    Map.of(
                        "my-model",
                        plain.toBuilder()
                            .maxContextTokens(128_000)
                            .maxOutputTokens(16_384)
                            .build()))
                .build());
  }

  /** Keys of tenants end like keys of models, except for the weight, which is left out. */
  private static List<String> documentedKeys() throws IOException {
    return KEY.matcher(Files.readString(Path.of("../docs/governor.md")))
        .results()
        .map((MatchResult row) -> "\"" + row.group(1) + "\"")
        .filter(key -> !key.equals("\"weight\""))
        .distinct()
        .toList();
  }

  @Test
  void existingFile_isReplacedOnlyByForce() throws IOException {
    Path file = Files.writeString(dir.resolve("budget.json"), "mine");
    Cli refused = Cli.run("governor", "init", file.toString());
    assertThat(refused.exitCode()).isEqualTo(2);
    assertThat(refused.err()).contains("budget.json", "exists; --force replaces it");
    assertThat(file).hasContent("mine");
    assertThat(Cli.run("governor", "init", "--force", file.toString()).exitCode()).isZero();
    assertThat(BudgetConfig.read(file).models()).containsOnlyKeys("my-model");
  }

  @Test
  void folderThatDoesNotExist_isNamed() {
    Cli refused = Cli.run("governor", "init", dir.resolve("no/budget.json").toString());
    assertThat(refused.exitCode()).isEqualTo(2);
    assertThat(refused.err()).contains("no such directory");
  }
}
