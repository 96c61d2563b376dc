package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.common.util.concurrent.Uninterruptibles;
import dev.sluice.broker.Broker;
import dev.sluice.broker.Delivery;
import dev.sluice.broker.Message;
import dev.sluice.broker.QueueConfig;
import dev.sluice.server.auth.Caller;
import dev.sluice.server.operations.AccountTurns;
import dev.sluice.server.operations.QueueOperations.Action;
import dev.sluice.server.operations.QueueOperations.Settlement;
import dev.sluice.server.operations.SettleCall;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.Futures;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A call with many settlements gives them to the broker in pieces. */
@Tag("any-jdk")
@Timeout(60)
final class SettleCallTest {
  private static final int MANY = 2 * SettleCall.AT_ONCE + 1;

  /** Calls with at most so many settlements do not wait. */
  private static final int SMALL = 50;

  @TempDir private Path dir;
  private final AtomicBoolean memoryGiven = new AtomicBoolean();
  private final CountDownLatch answersMayGoOn = new CountDownLatch(1);
  private Broker broker;
  private List<Delivery> leased;

  @BeforeEach
  void lease() {
    broker = Broker.open(dir);
    broker.createQueue("q", QueueConfig.defaults());
    broker.enqueueAll("q", Collections.nCopies(MANY, Message.of(new byte[0]))).join();
    leased = broker.receive("q", MANY, Duration.ofSeconds(10)).join();
    assertThat(leased).hasSize(MANY);
  }

  @AfterEach
  void close() {
    answersMayGoOn.countDown();
    broker.close();
  }

  private CompletableFuture<List<Optional<ApiException>>> settle(Action action) {
    List<Settlement> all =
        leased.stream().map(each -> new Settlement(each.id(), each.leaseToken(), action)).toList();
    return new SettleCall(
            broker, "q", all, () -> memoryGiven.set(true), Caller.ANYBODY, new AccountTurns(1))
        .start();
  }

  private long inFlight() {
    return broker.view().queues().get("q").inFlight();
  }

  private static Action action(String name) {
    return name.equals("ack") ? new Action.Ack() : new Action.Nack("", null);
  }

  @ParameterizedTest
  @ValueSource(strings = {"ack", "nack"})
  void allAreSettled(String name) {
    assertThat(settle(action(name)).join()).hasSize(MANY).allMatch(Optional::isEmpty);
    assertThat(inFlight()).isZero();
    assertThat(memoryGiven).isTrue();
  }

  @Test
  void emptyCall_isAnswered() {
    leased = List.of();
    assertThat(settle(new Action.Ack()).join()).isEmpty();
    assertThat(memoryGiven).isTrue();
  }

  @Test
  void refusedSettlements_haveTheirPlaces() {
    assertThat(settle(new Action.Ack()).join()).allMatch(Optional::isEmpty);
    assertThat(settle(new Action.Ack()).join()).hasSize(MANY).noneMatch(Optional::isEmpty);
    assertThat(settle(new Action.Release()).join()).hasSize(MANY).noneMatch(Optional::isEmpty);
  }

  /** A callback of a future that is complete runs on the thread of the test and must not block. */
  private void blockAnswers() throws InterruptedException {
    CountDownLatch blocked = new CountDownLatch(1);
    Thread test = Thread.currentThread();
    do {
      var stored = broker.enqueue("q", Message.of(new byte[0]));
      Futures.whenOver(
          stored,
          () -> {
            if (!Thread.currentThread().equals(test)) {
              blocked.countDown();
              Uninterruptibles.awaitUninterruptibly(answersMayGoOn);
            }
          });
    } while (!blocked.await(1, TimeUnit.SECONDS));
  }

  @ParameterizedTest
  @ValueSource(strings = {"ack", "nack"})
  void cancelledCall_leavesTheRestAndKeepsItsMemoryUntilTheBrokerHasNone(String name)
      throws InterruptedException {
    blockAnswers();
    CompletableFuture<List<Optional<ApiException>>> answer = settle(action(name));
    assertThat(answer.cancel(false)).isTrue();
    assertThat(memoryGiven).isFalse();
    answersMayGoOn.countDown();
    await().untilTrue(memoryGiven);
    assertThat(inFlight()).isEqualTo(MANY - SettleCall.AT_ONCE);
  }

  /** Another task of the account has the only turn. */
  @ParameterizedTest
  @ValueSource(ints = {50, 51, SettleCall.AT_ONCE})
  void settlementsOfALargeCall_waitForATurnOfTheirAccount(int count) {
    AccountTurns turns = new AccountTurns(1);
    CompletableFuture<String> other = new CompletableFuture<>();
    CompletableFuture<String> first = turns.run(Caller.ANYBODY, () -> other);
    List<Settlement> few =
        leased.subList(0, count).stream()
            .map(each -> new Settlement(each.id(), each.leaseToken(), new Action.Ack()))
            .toList();
    CompletableFuture<List<Optional<ApiException>>> answer =
        new SettleCall(broker, "q", few, () -> memoryGiven.set(true), Caller.ANYBODY, turns)
            .start();
    if (count > SMALL) {
      assertThat(inFlight()).isEqualTo(MANY);
      assertThat(answer).isNotDone();
      other.complete("done");
    }
    assertThat(answer.join()).hasSize(count).allMatch(Optional::isEmpty);
    assertThat(first.isDone()).isEqualTo(count > SMALL);
    assertThat(inFlight()).isEqualTo(MANY - count);
  }

  @Test
  void closedBroker_failsTheCallAndGivesTheMemory() {
    broker.close();
    assertThat(settle(new Action.Ack())).isCompletedExceptionally();
    assertThat(memoryGiven).isTrue();
  }
}
