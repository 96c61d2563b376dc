package dev.sluice.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.governor.Allocation;
import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Contract of tickets in every budget store: waiting, canceling, and tickets that are not polled.
 * Subclasses supply the store.
 *
 * @since 0.1
 */
public abstract class TicketContract extends BudgetSuite {
  private static final Duration PATIENCE = Duration.ofSeconds(30);
  private static final int MOST_REFUSED = 10_000;
  private static final BudgetConfig STRICT =
      config(Map.of(MODEL, sonnet(Allocation.OFF)), rules(20, PATIENCE));

  /** Opens a model without tokens left. */
  private BudgetHarness openEmpty() {
    BudgetHarness rig = open(STRICT);
    rig.granted(300_000, P0);
    return rig;
  }

  private static TokenDecision.Reason reason(Optional<TokenDecision> outcome) {
    return refused(outcome.orElseThrow()).reason();
  }

  // ---- waiting

  @Test
  void awaitedTicket_isGrantedWhenTokensAreAvailable() {
    BudgetHarness rig = openEmpty();
    TokenDecision.Queued queued = rig.queued(4_000, P1);
    CompletableFuture<Optional<TokenDecision>> waiter = rig.store.await(queued.ticket());
    CompletableFuture<Optional<TokenDecision>> another = rig.store.await(queued.ticket());
    advance(SECOND.minus(TICK));
    assertThat(waiter).isNotDone();
    advance(TICK);
    TokenDecision.Granted granted = BudgetHarness.grantOf(waiter);
    assertThat(granted.remaining()).isZero();
    assertThat(BudgetHarness.grantOf(another)).isEqualTo(granted);
    // A later poll gets the same answer at once.
    assertThat(BudgetHarness.grantOf(rig.store.await(queued.ticket()))).isEqualTo(granted);
  }

  @Test
  void polledTicket_keepsItsOutcomeUntilItIsSettled() {
    BudgetHarness rig = openEmpty();
    rig.queued(4_000, P1);
    TokenDecision.Queued polled = rig.queued(4_000, P1);
    advance(SECOND.minus(TICK));
    assertThat(rig.standing(polled).eta()).hasValue(Duration.ofMillis(1_001));
    assertThat(rig.standing(polled).ticket()).isEqualTo(polled.ticket());
    advance(SECOND.plus(TICK));
    TokenDecision.Granted granted = granted(rig.poll(polled).orElseThrow());
    // The answer may have been lost.
    assertThat(rig.poll(polled)).contains(granted);
    rig.settle(granted, 4_000);
    assertThat(rig.poll(polled)).isEmpty();
  }

  @Test
  void unknownIds_findNothing() {
    BudgetHarness rig = openEmpty();
    String real = rig.queued(4_000, P1).ticket();
    String almost = real.substring(0, real.length() - 1) + (real.endsWith("0") ? "1" : "0");
    for (String id : new String[] {"", "t", "t-", "t9-1", "t99999999999-1", "t-1-", almost}) {
      assertThat(BudgetHarness.get(rig.store.poll(id))).isEmpty();
      assertThat(BudgetHarness.get(rig.store.await(id))).isEmpty();
      assertThat(BudgetHarness.get(rig.store.cancel(id))).isFalse();
      assertThat(BudgetHarness.get(rig.store.settle(id, 1))).isEmpty();
      assertThat(BudgetHarness.get(rig.store.extend(id))).isFalse();
    }
  }

  // ---- leaving

  @Test
  void canceledTicket_leavesTheWaitingList_andItsWaiterIsRefused() {
    BudgetHarness rig = openEmpty();
    TokenDecision.Queued first = rig.queued(100_000, P1);
    TokenDecision.Queued second = rig.queued(4_000, P1);
    CompletableFuture<Optional<TokenDecision>> left = rig.store.await(first.ticket());
    advance(SECOND);
    assertThat(rig.cancel(first)).isTrue();
    assertThat(rig.cancel(first)).isFalse();
    assertThat(BudgetHarness.refusalOf(left)).isEqualTo(TokenDecision.Reason.CANCELLED);
    assertThat(rig.poll(first)).isEmpty();
    // The ticket behind it is granted at once.
    assertThat(granted(rig.poll(second).orElseThrow()).remaining()).isZero();
  }

