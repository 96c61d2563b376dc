package dev.sluice.governor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class BudgetFileTest {
  @TempDir Path dir;

  private static String model(String body) {
    return "{\"models\":{\"m\":{" + body + "}}}";
  }

  @Test
  void shipped_hasTheFourModels() {
    Map<String, ModelBudget> models = BudgetFile.shipped().models();
    assertThat(models)
        .containsOnlyKeys("AX9F7E2B-sonnet-4-5", "OX7A3F8D", "GE6D8A4F", "deepseek-r1");
    ModelBudget sonnet = models.get("AX9F7E2B-sonnet-4-5");
    assertThat(sonnet.targetTpm()).isEqualTo(240_000);
    assertThat(sonnet.burstTpm()).isEqualTo(300_000);
    assertThat(sonnet.requestsPerSecond()).isEqualTo(50);
    assertThat(sonnet.allocation()).isEqualTo(Allocation.CEILING);
    assertThat(sonnet.classes()).isEqualTo(ModelBudget.USUAL_CLASSES);
    assertThat(BudgetFile.shipped().withoutEffect())
        .contains("models.OX7A3F8D.max_ctx", "governor.monitor_interval_ms");
  }

  @Test
  void everything_isRead() {
    BudgetConfig config =
        BudgetFile.parse(
            """
            {"models": {"m": {
               "target_tpm": 1000, "burst_tpm": 2000, "provider_tpm": 3000, "rpm": 60,
               "concurrency": 4, "allocation": "scale",
               "priority_classes": {"urgent": 1, "rest": 0.5},
               "minimum_shares": {"rest": 0.1},
               "tenants": {"acme": {"target_tpm": 100, "weight": 3}, "*": {"target_tpm": 10}},
               "safe_ctx": 1}},
             "governor": {"max_line": 7, "ticket_patience_ms": 1500, "redis_url": "${REDIS_URL}"},
             "streaming": {"whatever": [1]}}
            """);
    ModelBudget model = config.models().get("m");
    assertThat(model)
        .isEqualTo(
            new ModelBudget(
                1_000,
                2_000,
                0,
                60,
                4,
                Allocation.SCALE,
                Map.of("urgent", 1.0, "rest", 0.5),
                Map.of("rest", 0.1),
                Map.of(
                    "acme",
                    new ModelBudget.TenantBudget(100, 100, 3),
                    "*",
                    new ModelBudget.TenantBudget(10, 10, 1))));
    assertThat(model.classes().keySet()).containsExactly("urgent", "rest");
    assertThat(config.rules())
        .isEqualTo(new DeskRules(7, Duration.ofMillis(1_500), Duration.ofMinutes(10)));
    assertThat(config.withoutEffect())
        .containsExactlyInAnyOrder("models.m.safe_ctx", "governor.redis_url", "streaming");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '\'',
      value = {
        "{|proper JSON",
        "[]|the budget must be an object",
        "{}|models must be an object: it is missing",
        "{\"models\":{}}|at least one",
        "{\"models\":{\"a\":{\"target_tpm\":1},\"a\":{\"target_tpm\":1}}}|Duplicate field 'a'",
        "{\"models\":{\"m\":1}}|models.m must be an object: 1",
        "{\"model\":{}}|model is unknown",
      })
  void badFile_isRefused_byName(String json, String words) {
    assertThatThrownBy(() -> BudgetFile.parse(json))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(words);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '\'',
      value = {
        "\"burst_tpm\":1|models.m.target_tpm must be a whole number: it is missing",
        "\"target_tpm\":0|target_tpm must be from 1 to 1000000000000: 0",
        "\"target_tpm\":-5|target_tpm must be from 1 to 1000000000000: -5",
        "\"target_tpm\":1.5|models.m.target_tpm must be a whole number: 1.5",
        "\"target_tpm\":\"9\"|models.m.target_tpm must be a whole number: \"9\"",
        "\"target_tpm\":99999999999999999999|must be a whole number: 99999999999999999999",
        "\"target_tpm\":1,\"burst\":1|models.m.burst is unknown",
        "\"target_tpm\":1,\"allocation\":\"maybe\"|ceiling, scale, off: \"maybe\"",
        "\"target_tpm\":9,\"burst_tpm\":9,\"provider_tpm\":17|at most provider_tpm=17: 9 and 9",
        "\"target_tpm\":1,\"priority_classes\":{}|from 1 to 16: 0",
        "\"target_tpm\":1,\"priority_classes\":{\"a\":0}|share of class a must be above 0",
        "\"target_tpm\":1,\"priority_classes\":{\"a\":1.01}|at most 1: 1.01",
        "\"target_tpm\":1,\"priority_classes\":{\"a\":\"1\"}|models.m.priority_classes.a must be a number",
        "\"target_tpm\":1,\"minimum_shares\":{\"z\":0.1}|must name one of the classes",
        "\"target_tpm\":1,\"minimum_shares\":{\"P1_user\":0.6,\"P2_batch\":0.6}|at most 1 together: 1.2",
        "\"target_tpm\":1,\"tenants\":{\"t\":{}}|models.m.tenants.t.target_tpm must be a whole number",
        "\"target_tpm\":1,\"tenants\":{\"t\":{\"target_tpm\":1,\"weight\":0}}|weight of a tenant must be from 1",
        "\"target_tpm\":1,\"concurrency\":-1|concurrency must be from 0",
      })
  void badModel_isRefused_byName(String body, String words) {
    assertThatThrownBy(() -> BudgetFile.parse(model(body)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("models.m")
        .hasMessageContaining(words);
  }

  @Test
  void badFile_namesTheFile() throws Exception {
    Path file = Files.writeString(dir.resolve("token-budget.json"), "{}");
    assertThatThrownBy(() -> BudgetFile.read(file))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith(file.toString());
  }
}
