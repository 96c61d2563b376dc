package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.common.util.concurrent.Uninterruptibles;
import dev.sluice.broker.Broker;
import dev.sluice.broker.Delivery;
import dev.sluice.broker.Message;
import dev.sluice.broker.QueueConfig;
import dev.sluice.server.auth.ApiKey;
import dev.sluice.server.auth.Caller;
import dev.sluice.server.auth.Credential;
import dev.sluice.server.auth.RevocationWatcher;
import dev.sluice.server.operations.AccountTurns;
import dev.sluice.server.operations.QueueOperations.Action;
import dev.sluice.server.operations.QueueOperations.Settlement;
import dev.sluice.server.operations.SettleCall;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.Futures;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
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

  private static final int FREE = SettleCall.FREE;
  private static final int SMALL = SettleCall.SMALL;
  private static final Credential KEY = KeyedServer.by(Caller.ANYBODY);

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
    return settle(all, KEY, new AccountTurns(1));
  }

  private CompletableFuture<List<Optional<ApiException>>> settle(
      List<Settlement> all, Credential key, AccountTurns turns) {
    return settle(all, key, new SettleCall.Turns(turns, turns));
  }

  private CompletableFuture<List<Optional<ApiException>>> settle(
      List<Settlement> all, Credential key, SettleCall.Turns turns) {
    return new SettleCall(broker, "q", all, () -> memoryGiven.set(true), key, turns).start();
  }

  private List<Settlement> acks(int count) {
    return leased.subList(0, count).stream()
        .map(each -> new Settlement(each.id(), each.leaseToken(), new Action.Ack()))
        .toList();
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
  void refusedSettlements_keepTheirIndex() {
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
  void canceledCall_settlesNoMore_andKeepsItsMemoryUntilTheBrokerHasAnswered(String name)
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
  @ValueSource(ints = {1, FREE, FREE + 1, SMALL, SMALL + 1, SettleCall.AT_ONCE})
  void settlements_waitForATurnOfTheirAccount_unlessTheyAreFew(int count) {
    AccountTurns turns = new AccountTurns(1);
    CompletableFuture<String> other = new CompletableFuture<>();
    CompletableFuture<String> first = turns.run(KEY.owner(), () -> other);
    CompletableFuture<List<Optional<ApiException>>> answer = settle(acks(count), KEY, turns);
    if (count > FREE) {
      assertThat(inFlight()).isEqualTo(MANY);
      assertThat(answer).isNotDone();
      other.complete("done");
    }
    assertThat(answer.join()).hasSize(count).allMatch(Optional::isEmpty);
    assertThat(first.isDone()).isEqualTo(count > FREE);
    assertThat(inFlight()).isEqualTo(MANY - count);
  }

  @Test
  void smallCalls_waitForSmallOnesAlone() {
    SettleCall.Turns turns = new SettleCall.Turns(new AccountTurns(1), new AccountTurns(1));
    CompletableFuture<String> large = new CompletableFuture<>();
    CompletableFuture<String> small = new CompletableFuture<>();
    assertThat(turns.large().run(KEY.owner(), () -> large)).isNotDone();
    assertThat(settle(acks(SMALL), KEY, turns).join()).hasSize(SMALL);
    assertThat(turns.small().run(KEY.owner(), () -> small)).isNotDone();
    CompletableFuture<List<Optional<ApiException>>> waiting = settle(acks(SMALL), KEY, turns);
    assertThat(waiting).isNotDone();
    small.complete("done");
    assertThat(waiting.join()).hasSize(SMALL);
  }

  /** The account may have as many settlements at the broker in small pieces as in large ones. */
  @Test
  void manySmallCalls_areWithTheBrokerAtOnce() {
    SettleCall.Turns turns = SettleCall.Turns.create();
    for (int i = 0; i < 39; i++) {
      assertThat(turns.small().run(KEY.owner(), CompletableFuture::new)).isNotDone();
    }
    assertThat(settle(acks(SMALL), KEY, turns).join()).hasSize(SMALL);
    assertThat(turns.small().run(KEY.owner(), CompletableFuture::new)).isNotDone();
    assertThat(settle(acks(SMALL), KEY, turns)).isNotDone();
  }

  @ParameterizedTest
  @ValueSource(ints = {FREE + 1, SMALL + 1, MANY})
  void callCanceledWhileItWaitsForItsTurn_settlesNothingAndReleasesItsMemory(int count) {
    AccountTurns turns = new AccountTurns(1);
    CompletableFuture<String> other = new CompletableFuture<>();
    CompletableFuture<String> first = turns.run(KEY.owner(), () -> other);
    assertThat(settle(acks(count), KEY, turns).cancel(false)).isTrue();
    other.complete("done");
    assertThat(first).isCompletedWithValue("done");
    assertThat(memoryGiven).isTrue();
    // The broker answers in order: nothing is on its way there.
    assertThat(settle(acks(1), KEY, turns).join()).containsExactly(Optional.empty());
    assertThat(inFlight()).isEqualTo(MANY - 1);
  }

  @ParameterizedTest
  @ValueSource(ints = {FREE + 1, SMALL + 1, MANY})
  void callWhoseKeyIsRevokedWhileItWaitsForItsTurn_failsAtOnceAndSettlesNothing(int count) {
    AtomicReference<Caller> holder = new AtomicReference<>(Caller.ANYBODY);
    RevocationWatcher watches =
        new RevocationWatcher(unused -> holder.get(), InstantSource.system());
    Credential key = watches.authenticate(null, "connection");
    AccountTurns turns = new AccountTurns(1);
    CompletableFuture<String> other = new CompletableFuture<>();
    CompletableFuture<String> first = turns.run(key.owner(), () -> other);
    CompletableFuture<List<Optional<ApiException>>> answer = settle(acks(count), key, turns);
    assertThat(answer).isNotDone();
    holder.set(new Caller("changed", false, List.of(), ApiKey.NEVER));
    watches.check();
    assertThat(answer).isCompletedExceptionally();
    other.complete("done");
    assertThat(first).isCompletedWithValue("done");
    assertThat(memoryGiven).isTrue();
    assertThat(settle(acks(1), KEY, turns).join()).containsExactly(Optional.empty());
    assertThat(inFlight()).isEqualTo(MANY - 1);
    assertThat(watches.count()).isZero();
  }

  /** Without keys the owner is the connection, as for threads and memory. */
  @Test
  void callsOnOtherConnections_waitForNoTurn_withoutKeys() {
    AccountTurns turns = new AccountTurns(1);
    CompletableFuture<String> first = turns.run(KEY.owner(), CompletableFuture::new);
    Credential other = KEY.watches().authenticate(null, "another connection");
    assertThat(settle(acks(MANY), other, turns).join()).allMatch(Optional::isEmpty);
    assertThat(first).isNotDone();
    assertThat(inFlight()).isZero();
  }

  @Test
  void closedBroker_failsTheCallAndReleasesItsMemory() {
    broker.close();
    assertThat(settle(new Action.Ack())).isCompletedExceptionally();
    assertThat(memoryGiven).isTrue();
  }
}
