package dev.sluice.governor;

import static dev.sluice.governor.WaitingListFixture.MINUTE;
import static dev.sluice.governor.WaitingListFixture.SECOND;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.governor.internal.local.LocalBudgetStore;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Behavior that the contract of stores cannot see from outside. */
class LocalBudgetStoreTest {
  private static final String P0 = "P0_clinical";
  private static final String P1 = "P1_user";
  private static final WaitingListConfig RULES =
      WaitingListConfig.builder()
          .maxWaiting(20)
          .ticketIdleTimeout(Duration.ofSeconds(30))
          .reservationTimeout(Duration.ofMinutes(10))
          .drainBatch(2)
          .refillInterval(Duration.ofMinutes(1))
          .build();

  private final VirtualTimer timer = new VirtualTimer();
  private final ModelBudget budget = SeedBudget.budget(240_000, 300_000).build();
  private final BudgetStore store =
      LocalBudgetStore.inMemory(timer).open(config(Map.of("m", budget)), BudgetListener.NONE);

  private static BudgetConfig config(Map<String, ModelBudget> models) {
    return BudgetConfig.builder().models(models).waitingList(RULES).build();
  }

  @AfterEach
  void close() {
    store.close();
  }

  private static TokenRequest of(long tokens, String priority) {
    return TokenRequest.of("m", tokens).withPriorityClass(priority);
  }

  private TokenDecision request(TokenRequest request) {
    return store.request(request).join();
  }

  @Test
  void newDirectory_isPrivate(@TempDir Path folder) throws IOException {
    Path made = folder.resolve("governor");
    LocalBudgetStore.inDirectory(made, timer)
        .open(config(Map.of("m", budget)), BudgetListener.NONE)
        .close();
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(made)))
        .isEqualTo("rwx------");
  }

  private TokenDecision.Queued queued(TokenRequest request) {
    return (TokenDecision.Queued) request(request);
  }

  private GovernorStatus.Model status() {
    return store.status().join().models().get("m");
  }

  @Test
  void grantToACanceledWaiter_isReturned() {
    request(of(300_000, P0));
    String ticket = queued(of(4_000, P1)).ticket();
    CompletableFuture<Optional<TokenDecision>> gone = store.await(ticket);
    // Completed without the store, as if both happened in the same moment.
    gone.obtrudeValue(Optional.empty());
    timer.advance(SECOND);
    assertThat(status().running()).isEqualTo(2);
    timer.advance(30 * SECOND);
    assertThat(status().running()).isEqualTo(1);
    assertThat(status().available()).isEqualTo(31 * 4_000);
    assertThat(store.poll(ticket).join()).isEmpty();
  }

  @Test
  void grantPolledWhileItsWaiterLeaves_staysClaimed() {
    Deque<Runnable> untold = new ArrayDeque<>();
    VirtualTimer late = VirtualTimer.telling(untold::add);
    try (BudgetStore slow =
        LocalBudgetStore.inMemory(late).open(config(Map.of("m", budget)), BudgetListener.NONE)) {
      slow.request(of(300_000, P0)).join();
      String ticket = ((TokenDecision.Queued) slow.request(of(4_000, P1)).join()).ticket();
      CompletableFuture<Optional<TokenDecision>> waiter = slow.await(ticket);
      late.advance(SECOND);
      // It is granted, and no waiter was notified yet.
      waiter.cancel(false);
      TokenDecision.Granted claimed =
          (TokenDecision.Granted) slow.poll(ticket).join().orElseThrow();
      untold.forEach(Runnable::run);
      late.advance(MINUTE);
      assertThat(slow.settle(claimed.reservation(), 4_000).join()).isPresent();
    }
  }

  @Test
  void refusedRequest_stillReportsEarlierDecisions() {
    request(of(300_000, P0));
    TokenRequest late = of(8_000, P1).withMaxWait(Duration.ofSeconds(1));
    CompletableFuture<Optional<TokenDecision>> waiter = store.await(queued(late).ticket());
    timer.skip(SECOND);
    assertThatThrownBy(() -> request(of(1, "P9"))).hasMessageContaining("P9");
    assertThat(waiter).isDone();
  }

  @Test
  void refills_areCountedByDecisions_notByTimers() {
    request(of(300_000, P0));
    for (int i = 0; i < 10; i++) {
      queued(of(3_000, P1));
    }
    assertThat(status().counts().refillCount()).isZero();
    for (int i = 0; i < 8; i++) {
      timer.advance(SECOND);
      status();
    }
    assertThat(status().queueLengths()).containsEntry(P1, 0);
    assertThat(status().counts().refillCount()).isEqualTo(10);
  }
}
