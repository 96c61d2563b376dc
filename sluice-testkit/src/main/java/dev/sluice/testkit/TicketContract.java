package dev.sluice.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.governor.Allocation;
import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.Outcome;
import dev.sluice.governor.TokenRequest;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * What becomes of tickets in every store of budgets: who waits, who leaves, and who is missed.
 * Extend it and say how one is made.
 *
 * @since 0.1
 */
public abstract class TicketContract extends BudgetSuite {
  private static final Duration PATIENCE = Duration.ofSeconds(30);
  private static final int MOST_REFUSED = 10_000;
  private static final BudgetConfig STRICT =
      config(Map.of(MODEL, sonnet(Allocation.OFF)), rules(20, PATIENCE));

  /** With nothing left. */
  private BudgetRig openEmpty() {
    BudgetRig rig = open(STRICT);
    rig.granted(300_000, P0);
    return rig;
  }

  private static Outcome.Reason reason(Optional<Outcome> outcome) {
    return refused(outcome.orElseThrow()).reason();
  }

  // ---- waiting

  @Test
  void ticket_isAwaited() {
    BudgetRig rig = openEmpty();
    Outcome.Queued queued = rig.queued(4_000, P1);
    CompletableFuture<Optional<Outcome>> waiter = rig.store.await(queued.ticket());
    CompletableFuture<Optional<Outcome>> another = rig.store.await(queued.ticket());
    advance(SECOND.minus(TICK));
    assertThat(waiter).isNotDone();
    advance(TICK);
    Outcome.Granted granted = BudgetRig.grantOf(waiter);
    assertThat(granted.remaining()).isZero();
    assertThat(BudgetRig.grantOf(another)).isEqualTo(granted);
    // Who comes later learns the same at once.
    assertThat(BudgetRig.grantOf(rig.store.await(queued.ticket()))).isEqualTo(granted);
  }

  @Test
  void ticket_isPolled_andStaysTheSameUntilItIsSettled() {
    BudgetRig rig = openEmpty();
    rig.queued(4_000, P1);
    Outcome.Queued polled = rig.queued(4_000, P1);
    advance(SECOND.minus(TICK));
    assertThat(rig.standing(polled).etaMs()).hasValue(1_001);
    assertThat(rig.standing(polled).ticket()).isEqualTo(polled.ticket());
    advance(SECOND.plus(TICK));
    Outcome.Granted granted = granted(rig.poll(polled).orElseThrow());
    // The answer may have been lost.
    assertThat(rig.poll(polled)).contains(granted);
    rig.settle(granted, 4_000);
    assertThat(rig.poll(polled)).isEmpty();
  }

  @Test
  void idsOfNobody_areNobodys() {
    BudgetRig rig = openEmpty();
    String real = rig.queued(4_000, P1).ticket();
    String almost = real.substring(0, real.length() - 1) + (real.endsWith("0") ? "1" : "0");
    for (String id : new String[] {"", "t", "t-", "t9-1", "t99999999999-1", "t-1-", almost}) {
      assertThat(BudgetRig.get(rig.store.poll(id))).isEmpty();
      assertThat(BudgetRig.get(rig.store.await(id))).isEmpty();
      assertThat(BudgetRig.get(rig.store.cancel(id))).isFalse();
      assertThat(BudgetRig.get(rig.store.settle(id, 1))).isEmpty();
      assertThat(BudgetRig.get(rig.store.extend(id))).isFalse();
    }
  }

  // ---- leaving

  @Test
  void cancelled_leavesTheLine_andIsToldSo() {
    BudgetRig rig = openEmpty();
    Outcome.Queued first = rig.queued(100_000, P1);
    Outcome.Queued second = rig.queued(4_000, P1);
    CompletableFuture<Optional<Outcome>> left = rig.store.await(first.ticket());
    advance(SECOND);
    assertThat(rig.cancel(first)).isTrue();
    assertThat(rig.cancel(first)).isFalse();
    assertThat(BudgetRig.refusalOf(left)).isEqualTo(Outcome.Reason.CANCELLED);
    assertThat(rig.poll(first)).isEmpty();
    // Who was behind it goes at once.
    assertThat(granted(rig.poll(second).orElseThrow()).remaining()).isZero();
  }

