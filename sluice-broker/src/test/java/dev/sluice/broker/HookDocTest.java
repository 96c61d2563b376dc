package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.broker.internal.hooks.HookEngine;
import dev.sluice.broker.internal.hooks.HookEngine.Retry;
import dev.sluice.broker.internal.hooks.HookLimits;
import dev.sluice.broker.internal.lua.LuaHookEngine;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The examples of {@code docs/hooks.md} do what it says. */
class HookDocTest {
  private static final Pattern EXAMPLE =
      Pattern.compile(
          "^### ([^\\n]+)$[^#]*?^```lua\\n(.*?)^```$", Pattern.MULTILINE | Pattern.DOTALL);

  private final LuaHookEngine engine = new LuaHookEngine(HookLimits.DEFAULT, System::nanoTime);

  private static Map<String, String> examples() throws IOException {
    String text = Files.readString(Path.of("..", "docs", "hooks.md"));
    Map<String, String> examples = new LinkedHashMap<>();
    Matcher matcher = EXAMPLE.matcher(text);
    while (matcher.find()) {
      examples.put(matcher.group(1), matcher.group(2));
    }
    return examples;
  }

  @Test
  void examples_areAllTested() throws IOException {
    assertThat(examples())
        .containsOnlyKeys(
            "Tenant fairness",
            "Weighted tiers",
            "Weights and rates from the configuration",
            "Provider and tenant-provider throttles",
            "Exponential back-off",
            "Dead letter by error");
    assertThat(Files.readString(Path.of("..", "docs", "hooks.md")).split("```lua")).hasSize(7);
  }

  @Test
  void tenantFairness() throws IOException {
    assertThat(assign("Tenant fairness", Map.of("tenant", "acme")))
        .isEqualTo(new HookEngine.EnqueueResult("acme", 1, List.of()));
    assertThat(assign("Tenant fairness", Map.of()))
        .isEqualTo(new HookEngine.EnqueueResult("unknown", 1, List.of()));
  }

  @Test
  void weightedTiers() throws IOException {
    assertThat(assign("Weighted tiers", Map.of("tenant", "acme", "tier", "pro")))
        .isEqualTo(new HookEngine.EnqueueResult("acme", 3, List.of()));
    assertThat(assign("Weighted tiers", Map.of("tenant", "acme")).weight()).isEqualTo(1);
  }

  @Test
  void weightsAndRatesFromTheConfiguration() throws IOException {
    String title = "Weights and rates from the configuration";
    Map<String, String> config = Map.of("weight.acme", "7", "throttle.tenant:acme", "10,20");
    Map<String, String> headers = Map.of("tenant", "acme");
    assertThat(assign(title, headers, config))
        .isEqualTo(new HookEngine.EnqueueResult("acme", 7, List.of("tenant:acme")));
    assertThat(assign(title, headers))
        .isEqualTo(new HookEngine.EnqueueResult("acme", 1, List.of()));
  }

  @Test
  void providerAndTenantProviderThrottles() throws IOException {
    String title = "Provider and tenant-provider throttles";
    assertThat(assign(title, Map.of("tenant", "acme", "provider", "mail")))
        .isEqualTo(
            new HookEngine.EnqueueResult("acme", 1, List.of("provider:mail", "tenant:acme:mail")));
    assertThat(assign(title, Map.of("tenant", "acme")).throttleKeys()).isEmpty();
  }

  @Test
  void exponentialBackOff() throws IOException {
    String title = "Exponential back-off";
    for (int attempt = 1; attempt < 8; attempt++) {
      long delay = Math.min(1000L << (attempt - 1), 60_000);
      assertThat(judge(title, attempt, "boom"))
          .isInstanceOfSatisfying(
              Retry.class, r -> assertThat(r.delayMillis()).isBetween(delay, delay * 6 / 5));
    }
    assertThat(judge(title, 8, "boom")).isEqualTo(new HookEngine.MoveToDeadLetters());
  }

  @Test
  void deadLetterByError() throws IOException {
    String title = "Dead letter by error";
    assertThat(judge(title, 1, "404 no such user")).isEqualTo(new HookEngine.MoveToDeadLetters());
    assertThat(judge(title, 1, "Invalid address")).isEqualTo(new HookEngine.MoveToDeadLetters());
    assertThat(judge(title, 3, "429 slow down")).isEqualTo(new Retry(1500));
    assertThat(judge(title, 2, "timeout")).isEqualTo(new Retry(1000));
  }

  private HookEngine.EnqueueResult assign(String title, Map<String, String> headers)
      throws IOException {
    return assign(title, headers, Map.of());
  }

  private HookEngine.EnqueueResult assign(
      String title, Map<String, String> headers, Map<String, String> config) throws IOException {
    String script = examples().getOrDefault(title, "");
    return engine
        .compileEnqueue(script)
        .run(new HookEngine.EnqueueContext("orders", headers, 100), config);
  }

  private HookEngine.FailureResult judge(String title, int attempts, String error)
      throws IOException {
    String script = examples().getOrDefault(title, "");
    HookEngine.FailureContext failure =
        new HookEngine.FailureContext("orders", new UUID(1, 2), Map.of(), attempts, error);
    return engine.compileFailure(script).run(failure, Map.of());
  }
}
