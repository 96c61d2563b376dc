package dev.sluice.governor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Limit;
import dev.sluice.governor.spi.ModelLimits;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class BudgetFileTest {
  /** Every key that is read, and some that are ignored. */
  private static final String EVERYTHING =
      """
      {"models": {"m": {
         "target_tpm": 1000, "burst_tpm": 2000, "provider_tpm": 3000, "rpm": 60, "qps": 2,
         "concurrency": 4, "allocation": "off", "estimate_output": true,
         "priority_classes": {"urgent": 1, "rest": 0.5},
         "minimum_shares": {"rest": 0.1},
         "tenants": {"acme": {"target_tpm": 100, "weight": 3}, "*": {"target_tpm": 10}},
         "safe_ctx": 1},
         "n": {"target_tpm": 9, "priority_classes": {"rest": 1, "urgent": 1}}},
       "governor": {"max_waiting": 7, "ticket_idle_timeout_ms": 1500, "redis_url": "${REDIS_URL}",
         "drain_batch": 3, "refill_interval_ms": 2000, "monitor_interval_ms": 1000,
         "alert_window_ms": 30000, "alert_threshold_429": 0.1, "alert_min_requests": 5,
         "alert_queue_length": 9},
       "routes": {"any": ["m", "n"]},
       "streaming": {"whatever": [1]}}
      """;

  @TempDir Path dir;

  private static String model(String body) {
    return "{\"models\":{\"m\":{" + body + "}}}";
  }

  @Test
  void maxChargedTokens_isContextPlusOutput() {
    assertThat(of("\"target_tpm\":7,\"max_ctx\":10,\"max_out\":3").maxChargedTokens())
        .isEqualTo(13);
    assertThat(of("\"target_tpm\":7,\"max_ctx\":10").maxChargedTokens()).isEqualTo(10);
    // Without the context it is unknown.
    assertThat(of("\"target_tpm\":7,\"max_out\":3").maxChargedTokens()).isEqualTo(7);
    assertThat(of("\"target_tpm\":7,\"burst_tpm\":9").maxChargedTokens()).isEqualTo(9);
  }

  private static ModelBudget of(String body) {
    return Objects.requireNonNull(BudgetConfig.parse(model(body)).models().get("m"));
  }

  @Test
  void exampleOfTheSourceDocument_hasFourModels() {
    Map<String, ModelBudget> models = SeedBudget.read().models();
    assertThat(models)
        .containsOnlyKeys("AX9F7E2B-sonnet-4-5", "OX7A3F8D", "GE6D8A4F", "deepseek-r1");
    ModelBudget sonnet = models.get("AX9F7E2B-sonnet-4-5");
    assertThat(sonnet.tokens()).isEqualTo(Limit.perMinute(240_000, 300_000));
    assertThat(sonnet.requests()).containsExactly((Limit.Balanced) Limit.perSecond(50));
    assertThat(sonnet.allocation()).isEqualTo(Allocation.CEILING);
    assertThat(sonnet.priorityClasses()).isEqualTo(SeedBudget.CLASSES);
    assertThat(SeedBudget.read().ignoredKeys())
        .containsExactly(
            "models.AX9F7E2B-sonnet-4-5.provider",
            "models.OX7A3F8D.provider",
            "models.GE6D8A4F.provider",
            "models.deepseek-r1.provider");
    assertThat(sonnet.maxChargedTokens()).isEqualTo(204_096);
    assertThat(SeedBudget.read().alerts()).isEqualTo(AlertConfig.builder().build());
    assertThat(SeedBudget.read().waitingList()).isEqualTo(WaitingListConfig.builder().build());
  }

  @Test
  void everyKey_isRead() {
    BudgetConfig config = BudgetConfig.parse(EVERYTHING);
    ModelBudget model = config.models().get("m");
    assertThat(model)
        .isEqualTo(
            ModelBudget.builder(Limit.perMinute(1_000, 2_000))
                .requests(Limit.perMinute(60), Limit.perSecond(2))
                .maxConcurrentRequests(4)
                .allocation(Allocation.OFF)
                .priorityClass("urgent", 1)
                .priorityClass("rest", 0.5)
                .minimumShare("rest", 0.1)
                .tenant("acme", Limit.perMinute(100), 3)
                .tenant(ModelBudget.OTHER_TENANTS, Limit.perMinute(10), 1)
                .estimateOutput(true)
                .build());
    assertThat(model.priorityClasses().keySet()).containsExactly("urgent", "rest");
    assertThat(config.waitingList())
        .isEqualTo(
            WaitingListConfig.builder()
                .maxWaiting(7)
                .ticketIdleTimeout(Duration.ofMillis(1_500))
                .reservationTimeout(Duration.ofMinutes(10))
                .drainBatch(3)
                .refillInterval(Duration.ofSeconds(2))
                .build());
    assertThat(config.alerts())
        .isEqualTo(
            AlertConfig.builder()
                .interval(Duration.ofSeconds(1))
                .window(Duration.ofSeconds(30))
                .rejectionThreshold(0.1)
                .minRequests(5)
                .maxWaiting(9)
                .build());
    assertThat(config.routes()).isEqualTo(Map.of("any", List.of("m", "n")));
    assertThat(ModelLimits.of(model).requests())
        .containsExactly(
            WaitingListFixture.limit(2, 2, WaitingListFixture.SECOND),
            WaitingListFixture.limit(60, 60, WaitingListFixture.MINUTE));
    assertThat(config.ignoredKeys())
        .containsExactlyInAnyOrder("models.m.safe_ctx", "governor.redis_url", "streaming");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '\'',
      value = {
        "{|proper JSON",
        "[]|the budget must be an object",
        "{}|models must be an object, but was missing",
        "{\"models\":{}}|at least one",
        "{\"models\":{\"a\":{\"target_tpm\":1},\"a\":{\"target_tpm\":1}}}|Duplicate field 'a'",
        "{\"models\":{\"..\":{\"target_tpm\":1}}}|model must not be . or .., which vanish from paths of URLs, but was \"..\"",
        "{\"models\":{\"m\":1}}|models.m must be an object, but was 1",
        "{\"model\":{}}|model is unknown",
      })
  void malformedFile_isRefusedWithTheKey(String json, String words) {
    assertThatThrownBy(() -> BudgetConfig.parse(json))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(words);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '\'',
      value = {
        "\"burst_tpm\":1|models.m.target_tpm must be a whole number, but was missing",
        "\"target_tpm\":0|target_tpm must be from 1 to 1000000000000, but was 0",
        "\"target_tpm\":-5|target_tpm must be from 1 to 1000000000000, but was -5",
        "\"target_tpm\":1.5|models.m.target_tpm must be a whole number, but was 1.5",
        "\"target_tpm\":\"9\"|models.m.target_tpm must be a whole number, but was \"9\"",
        "\"target_tpm\":99999999999999999999|must be a whole number, but was 99999999999999999999",
        "\"target_tpm\":1,\"burst\":1|models.m.burst is unknown",
        "\"target_tpm\":1,\"allocation\":\"maybe\"|ceiling, scale, off, but was \"maybe\"",
        "\"target_tpm\":9,\"burst_tpm\":9,\"provider_tpm\":17|at most provider_tpm=17: 9 and 9",
        "\"target_tpm\":1,\"priority_classes\":{}|priority_classes must have at least one class",
        "\"target_tpm\":1,\"priority_classes\":{\"a\":0}|share of class a must be above 0",
        "\"target_tpm\":1,\"priority_classes\":{\"a\":1.01}|at most 1, but was 1.01",
        "\"target_tpm\":1,\"priority_classes\":{\"a\":\"1\"}|models.m.priority_classes.a must be a number",
        "\"target_tpm\":1,\"minimum_shares\":{\"z\":0.1}|must name one of the classes",
        "\"target_tpm\":1,\"priority_classes\":{\"a\":1,\"b\":1},\"minimum_shares\":{\"a\":0.6,\"b\":0.6}|at most 1 together, but was 1.2",
        "\"target_tpm\":1,\"estimate_output\":1|models.m.estimate_output must be true or false, but was 1",
        "\"target_tpm\":1,\"tenants\":{\"t\":{}}|models.m.tenants.t.target_tpm must be a whole number",
        "\"target_tpm\":1,\"tenants\":{\"t\":{\"target_tpm\":1,\"weight\":0}}|weight of a tenant must be from 1",
        "\"target_tpm\":1,\"concurrency\":-1|concurrency must be from 0",
      })
  void invalidModel_isRefusedWithTheKey(String body, String words) {
    assertThatThrownBy(() -> BudgetConfig.parse(model(body)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("models.m")
        .hasMessageContaining(words);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '\'',
      value = {
        "\"max_waiting\":-1|max_waiting must be from 0 to 1000000, but was -1",
        "\"drain_batch\":0|drain_batch must be from 1 to 10000, but was 0",
        "\"drain_batch\":99999999999|drain_batch must be from 1 to 10000",
        "\"refill_interval_ms\":999|refill_interval_ms must be from PT1S to PT24H, but was PT0.999S",
        "\"refill_interval_ms\":86400001|refill_interval_ms must be from PT1S to PT24H",
        "\"monitor_interval_ms\":0|monitor_interval_ms must be from PT0.1S to PT24H, but was PT0S",
        "\"alert_window_ms\":1|alert_window_ms must be from PT1S",
        "\"alert_threshold_429\":1.5|alert_threshold_429 must be from 0 to 1, but was 1.5",
        "\"alert_threshold_429\":\"5\"|governor.alert_threshold_429 must be a number, but was \"5\"",
        "\"alert_min_requests\":0|alert_min_requests must be from 1",
        "\"alert_queue_length\":-1|alert_queue_length must be from 0",
        "\"alert\":1|governor.alert is unknown",
      })
  void invalidSetting_isRefusedWithTheKey(String body, String words) {
    assertThatThrownBy(
            () ->
                BudgetConfig.parse(
                    "{\"models\":{\"m\":{\"target_tpm\":1}},\"governor\":{" + body + "}}"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("governor")
        .hasMessageContaining(words);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '\'',
      value = {
        "[]|routes must be an object, but was []",
        "{\"r\":\"a\"}|routes.r must be a list of models, but was \"a\"",
        "{\"r\":[1]}|routes.r must be a list of models, but was [1]",
        "{\"r\":[]}|routes.r must have at least one model",
        "{\"r\":[\"z\"]}|routes.r must be of the models [a, b, c], but was z",
        "{\"r\":[\"a\",\"b\",\"a\"]}|routes.r must name each model once, but repeats a",
        "{\"a\":[\"b\"]}|routes.a must not be a model's name",
        "{\"r\":[\"a\",\"c\"]}|the same classes, here [default]: c has [x]",
      })
  void invalidRoute_isRefusedWithTheKey(String routes, String words) {
    String models =
        "{\"models\":{\"a\":{\"target_tpm\":1},\"b\":{\"target_tpm\":1},"
            + "\"c\":{\"target_tpm\":1,\"priority_classes\":{\"x\":1}}},\"routes\":";
    assertThatThrownBy(() -> BudgetConfig.parse(models + routes + "}"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(words);
  }

  @ParameterizedTest
  @CsvSource({
    "0.7, 300000, 210000",
    "0.29, 100, 29",
    "0.57, 100, 57",
    "0.58, 100, 58",
    "0.1, 3, 1",
    "1.0, 1000000000000, 1000000000000",
    "0.0001, 5, 1"
  })
  void shares_areExactDecimals(double share, long burst, long tokens) {
    BudgetConfig config =
        BudgetConfig.parse(
            model(
                "\"target_tpm\":%d,\"priority_classes\":{\"a\":%s},\"minimum_shares\":{\"a\":%s}"
                    .formatted(burst, share, share)));
    ModelLimits.ClassLimit limit = ModelLimits.of(config.models().get("m")).classes().get(0);
    assertThat(limit.ceiling()).isEqualTo(tokens);
    assertThat(limit.guarantee())
        .isEqualTo(WaitingListFixture.limit(tokens, tokens, WaitingListFixture.MINUTE));
  }

  @Test
  void minimumShares_mayAddUpToOne() {
    String shares = "{\"a\":0.7,\"b\":0.2,\"c\":0.1}";
    BudgetConfig config =
        BudgetConfig.parse(
            model(
                "\"target_tpm\":10,\"priority_classes\":%s,\"minimum_shares\":%s"
                    .formatted(shares, shares)));
    assertThat(config.models().get("m").minimumShares()).hasSize(3);
  }

  @Test
  void invalidFile_isNamedInTheMessage() throws Exception {
    Path file = Files.writeString(dir.resolve("token-budget.json"), "{}");
    assertThatThrownBy(() -> BudgetConfig.read(file))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith(file.toString());
  }

  @Test
  void estimatesWithScaledGrants_areRefused() {
    assertThatThrownBy(
            () ->
                SeedBudget.budget(60, 60).allocation(Allocation.SCALE).estimateOutput(true).build())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("estimate_output must be false with allocation scale");
  }
}