  @Test
  void cancelledAfterItWasGranted_givesItBack() {
    BudgetRig rig = openEmpty();
    Outcome.Queued queued = rig.queued(4_000, P1);
    advance(SECOND);
    assertThat(rig.available()).isZero();
    assertThat(rig.cancel(queued)).isTrue();
    assertThat(rig.cancel(queued)).isFalse();
    assertThat(rig.available()).isEqualTo(4_000);
    assertThat(rig.status().running()).isEqualTo(1);
  }

  @Test
  void cancelledAfterItWasGranted_letsTheNextGo() {
    BudgetRig rig = openEmpty();
    Outcome.Queued first = rig.queued(4_000, P1);
    CompletableFuture<Optional<Outcome>> second = rig.waiter(request(4_000, P1));
    advance(SECOND);
    assertThat(second).isNotDone();
    assertThat(rig.cancel(first)).isTrue();
    assertThat(BudgetRig.grantOf(second).tokens()).isEqualTo(4_000);
  }

  @Test
  void deadline_endsTheWait() {
    BudgetRig rig = openEmpty();
    CompletableFuture<Optional<Outcome>> waiter =
        rig.waiter(request(8_000, P1).withDeadline(SECOND));
    advance(SECOND.minus(TICK));
    assertThat(waiter).isNotDone();
    advance(TICK);
    assertThat(BudgetRig.refusalOf(waiter)).isEqualTo(Outcome.Reason.DEADLINE);
    assertThat(rig.available()).isEqualTo(4_000);
    assertThat(rig.line()).isEqualTo(Map.of(P0, 0, P1, 0, P2, 0));
  }

  @Test
  void deadlineOfTheHead_letsTheNextGo() {
    BudgetRig rig = openEmpty();
    Outcome.Queued late = rig.queued(request(100_000, P1).withDeadline(SECOND));
    Outcome.Queued next = rig.queued(4_000, P1);
    advance(SECOND);
    assertThat(reason(rig.poll(late))).isEqualTo(Outcome.Reason.DEADLINE);
    assertThat(rig.isGranted(next)).isTrue();
  }

  @Test
  void deadline_isOfTheWait_notOfTheGrant() {
    BudgetRig rig = openEmpty();
    Outcome.Queued queued = rig.queued(request(4_000, P1).withDeadline(Duration.ofSeconds(2)));
    advance(SECOND);
    assertThat(rig.isGranted(queued)).isTrue();
    advanceMillis(5_000);
    assertThat(rig.isGranted(queued)).isTrue();
  }

  // ---- who is missed

  @Test
  void ticketThatNobodyAsksFor_leavesTheLine() {
    BudgetRig rig = openEmpty();
    Outcome.Queued lost = rig.queued(200_000, P1);
    Outcome.Queued next = rig.queued(200_000, P1);
    advance(PATIENCE.minus(TICK));
    assertThat(rig.standing(next).queuePosition()).isEqualTo(2);
    advance(TICK);
    assertThat(rig.standing(next).queuePosition()).isEqualTo(1);
    // Who comes late learns why, for as long again.
    assertThat(reason(rig.poll(lost))).isEqualTo(Outcome.Reason.ABANDONED);
    advance(PATIENCE.minus(TICK));
    assertThat(reason(rig.poll(lost))).isEqualTo(Outcome.Reason.ABANDONED);
    advance(TICK);
    assertThat(rig.poll(lost)).isEmpty();
  }

