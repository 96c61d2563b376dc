package dev.sluice.governor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.governor.internal.local.LocalBudgetStore;
import dev.sluice.governor.spi.BudgetStoreSupport;
import dev.sluice.governor.spi.OutageBudgetStore;
import dev.sluice.governor.spi.StoreSnapshot;
import dev.sluice.governor.spi.StoreTimer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** A store that continues the work of another, and hands over its own. */
final class OutageBudgetStoreTest {
  private static final String TAG = BudgetStoreSupport.tagOf("m");

  /** 1,000 tokens a second, in bursts of 1,000, two at a time. */
  private static final BudgetConfig CONFIG =
      BudgetConfig.builder()
          .models(Map.of("m", SeedBudget.budget(60_000, 1_000).maxConcurrentRequests(2).build()))
          .build();

  private final HandTimer timer = new HandTimer();

  /** Time that goes on only when told to. */
  private static final class HandTimer implements StoreTimer {
    private final List<Runnable> due = new ArrayList<>();
    private long now = 1_000_000_000L;

    @Override
    public long nanoTime() {
      return now;
    }

    @Override
    public void schedule(long nanos, Runnable action) {
      due.add(action);
    }

    @Override
    public void execute(Runnable action) {
      action.run();
    }

    @Override
    public void close() {}

    void advance(Duration time) {
      now += time.toNanos();
      List<Runnable> all = List.copyOf(due);
      due.clear();
      all.forEach(Runnable::run);
    }
  }

  private static String id(char kind, int number) {
    return "%s%s-%032x".formatted(kind, TAG, number);
  }

  private static TokenRequest request(String priority, long tokens) {
    return TokenRequest.of("m", tokens).withPriorityClass(priority);
  }

  private StoreSnapshot.OpenTicket place(int number, String priority, long tokens) {
    TokenRequest request = request(priority, tokens);
    return new StoreSnapshot.OpenTicket(
        id('t', number), request, tokens, timer.nanoTime(), Long.MAX_VALUE);
  }

  private static StoreSnapshot.OpenReservation held(int number, String key) {
    TokenRequest request = request("P1_user", 10);
    return new StoreSnapshot.OpenReservation(
        new TokenDecision.Granted("m", "P1_user", 10, 0, 10, id('r', number)),
        key.isEmpty() ? request : request.withIdempotencyKey(key),
        key.isEmpty() ? null : id('t', number),
        true);
  }

  private OutageBudgetStore open(
      List<StoreSnapshot.OpenReservation> held, List<StoreSnapshot.OpenTicket> places) {
    return LocalBudgetStore.forOutage(
        timer, CONFIG, BudgetListener.NONE, new StoreSnapshot(held, places));
  }

  @Test
  void begins_empty_andGrantsItsTickets_byPriority_underTheirIds() {
    OutageBudgetStore store =
        open(List.of(), List.of(place(1, "P2_batch", 500), place(2, "P0_clinical", 500)));
    CompletableFuture<Optional<TokenDecision>> batch = store.await(id('t', 1));
    CompletableFuture<Optional<TokenDecision>> clinical = store.await(id('t', 2));
    timer.advance(Duration.ofMillis(499));
    assertThat(clinical).isNotDone();
    timer.advance(Duration.ofMillis(1));
    assertThat(clinical.join())
        .get()
        .extracting(each -> ((TokenDecision.Granted) each).reservation())
        .isEqualTo(id('r', 2));
    assertThat(batch).isNotDone();
  }

  @Test
  void reservations_takeSlots_areFoundByKey_andRefundNothing() {
    OutageBudgetStore store = open(List.of(held(1, ""), held(2, "k")), List.of());
    timer.advance(Duration.ofSeconds(1));
    assertThat(store.tryAcquire(request("P1_user", 1)).join()).isEmpty();
    assertThat(store.find(request("P1_user", 10).withIdempotencyKey("k")).join())
        .get()
        .extracting(each -> ((TokenDecision.Granted) each).reservation())
        .isEqualTo(id('r', 2));
    TokenSettlement settled = store.settle(id('r', 1), 0).join().orElseThrow();
    assertThat(settled.refundedTokens()).isZero();
    assertThat(store.tryAcquire(request("P1_user", 1)).join()).isPresent();
  }

  @Test
  void ticketThatIsTooLarge_isLeftOut() {
    OutageBudgetStore store = open(List.of(), List.of(place(1, "P1_user", 1_001)));
    assertThat(store.owner(id('t', 1)).join()).isEmpty();
  }

  @Test
  void handOver_returnsOpenGrantsAndEndsDecisions() {
    OutageBudgetStore store = open(List.of(held(1, "")), List.of(place(2, "P1_user", 900)));
    CompletableFuture<Optional<TokenDecision>> waiter = store.await(id('t', 2));
    TokenDecision.Queued queued =
        (TokenDecision.Queued) store.request(request("P0_clinical", 100)).join();
    timer.advance(Duration.ofMillis(100));
    StoreSnapshot left = store.handOver();
    assertThat(left.reservations())
        .extracting(each -> each.answer().reservation())
        .containsExactly(id('r', 1), queued.ticket().replaceFirst("t", "r"));
    assertThat(left.reservations().get(1).claimed()).isFalse();
    assertThat(left.tickets()).extracting(StoreSnapshot.OpenTicket::id).containsExactly(id('t', 2));
    timer.advance(Duration.ofSeconds(10));
    assertThat(waiter).isNotDone();
    assertThatThrownBy(() -> store.tryAcquire(request("P1_user", 1)).join())
        .hasMessageContaining("another store decides");
  }
}