  @Test
  void canceledGrant_returnsItsTokensAndSlot() {
    BudgetHarness rig = openEmpty();
    TokenDecision.Queued queued = rig.queued(4_000, P1);
    advance(SECOND);
    assertThat(rig.available()).isZero();
    assertThat(rig.cancel(queued)).isTrue();
    assertThat(rig.cancel(queued)).isFalse();
    assertThat(rig.available()).isEqualTo(4_000);
    assertThat(rig.status().running()).isEqualTo(1);
  }

  @Test
  void canceledGrant_goesToTheNextWaiter() {
    BudgetHarness rig = openEmpty();
    TokenDecision.Queued first = rig.queued(4_000, P1);
    CompletableFuture<Optional<TokenDecision>> second = rig.waiter(request(4_000, P1));
    advance(SECOND);
    assertThat(second).isNotDone();
    assertThat(rig.cancel(first)).isTrue();
    assertThat(BudgetHarness.grantOf(second).tokens()).isEqualTo(4_000);
  }

  @Test
  void maxWait_endsTheWait() {
    BudgetHarness rig = openEmpty();
    CompletableFuture<Optional<TokenDecision>> waiter =
        rig.waiter(request(8_000, P1).withMaxWait(SECOND));
    advance(SECOND.minus(TICK));
    assertThat(waiter).isNotDone();
    advance(TICK);
    assertThat(BudgetHarness.refusalOf(waiter)).isEqualTo(TokenDecision.Reason.TIMEOUT);
    assertThat(rig.available()).isEqualTo(4_000);
    assertThat(rig.line()).isEqualTo(Map.of(P0, 0, P1, 0, P2, 0));
  }

  @Test
  void maxWaitOfTheHead_grantsTheNextWaiter() {
    BudgetHarness rig = openEmpty();
    TokenDecision.Queued late = rig.queued(request(100_000, P1).withMaxWait(SECOND));
    TokenDecision.Queued next = rig.queued(4_000, P1);
    advance(SECOND);
    assertThat(reason(rig.poll(late))).isEqualTo(TokenDecision.Reason.TIMEOUT);
    assertThat(rig.isGranted(next)).isTrue();
  }

  @Test
  void maxWait_doesNotEndAGrant() {
    BudgetHarness rig = openEmpty();
    TokenDecision.Queued queued = rig.queued(request(4_000, P1).withMaxWait(Duration.ofSeconds(2)));
    advance(SECOND);
    assertThat(rig.isGranted(queued)).isTrue();
    advanceMillis(5_000);
    assertThat(rig.isGranted(queued)).isTrue();
  }

  // ---- the idle timeout

  @Test
  void unpolledTicket_leavesTheWaitingList() {
    BudgetHarness rig = openEmpty();
    TokenDecision.Queued lost = rig.queued(200_000, P1);
    TokenDecision.Queued next = rig.queued(200_000, P1);
    advance(PATIENCE.minus(TICK));
    assertThat(rig.standing(next).queuePosition()).isEqualTo(2);
    advance(TICK);
    assertThat(rig.standing(next).queuePosition()).isEqualTo(1);
    // A poll within another idle timeout still returns the reason.
    assertThat(reason(rig.poll(lost))).isEqualTo(TokenDecision.Reason.ABANDONED);
    advance(PATIENCE.minus(TICK));
    assertThat(reason(rig.poll(lost))).isEqualTo(TokenDecision.Reason.ABANDONED);
    advance(TICK);
    assertThat(rig.poll(lost)).isEmpty();
  }

  @Test
  void unclaimedGrant_isReturned() {
    BudgetHarness rig = openEmpty();
    TokenDecision.Queued lost = rig.queued(4_000, P1);
    advance(SECOND);
    assertThat(rig.status().running()).isEqualTo(2);
    advance(PATIENCE.minus(TICK));
    assertThat(rig.status().running()).isEqualTo(2);
    advance(TICK);
    assertThat(rig.status().running()).isEqualTo(1);
    assertThat(rig.available()).isEqualTo(31 * 4_000);
    assertThat(rig.poll(lost)).isEmpty();
  }

  @Test
  void claimedGrant_isNotReturned() {
    BudgetHarness rig = openEmpty();
    TokenDecision.Queued queued = rig.queued(4_000, P1);
    advance(SECOND);
    TokenDecision.Granted claimed = granted(rig.poll(queued).orElseThrow());
    advance(MINUTE);
    assertThat(rig.poll(queued)).contains(claimed);
    assertThat(rig.settle(claimed, 4_000)).isPresent();
  }