  @Test
  void grantThatNobodyAsksFor_goesBack() {
    BudgetRig rig = openEmpty();
    Outcome.Queued lost = rig.queued(4_000, P1);
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
  void claimedGrant_isNotMissed() {
    BudgetRig rig = openEmpty();
    Outcome.Queued queued = rig.queued(4_000, P1);
    advance(SECOND);
    Outcome.Granted claimed = granted(rig.poll(queued).orElseThrow());
    advance(MINUTE);
    assertThat(rig.poll(queued)).contains(claimed);
    assertThat(rig.settle(claimed, 4_000)).isPresent();
  }

  @Test
  void polledTicket_staysForAsLongAsItTakes() {
    BudgetRig rig = openEmpty();
    Outcome.Queued queued = rig.queued(240_000, P1);
    for (int i = 0; i < 5; i++) {
      advanceMillis(11_000);
      assertThat(rig.isWaiting(queued)).isTrue();
    }
    advanceMillis(5_000);
    assertThat(rig.isGranted(queued)).isTrue();
  }

  @Test
  void attendedTicket_isNotMissed_howeverLongItTakes() {
    BudgetRig rig = openEmpty();
    CompletableFuture<Optional<Outcome>> waiter = rig.waiter(request(240_000, P1));
    CompletableFuture<Optional<Outcome>> next = rig.waiter(request(240_000, P1));
    advance(PATIENCE);
    advance(PATIENCE);
    assertThat(BudgetRig.grantOf(waiter).tokens()).isEqualTo(240_000);
    assertThat(next).isNotDone();
    assertThat(rig.line()).containsEntry(P1, 1);
  }

  @Test
  void waiterThatGoesAway_leavesItsTicket_asIfPolledThen() {
    BudgetRig rig = openEmpty();
    Outcome.Queued queued = rig.queued(300_000, P1);
    CompletableFuture<Optional<Outcome>> waiter = rig.store.await(queued.ticket());
    advanceMillis(20_000);
    waiter.cancel(false);
    // Who asks after that is answered after that.
    assertThat(rig.line()).containsEntry(P1, 1);
    advance(PATIENCE.minus(TICK));
    assertThat(rig.line()).containsEntry(P1, 1);
    advance(TICK);
    assertThat(rig.line()).containsEntry(P1, 0);
    assertThat(reason(rig.poll(queued))).isEqualTo(Outcome.Reason.ABANDONED);
  }

  /** Each would be kept for the patience with tickets: short deadlines would fill the memory. */
  @Test
  void refusedTickets_areRememberedUpToANumber() {
    BudgetRig rig = open(sonnet(Allocation.OFF));
    rig.granted(300_000, P0);
    TokenRequest hasty = request(300_000, P1).withDeadline(Duration.ofMillis(1));
    Outcome.Queued oldest = rig.queued(hasty.withIdempotencyKey("oldest"));
    advanceMillis(1);
    refuse(rig, hasty, 5_000);
    refuse(rig, hasty, MOST_REFUSED - 5_000 - 1);
    assertThat(reason(rig.poll(oldest))).isEqualTo(Outcome.Reason.DEADLINE);
    Outcome.Queued last = rig.queued(hasty);
    advanceMillis(1);
    assertThat(reason(rig.poll(last))).isEqualTo(Outcome.Reason.DEADLINE);
    assertThat(rig.poll(oldest)).isEmpty();
    assertThat(rig.queued(hasty.withIdempotencyKey("oldest")).ticket())
        .isNotEqualTo(oldest.ticket());
  }

  private void refuse(BudgetRig rig, TokenRequest hasty, int times) {
    List<CompletableFuture<Outcome>> asked =
        Stream.generate(() -> rig.store.request(hasty)).limit(times).toList();
    asked.forEach(each -> queued(BudgetRig.get(each)));
    advanceMillis(1);
    assertThat(rig.line()).containsEntry(P1, 0);
  }

  // ---- keys

  @Test
  void idempotencyKey_findsThePlace_thenTheGrant_andIsChargedOnce() {
    BudgetRig rig = openEmpty();
    TokenRequest request = request(4_000, P1).withIdempotencyKey("call-1");
    Outcome.Queued first = rig.queued(request);
    assertThat(rig.queued(request)).isEqualTo(first);
    assertThat(rig.line()).containsEntry(P1, 1);
    advance(SECOND);
    Outcome.Granted granted = rig.granted(request);
    assertThat(rig.granted(request)).isEqualTo(granted);
    assertThat(rig.poll(first)).contains(granted);
    assertThat(rig.available()).isZero();
    assertThat(rig.status().running()).isEqualTo(2);
  }

  @Test
  void idempotencyKey_isOfOneTenant_andFreeAfterTheCall() {
    BudgetRig rig = open(STRICT);
    TokenRequest request = request(4_000, P1).withIdempotencyKey("call-1");
    Outcome.Granted granted = rig.granted(request);
    assertThat(rig.granted(request)).isEqualTo(granted);
    Outcome.Granted other = rig.granted(request.withTenant("other"));
    assertThat(other.reservation()).isNotEqualTo(granted.reservation());
    rig.settle(granted, 4_000);
    assertThat(rig.granted(request).reservation()).isNotEqualTo(granted.reservation());
    assertThat(rig.available()).isEqualTo(288_000);
  }

  @Test
  void idempotencyKey_isFreeAfterTheTicketIsCancelled() {
    BudgetRig rig = openEmpty();
    TokenRequest request = request(4_000, P1).withIdempotencyKey("call-1");
    Outcome.Queued first = rig.queued(request);
    assertThat(rig.cancel(first)).isTrue();
    assertThat(rig.queued(request).ticket()).isNotEqualTo(first.ticket());
  }

  @Test
  void idempotencyKeyOfAnotherRequest_isRefused() {
    BudgetRig rig = open(STRICT);
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

  // ---- the end of the line

  @Test
  void line_isBounded() {
    BudgetRig rig = openEmpty();
    for (int i = 0; i < 20; i++) {
      rig.queued(request(1_000, P1).withTenant("t" + i));
    }
    Outcome.Refused refused = refused(rig.ask(1_000, P0));
    assertThat(refused.reason()).isEqualTo(Outcome.Reason.LINE_FULL);
    assertThat(refused.message()).contains("20").contains(MODEL);
    assertThat(rig.line()).isEqualTo(Map.of(P0, 0, P1, 20, P2, 0));
    advanceMillis(250);
    assertThat(rig.queued(1_000, P0).queuePosition()).isEqualTo(1);
  }

  @Test
  void withoutALine_whoCannotGoIsRefused() {
    BudgetRig rig =
        open(config(Map.of(MODEL, sonnet(Allocation.OFF)), rules(0, Duration.ofSeconds(30))));
    rig.granted(300_000, P0);
    assertThat(refused(rig.ask(1, P0)).reason()).isEqualTo(Outcome.Reason.LINE_FULL);
  }

  @Test
  void refusedWhileTheLineIsFull_isNoTurnOfItsTenant() {
    BudgetRig rig = openEmpty();
    for (int i = 0; i < 18; i++) {
      rig.queued(request(1_000, P1).withTenant("noisy"));
    }
    rig.queued(request(1_000, P2).withTenant("third"));
    rig.queued(request(1_000, P2).withTenant("fourth"));
    for (int i = 0; i < 100; i++) {
      refused(rig.ask(request(50_000, P1).withTenant("quiet")));
    }
    advanceMillis(250);
    // Its first turn is the next.
    assertThat(rig.queued(request(1_000, P1).withTenant("quiet")).queuePosition()).isEqualTo(1);
  }

  @Test
  void close_tellsThoseInLine() {
    BudgetRig rig = openEmpty();
    CompletableFuture<Optional<Outcome>> waiting = rig.waiter(request(1, P1));
    rig.store.close();
    assertThat(BudgetRig.refusalOf(waiting)).isEqualTo(Outcome.Reason.CLOSED);
    assertThatThrownBy(() -> rig.ask(1, P1))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("closed");
    assertThatThrownBy(() -> rig.reload(STRICT))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("closed");
    // Twice is as good as once.
    rig.store.close();
  }
}
