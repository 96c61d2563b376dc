package dev.sluice.governor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class GovernorTest {
  private static ModelBudget off(long target, long burst) {
    return SeedBudget.budget(target, burst).build();
  }

  private static BudgetConfig config(Map<String, ModelBudget> models) {
    return BudgetConfig.builder().models(models).build();
  }

  @Test
  void models_areIndependent_andUnknownOnesRefused() {
    try (Governor governor = Governor.create(SeedBudget.read())) {
      assertThat(
              governor
                  .blocking()
                  .request(TokenRequest.of("GE6D8A4F", 400_000).withPriorityClass("P0_clinical")))
          .isInstanceOf(TokenDecision.Granted.class);
      assertThat(
              governor
                  .blocking()
                  .request(TokenRequest.of("deepseek-r1", 1_000).withPriorityClass("P2_batch")))
          .isInstanceOf(TokenDecision.Granted.class);
      assertThatThrownBy(
              () ->
                  governor
                      .blocking()
                      .request(TokenRequest.of("gpt", 1).withPriorityClass("P1_user")))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("deepseek-r1")
          .hasMessageContaining("gpt");
    }
  }

  @Test
  void systemClock_grantsWaiters() throws Exception {
    try (Governor governor = Governor.create(config(Map.of("m", off(60_000, 1_000))))) {
      governor.blocking().request(TokenRequest.of("m", 1_000).withPriorityClass("P0_clinical"));
      TokenDecision.Queued queued =
          (TokenDecision.Queued)
              governor.blocking().request(TokenRequest.of("m", 100).withPriorityClass("P1_user"));
      CompletableFuture<Optional<TokenDecision>> outcome = governor.await(queued.ticket());
      TokenDecision.Granted granted =
          (TokenDecision.Granted) outcome.get(20, TimeUnit.SECONDS).orElseThrow();
      assertThat(governor.blocking().settle(granted.reservation(), 50)).isPresent();
      assertThat(governor.blocking().settle(granted.reservation(), 50)).isEmpty();
      assertThat(governor.blocking().extend(granted.reservation())).isFalse();
    }
  }

  @Test
  void blockingCallback_delaysOthersBriefly() throws Exception {
    CountDownLatch free = new CountDownLatch(1);
    ModelBudget slow = off(60, 1_000);
    try (Governor governor = Governor.create(config(Map.of("m", slow)))) {
      TokenDecision.Granted first =
          (TokenDecision.Granted)
              governor
                  .blocking()
                  .request(TokenRequest.of("m", 1_000).withPriorityClass("P0_clinical"));
      CompletableFuture<Optional<TokenDecision>> blocks = await(governor, 100);
      CompletableFuture<Optional<TokenDecision>> next = await(governor, 100);
      CompletableFuture<Void> blocked =
          blocks.thenAccept(
              outcome -> {
                try {
                  free.await();
                } catch (InterruptedException interrupted) {
                  Thread.currentThread().interrupt();
                }
              });
      governor.blocking().settle(first.reservation(), 0);
      assertThat(next.get(20, TimeUnit.SECONDS)).containsInstanceOf(TokenDecision.Granted.class);
      assertThat(blocked).isNotDone();
      free.countDown();
      blocked.get(20, TimeUnit.SECONDS);
    }
  }

  private static CompletableFuture<Optional<TokenDecision>> await(Governor governor, long tokens) {
    TokenDecision.Queued queued =
        (TokenDecision.Queued)
            governor.blocking().request(TokenRequest.of("m", tokens).withPriorityClass("P1_user"));
    return governor.await(queued.ticket());
  }

  @Test
  void callbacksThatGrantTheNext_doNotGrowTheStack() throws Exception {
    int turns = 9_000;
    CountDownLatch left = new CountDownLatch(turns);
    ModelBudget oneAtATime =
        off(1_000_000_000, 1_000_000_000).toBuilder().maxConcurrentRequests(1).build();
    try (Governor governor = Governor.create(config(Map.of("m", oneAtATime)))) {
      TokenDecision.Granted first =
          (TokenDecision.Granted)
              governor.blocking().request(TokenRequest.of("m", 1).withPriorityClass("P0_clinical"));
      for (int i = 0; i < turns; i++) {
        var unused =
            await(governor, 1)
                .thenAccept(
                    turn -> {
                      // Which is the turn of the next.
                      governor
                          .blocking()
                          .settle(((TokenDecision.Granted) turn.orElseThrow()).reservation(), 0);
                      left.countDown();
                    });
      }
      governor.blocking().settle(first.reservation(), 0);
      assertThat(left.await(30, TimeUnit.SECONDS)).isTrue();
    }
  }

  @Test
  void invalidRequest_isRefusedWithTheRule() {
    TokenRequest good = TokenRequest.of("m", 10).withPriorityClass("P1_user");
    assertThatThrownBy(() -> TokenRequest.of("m", 0).withPriorityClass("P1_user"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("tokens must be positive, but was 0");
    assertThat(TokenRequest.of("m", 1_000_000_000_000L).withPriorityClass("P1_user").tokens())
        .isPositive();
    assertThatThrownBy(() -> TokenRequest.of("m", 1_000_000_000_001L).withPriorityClass("P1_user"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("tokens must be at most 1000000000000, but was 1000000000001");
    assertThatThrownBy(() -> good.withMaxWait(Duration.ZERO))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("maximum wait must be above 0 and at most PT24H, but was PT0S");
    assertThatThrownBy(() -> good.withExpectedTokens(11))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("expected tokens must be from 1 to 10, but was 11");
  }
}