  @Test
  void polledTicket_neverExpires() {
    BudgetHarness rig = openEmpty();
    TokenDecision.Queued queued = rig.queued(240_000, P1);
    for (int i = 0; i < 5; i++) {
      advanceMillis(11_000);
      assertThat(rig.isWaiting(queued)).isTrue();
    }
    advanceMillis(5_000);
    assertThat(rig.isGranted(queued)).isTrue();
  }

  @Test
  void awaitedTicket_neverExpires() {
    BudgetHarness rig = openEmpty();
    CompletableFuture<Optional<TokenDecision>> waiter = rig.waiter(request(240_000, P1));
    CompletableFuture<Optional<TokenDecision>> next = rig.waiter(request(240_000, P1));
    advance(PATIENCE);
    advance(PATIENCE);
    assertThat(BudgetHarness.grantOf(waiter).tokens()).isEqualTo(240_000);
    assertThat(next).isNotDone();
    assertThat(rig.line()).containsEntry(P1, 1);
  }

  @Test
  void canceledWaiter_leavesItsTicket_asIfPolledThen() {
    BudgetHarness rig = openEmpty();
    TokenDecision.Queued queued = rig.queued(300_000, P1);
    CompletableFuture<Optional<TokenDecision>> waiter = rig.store.await(queued.ticket());
    advanceMillis(20_000);
    waiter.cancel(false);
    // A later request is answered later.
    assertThat(rig.line()).containsEntry(P1, 1);
    advance(PATIENCE.minus(TICK));
    assertThat(rig.line()).containsEntry(P1, 1);
    advance(TICK);
    assertThat(rig.line()).containsEntry(P1, 0);
    assertThat(reason(rig.poll(queued))).isEqualTo(TokenDecision.Reason.ABANDONED);
  }

  /** Each would be kept for the patience with tickets: short deadlines would fill the memory. */
  @Test
  void refusedTickets_areKeptUpToABound() {
    BudgetHarness rig = open(sonnet(Allocation.OFF));
    rig.granted(300_000, P0);
    TokenRequest hasty = request(300_000, P1).withMaxWait(Duration.ofMillis(1));
    TokenDecision.Queued oldest = rig.queued(hasty.withIdempotencyKey("oldest"));
    advanceMillis(1);
    refuse(rig, hasty, 5_000);
    refuse(rig, hasty, MOST_REFUSED - 5_000 - 1);
    assertThat(reason(rig.poll(oldest))).isEqualTo(TokenDecision.Reason.TIMEOUT);
    TokenDecision.Queued last = rig.queued(hasty);
    advanceMillis(1);
    assertThat(reason(rig.poll(last))).isEqualTo(TokenDecision.Reason.TIMEOUT);
    assertThat(rig.poll(oldest)).isEmpty();
    assertThat(rig.queued(hasty.withIdempotencyKey("oldest")).ticket())
        .isNotEqualTo(oldest.ticket());
  }

  /** Asks in portions, so that the last call of a portion is answered in time on a busy machine. */
  private void refuse(BudgetHarness rig, TokenRequest hasty, int times) {
    for (int left = times; left > 0; left -= 500) {
      List<CompletableFuture<TokenDecision>> asked =
          Stream.generate(() -> rig.store.request(hasty)).limit(Math.min(left, 500)).toList();
      asked.forEach(each -> queued(BudgetHarness.get(each)));
    }
    advanceMillis(1);
    assertThat(rig.line()).containsEntry(P1, 0);
  }

  // ---- keys

  @Test
  void idempotencyKey_findsTheTicketThenTheGrant_andIsChargedOnce() {
    BudgetHarness rig = openEmpty();
    TokenRequest request = request(4_000, P1).withIdempotencyKey("call-1");
    TokenDecision.Queued first = rig.queued(request);
    assertThat(rig.queued(request)).isEqualTo(first);
    assertThat(rig.line()).containsEntry(P1, 1);
    advance(SECOND);
    TokenDecision.Granted granted = rig.granted(request);
    assertThat(rig.granted(request)).isEqualTo(granted);
    assertThat(rig.poll(first)).contains(granted);
    assertThat(rig.available()).isZero();
    assertThat(rig.status().running()).isEqualTo(2);
  }

