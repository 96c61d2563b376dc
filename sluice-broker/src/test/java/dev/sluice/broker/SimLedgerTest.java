package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.broker.SimLedger.Sent;
import dev.sluice.broker.internal.engine.FailureHandler;
import dev.sluice.broker.internal.engine.InternedPlacement;
import dev.sluice.broker.internal.engine.MessageEntry;
import dev.sluice.broker.internal.engine.PendingDelivery;
import dev.sluice.broker.internal.engine.QueueAdmin;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The ledger of the simulation notices messages out of order, and expects no more than that. */
final class SimLedgerTest {
  private static final InternedPlacement.Spec ROUTE =
      new InternedPlacement.Spec("k", 1, 0, Collections.emptySortedMap());

  private final SteppedBroker broker = new SteppedBroker();
  private final SimLedger ledger = new SimLedger();
  private final Sent first = ledger.send("q", ROUTE, true, true);
  private final Sent second = ledger.send("q", ROUTE, true, true);

  @BeforeEach
  void enqueueBoth() {
    broker.create("q", QueueConfig.builder().maxAttempts(1).build());
    List<UUID> ids = broker.enqueue("q", 2);
    ledger.confirmed(first, ids.get(0));
    ledger.confirmed(second, ids.get(1));
  }

  /** Returns what a new consumer gets. */
  private List<PendingDelivery> lease(int messages) {
    broker.consume("q", messages);
    return broker.taken();
  }

  private void killBroker() {
    broker.kill();
    ledger.restarted(broker.engine.state.index);
  }

  private static void assertInverted(ThrowingCallable lease) {
    assertThatThrownBy(lease)
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("message 1 of q")
        .hasMessageContaining("goes before message 0 of q");
  }

  @Test
  void messagesInOrder_areAccepted() {
    List<PendingDelivery> both = lease(2);
    ledger.leased(first, both.get(0));
    assertThatCode(() -> ledger.leased(second, both.get(1))).doesNotThrowAnyException();
  }

  @Test
  void messageBeforeAnEarlierOne_isDetected() {
    List<PendingDelivery> both = lease(2);
    assertInverted(() -> ledger.leased(second, both.get(1)));
  }

  @Test
  void messageBeforeAReleasedOne_isDetected() {
    List<PendingDelivery> both = lease(2);
    ledger.leased(first, both.get(0));
    ledger.givenBack(first, both.get(0));
    assertInverted(() -> ledger.leased(second, both.get(1)));
  }

  @Test
  void messageBeforeAReleasedOne_isDetectedAfterAKill() {
    PendingDelivery given = lease(1).get(0);
    ledger.leased(first, given);
    ledger.givenBack(first, given);
    broker.close(given.consumer());
    killBroker();
    List<PendingDelivery> both = lease(2);
    assertInverted(() -> ledger.leased(second, both.get(1)));
  }

  @Test
  void messageWhoseLeaseSurvivesAKill_delaysNoOther() {
    PendingDelivery given = lease(1).get(0);
    ledger.leased(first, given);
    // The broker is killed before it stores that.
    ledger.givenBack(first, given);
    killBroker();
    PendingDelivery next = lease(1).get(0);
    assertThatCode(() -> ledger.leased(second, next)).doesNotThrowAnyException();
  }

  @Test
  void redrivenMessage_comesAfterWaitingMessages() {
    PendingDelivery failing = lease(1).get(0);
    ledger.leased(first, failing);
    broker.nack(failing, new FailureHandler.Nack("no", null));
    broker.close(failing.consumer());
    redrive();
    broker.taken();
    List<PendingDelivery> both = lease(2);
    ledger.leased(second, both.get(0));
    ledger.leased(first, both.get(1));
    ledger.givenBack(first, both.get(1));
    ledger.givenBack(second, both.get(0));
    broker.close(both.get(0).consumer());
    PendingDelivery next = lease(1).get(0);
    assertThatCode(() -> ledger.leased(second, next)).doesNotThrowAnyException();
  }

  private void redrive() {
    QueueAdmin admin = broker.engine.queueAdmin;
    CompletableFuture<List<MessageEntry>> claimed = new CompletableFuture<>();
    admin.claimDeadLetters(
        new QueueAdmin.DeadLetterClaim("q.dlq", 1, 0, Long.MAX_VALUE, () -> false), claimed);
    broker.step();
    admin.redrive(claimed.join(), List.of(ROUTE), new CompletableFuture<>());
    broker.step();
  }
}
