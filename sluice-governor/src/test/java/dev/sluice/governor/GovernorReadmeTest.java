package dev.sluice.governor;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limit;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The examples of docs/library.md, docs/governor.md and docs/api/governor.md, run; ShownCodeTest
 * finds it here.
 */
class GovernorReadmeTest {
  @TempDir Path directory;
  private final Path file = SeedBudget.FILE;
  private final List<Long> calls = new ArrayList<>();
  private final List<String> told = new ArrayList<>();

  /** Repeats the example until it has to wait: on a busy machine the model may refill first. */
  @Test
  void aCall() throws IOException {
    while (told.isEmpty()) {
      exhaust();
      callOnce();
    }
    assertThat(calls).isNotEmpty().containsOnly(5_000L);
    assertThat(told).singleElement().asString().startsWith("number 1, in ");
  }

  /** The example of docs/api/governor.md. */
  @Test
  void apiPage() throws Exception {
    BudgetConfig config =
        BudgetConfig.builder()
            .model("sonnet", ModelBudget.builder(Limit.perMinute(240_000, 300_000)).build())
            .build();
    try (Governor governor = Governor.open(config, directory)) {
      TokenRequest request =
          TokenRequest.of("sonnet", 5_000).withTenant("acme").withMaxWait(Duration.ofSeconds(30));
      TokenDecision decision = governor.blocking().acquire(request);
      if (decision instanceof TokenDecision.Granted granted) {
        long used = callTheModel(granted.tokens());
        governor.blocking().settle(granted.reservation(), used); // the rest returns to the budget
      }
    }
    try (Governor governor = Governor.open(config, directory)) {
      GovernorStatus.Model model = governor.blocking().status().models().get("sonnet");
      assertThat(model.running()).isZero();
      assertThat(model.queueLengths()).containsOnlyKeys("default");
      assertThat(model.available()).isBetween(300_000L - 3_200, 300_000L);
    }
    assertThat(calls).containsExactly(5_000L);
  }

  private void callOnce() throws IOException {
    try (Governor governor = Governor.open(BudgetConfig.read(file), directory)) {
      TokenRequest request =
          TokenRequest.of("AX9F7E2B-sonnet-4-5", 5_000)
              .withPriorityClass("P1_user")
              .withTenant("acme");
      TokenDecision outcome = governor.blocking().request(request);
      if (outcome instanceof TokenDecision.Queued queued) { // others wait, and you see how many
        int number = queued.queuePosition();
        queued
            .eta()
            .ifPresentOrElse(
                eta -> tell("number %d, in %d ms".formatted(number, eta.toMillis())),
                () -> tell("number %d, time unknown: %s".formatted(number, queued.binding())));
        outcome = governor.await(queued.ticket()).join().orElseThrow(); // or poll, or cancel
      }
      if (outcome instanceof TokenDecision.Granted granted) { // 5,000 tokens are reserved
        long used = callTheModel(granted.requestedTokens());
        governor.blocking().settle(granted.reservation(), used); // the rest returns to the budget
      }
    }
  }

  /** So that the example has to wait, for a moment. */
  private void exhaust() throws IOException {
    try (Governor governor = Governor.open(BudgetConfig.read(file), directory)) {
      while (governor
              .blocking()
              .request(TokenRequest.of("AX9F7E2B-sonnet-4-5", 5_000).withPriorityClass("P1_user"))
          instanceof TokenDecision.Granted) {
        // until fewer tokens are left than the example asks for
      }
    }
  }

  private void tell(String message) {
    told.add(message);
  }

  private long callTheModel(long maxTokens) {
    calls.add(maxTokens);
    return 3_200;
  }
}