  @Test
  void idempotencyKey_belongsToOneTenant_andIsFreeAfterSettlement() {
    BudgetHarness rig = open(STRICT);
    TokenRequest request = request(4_000, P1).withIdempotencyKey("call-1");
    TokenDecision.Granted granted = rig.granted(request);
    assertThat(rig.granted(request)).isEqualTo(granted);
    TokenDecision.Granted other = rig.granted(request.withTenant("other"));
    assertThat(other.reservation()).isNotEqualTo(granted.reservation());
    rig.settle(granted, 4_000);
    assertThat(rig.granted(request).reservation()).isNotEqualTo(granted.reservation());
    assertThat(rig.available()).isEqualTo(288_000);
  }

  @Test
  void idempotencyKey_isFreeAfterTheTicketIsCancelled() {
    BudgetHarness rig = openEmpty();
    TokenRequest request = request(4_000, P1).withIdempotencyKey("call-1");
    TokenDecision.Queued first = rig.queued(request);
    assertThat(rig.cancel(first)).isTrue();
    assertThat(rig.queued(request).ticket()).isNotEqualTo(first.ticket());
  }

  @Test
  void idempotencyKeyOfAnotherRequest_isRefused() {
    BudgetHarness rig = open(STRICT);
    TokenRequest first = request(1_000, P1).withIdempotencyKey("k");
    rig.granted(first);
    for (TokenRequest bad :
        new TokenRequest[] {
          request(2_000, P1).withIdempotencyKey("k"), request(1_000, P0).withIdempotencyKey("k")
        }) {
      assertThatThrownBy(() -> rig.ask(bad))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("1000")
          .hasMessageContaining(P1);
    }
    assertThat(rig.available()).isEqualTo(299_000);
  }

  // ---- the bound of the waiting list

  @Test
  void waitingList_isBounded() {
    BudgetHarness rig = openEmpty();
    for (int i = 0; i < 20; i++) {
      rig.queued(request(1_000, P1).withTenant("t" + i));
    }
    TokenDecision.Denied refused = refused(rig.ask(1_000, P0));
    assertThat(refused.reason()).isEqualTo(TokenDecision.Reason.TOO_MANY_WAITERS);
    assertThat(refused.message()).contains("20").contains(MODEL);
    assertThat(rig.line()).isEqualTo(Map.of(P0, 0, P1, 20, P2, 0));
    advanceMillis(250);
    assertThat(rig.queued(1_000, P0).queuePosition()).isEqualTo(1);
  }

  @Test
  void withoutAWaitingList_requestsBeyondTheLevelAreDenied() {
    BudgetHarness rig =
        open(config(Map.of(MODEL, sonnet(Allocation.OFF)), rules(0, Duration.ofSeconds(30))));
    rig.granted(300_000, P0);
    assertThat(refused(rig.ask(1, P0)).reason()).isEqualTo(TokenDecision.Reason.TOO_MANY_WAITERS);
  }

  @Test
  void requestDeniedByAFullWaitingList_costsItsTenantNoTurn() {
    BudgetHarness rig = openEmpty();
    for (int i = 0; i < 18; i++) {
      rig.queued(request(1_000, P1).withTenant("noisy"));
    }
    rig.queued(request(1_000, P2).withTenant("third"));
    rig.queued(request(1_000, P2).withTenant("fourth"));
    for (int i = 0; i < 100; i++) {
      refused(rig.ask(request(50_000, P1).withTenant("quiet")));
    }
    advanceMillis(250);
    // The tenant's first turn is the next one.
    assertThat(rig.queued(request(1_000, P1).withTenant("quiet")).queuePosition()).isEqualTo(1);
  }

  @Test
  void close_refusesAllWaiters() {
    BudgetHarness rig = openEmpty();
    CompletableFuture<Optional<TokenDecision>> waiting = rig.waiter(request(1, P1));
    rig.store.close();
    assertThat(BudgetHarness.refusalOf(waiting)).isEqualTo(TokenDecision.Reason.CLOSED);
    assertThatThrownBy(() -> rig.ask(1, P1))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("closed");
    assertThatThrownBy(() -> rig.reload(STRICT))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("closed");
    // Closing twice has no further effect.
    rig.store.close();
  }
}
