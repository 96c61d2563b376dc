package dev.sluice.governor;

import static dev.sluice.governor.Desk.MINUTE;
import static dev.sluice.governor.Desk.MS;
import static dev.sluice.governor.Desk.SECOND;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class ModelDeskTest {
  private static final String P0 = "P0_clinical";
  private static final String P1 = "P1_user";
  private static final String P2 = "P2_batch";
  private static final DeskRules RULES =
      new DeskRules(20, Duration.ofSeconds(30), Duration.ofMinutes(10), 10, Duration.ofMinutes(1));

  private final VirtualTimer timer = new VirtualTimer();

  private ModelDesk desk(Allocation allocation) {
    return desk(ModelBudget.of(240_000, 300_000, allocation));
  }

  private ModelDesk desk(ModelBudget budget) {
    return new ModelDesk("sonnet", budget, RULES, timer, BudgetListener.NONE);
  }

  private static TokenRequest of(long tokens, String priority) {
    return TokenRequest.of("sonnet", tokens, priority);
  }

  private static Outcome.Granted granted(Outcome outcome) {
    assertThat(outcome).isInstanceOf(Outcome.Granted.class);
    return (Outcome.Granted) outcome;
  }

  private static Outcome.Queued queued(Outcome outcome) {
    assertThat(outcome).isInstanceOf(Outcome.Queued.class);
    return (Outcome.Queued) outcome;
  }

  @Test
  void ticket_isAwaited_orPolled() {
    ModelDesk desk = desk(Allocation.OFF);
    desk.request(of(300_000, P0));
    String awaited = queued(desk.request(of(4_000, P1))).ticket();
    String polled = queued(desk.request(of(4_000, P1))).ticket();
    CompletableFuture<Optional<Outcome>> outcome = desk.await(awaited);
    timer.advance(SECOND - 1);
    assertThat(outcome).isNotDone();
    assertThat(queued(desk.poll(polled).orElseThrow()).etaMs()).isEqualTo(1_001);
    timer.advance(1);
    assertThat(granted(outcome.join().orElseThrow()).remaining()).isZero();
    timer.advance(SECOND);
    assertThat(granted(desk.poll(polled).orElseThrow()).tokens()).isEqualTo(4_000);
    // The answer may have been lost: it stays the same until it is settled.
    Outcome.Granted again = granted(desk.poll(polled).orElseThrow());
    desk.settle(again.reservation(), 4_000);
    assertThat(desk.poll(polled)).isEmpty();
    assertThat(desk.poll("t0-none")).isEmpty();
    assertThat(desk.await("t0-none")).isCompletedWithValue(Optional.empty());
  }

  @Test
  void cancelled_leavesTheLine_andIsToldSo() {
    ModelDesk desk = desk(Allocation.OFF);
    desk.request(of(300_000, P0));
    String first = queued(desk.request(of(100_000, P1))).ticket();
    String second = queued(desk.request(of(4_000, P1))).ticket();
    CompletableFuture<Optional<Outcome>> left = desk.await(first);
    timer.advance(SECOND);
    assertThat(desk.cancel(first)).isTrue();
    assertThat(desk.cancel(first)).isFalse();
    assertThat(((Outcome.Refused) left.join().orElseThrow()).reason())
        .isEqualTo(Outcome.Reason.CANCELLED);
    assertThat(granted(desk.poll(second).orElseThrow()).remaining()).isZero();
  }

  @Test
  void cancelledAfterItWasGranted_givesItBack() {
    ModelDesk desk = desk(Allocation.OFF);
    desk.request(of(300_000, P0));
    String ticket = queued(desk.request(of(4_000, P1))).ticket();
    timer.advance(SECOND);
    assertThat(desk.status().orElseThrow().available()).isZero();
    assertThat(desk.cancel(ticket)).isTrue();
    assertThat(desk.status().orElseThrow().available()).isEqualTo(4_000);
    assertThat(desk.status().orElseThrow().running()).isEqualTo(1);
  }

  @Test
  void abandonedTicket_leavesTheLine_andAbandonedGrantGoesBack() {
    ModelDesk desk = desk(Allocation.OFF);
    desk.request(of(300_000, P0));
    String never = queued(desk.request(of(200_000, P1))).ticket();
    timer.advance(29 * SECOND);
    String later = queued(desk.request(of(1_000, P1))).ticket();
    timer.advance(SECOND);
    assertThat(desk.status().orElseThrow().queueLengths()).isEqualTo(Map.of(P0, 0, P1, 0, P2, 0));
    Outcome.Refused left = (Outcome.Refused) desk.poll(never).orElseThrow();
    assertThat(left.reason()).isEqualTo(Outcome.Reason.ABANDONED);
    assertThat(desk.status().orElseThrow().available()).isEqualTo(30 * 4_000 - 1_000);
    timer.advance(30 * SECOND);
    assertThat(desk.poll(never)).isEmpty();
    assertThat(desk.poll(later)).isEmpty();
    assertThat(desk.status().orElseThrow().available()).isEqualTo(60 * 4_000);
  }

  @Test
  void polledTicket_staysForAsLongAsItTakes() {
    ModelDesk desk = desk(Allocation.OFF);
    desk.request(of(300_000, P0));
    String ticket = queued(desk.request(of(240_000, P1))).ticket();
    for (int i = 0; i < 5; i++) {
      timer.advance(11 * SECOND);
      queued(desk.poll(ticket).orElseThrow());
    }
    timer.advance(5 * SECOND);
    granted(desk.poll(ticket).orElseThrow());
  }

  @Test
  void deadline_endsTheWait() {
    ModelDesk desk = desk(Allocation.OFF);
    desk.request(of(300_000, P0));
    String ticket =
        queued(desk.request(of(8_000, P1).withDeadline(Duration.ofSeconds(1)))).ticket();
    CompletableFuture<Optional<Outcome>> outcome = desk.await(ticket);
    timer.advance(SECOND);
    assertThat(((Outcome.Refused) outcome.join().orElseThrow()).reason())
        .isEqualTo(Outcome.Reason.DEADLINE);
    assertThat(desk.status().orElseThrow().available()).isEqualTo(4_000);
  }

  @Test
  void idempotencyKey_findsThePlace_thenTheGrant_andIsChargedOnce() {
    ModelDesk desk = desk(Allocation.OFF);
    desk.request(of(300_000, P0));
    TokenRequest request = of(4_000, P1).withIdempotencyKey("call-1");
    Outcome.Queued first = queued(desk.request(request));
    Outcome.Queued again = queued(desk.request(request));
    assertThat(again.ticket()).isEqualTo(first.ticket());
    assertThat(desk.status().orElseThrow().queueLengths()).containsEntry(P1, 1);
    timer.advance(SECOND);
    Outcome.Granted granted = granted(desk.request(request));
    assertThat(granted(desk.request(request))).isEqualTo(granted);
    assertThat(desk.status().orElseThrow().available()).isZero();
    desk.settle(granted.reservation(), 4_000);
    // Another tenant's key is another key; the same after it is settled is a new request.
    queued(desk.request(request));
    queued(desk.request(request.withTenant("other")));
    assertThat(desk.status().orElseThrow().queueLengths()).containsEntry(P1, 2);
    TokenRequest atOnce = of(1, P0).withIdempotencyKey("call-2");
    timer.advance(MINUTE);
    assertThat(granted(desk.request(atOnce))).isEqualTo(granted(desk.request(atOnce)));
  }

  @Test
  void line_isBounded() {
    ModelDesk desk = desk(Allocation.OFF);
    desk.request(of(300_000, P0));
    for (int i = 0; i < 20; i++) {
      queued(desk.request(of(1_000, P1)));
    }
    Outcome.Refused refused = (Outcome.Refused) desk.request(of(1_000, P0));
    assertThat(refused.reason()).isEqualTo(Outcome.Reason.LINE_FULL);
    assertThat(refused.message()).contains("20").contains("sonnet");
    assertThat(desk.status().orElseThrow().queueLengths()).isEqualTo(Map.of(P0, 0, P1, 20, P2, 0));
  }

  @Test
  void badInput_isRefused_andChangesNothing() {
    ModelDesk desk = desk(Allocation.CEILING);
    for (long bad : new long[] {0, -1, Long.MIN_VALUE}) {
      assertThatThrownBy(() -> desk.request(of(bad, P1)))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessage("tokens must be positive: " + bad);
    }
    assertThatThrownBy(() -> desk.request(of(1, "P9")))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("P0_clinical")
        .hasMessageContaining("P9");
    assertThatThrownBy(() -> desk.request(of(1, P1).withDeadline(Duration.ZERO)))
        .isInstanceOf(IllegalArgumentException.class);
    Outcome.Refused tooMuch = (Outcome.Refused) desk.request(of(210_001, P1));
    assertThat(tooMuch.reason()).isEqualTo(Outcome.Reason.EXCEEDS_CAPACITY);
    assertThat(tooMuch.message()).contains("210000").contains("210001");
    assertThat(desk.request(of(Long.MAX_VALUE, P0))).isInstanceOf(Outcome.Refused.class);
    assertThat(desk.status().orElseThrow().available()).isEqualTo(300_000);
    assertThat(desk.settle("r0-none", 1)).isEmpty();
  }

  @Test
  void settle_refundsOrCharges_once() {
    ModelDesk desk = desk(Allocation.OFF);
    String first = granted(desk.request(of(10_000, P1))).reservation();
    assertThat(desk.settle(first, 4_000))
        .contains(new Settlement("sonnet", "", 10_000, 10_000, 4_000, 6_000, 0));
    assertThat(desk.settle(first, 4_000)).isEmpty();
    assertThat(desk.status().orElseThrow().available()).isEqualTo(296_000);
    String second = granted(desk.request(of(1_000, P1))).reservation();
    assertThat(desk.settle(second, 1_500))
        .contains(new Settlement("sonnet", "", 1_000, 1_000, 1_500, 0, 500));
    assertThat(desk.status().orElseThrow().available()).isEqualTo(294_500);
    assertThat(desk.status().orElseThrow().metrics().tokensConsumed()).isEqualTo(5_500);
  }

  @Test
  void reservationOfACrashedCaller_freesItsSlot_keepsItsTokens() {
    ModelBudget one = ModelBudget.of(240_000, 300_000, Allocation.OFF).withConcurrency(1);
    ModelDesk desk = desk(one);
    String first = granted(desk.request(of(1_000, P1))).reservation();
    CompletableFuture<Optional<Outcome>> next =
        desk.await(queued(desk.request(of(1_000, P1))).ticket());
    timer.advance(9 * MINUTE);
    assertThat(desk.extend(first)).isTrue();
    timer.advance(10 * MINUTE - 1);
    assertThat(next).isNotDone();
    timer.advance(1);
    assertThat(granted(next.join().orElseThrow()).tokens()).isEqualTo(1_000);
    assertThat(desk.extend(first)).isFalse();
    assertThat(desk.settle(first, 0)).isEmpty();
  }

  @Test
  void counts_areTheSeeds_andInternalRetriesAreNone() {
    ModelDesk desk = desk(Allocation.OFF);
    desk.request(of(300_000, P0));
    CompletableFuture<Optional<Outcome>> waited =
        desk.await(queued(desk.request(of(100_000, P1))).ticket());
    timer.advance(10 * SECOND);
    desk.request(of(400_000, P1));
    timer.advance(15 * SECOND);
    assertThat(waited).isDone();
    Counts counts = desk.status().orElseThrow().metrics();
    assertThat(counts.totalRequests()).isEqualTo(3);
    assertThat(counts.acceptedRequests()).isEqualTo(1);
    assertThat(counts.rejectedRequests()).isEqualTo(2);
    assertThat(counts.tokensConsumed()).isEqualTo(400_000);
    assertThat(counts.refillCount()).isPositive();
  }

  @Test
  void status_isFresh() {
    ModelDesk desk = desk(Allocation.OFF);
    desk.request(of(300_000, P0));
    timer.advance(500 * MS);
    assertThat(desk.status().orElseThrow().available()).isEqualTo(2_000);
  }
}
