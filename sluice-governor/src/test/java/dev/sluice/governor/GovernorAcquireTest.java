package dev.sluice.governor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Requests that wait for their tokens in one call. */
class GovernorAcquireTest {
  private static final ModelBudget ONE_AT_A_TIME =
      SeedBudget.budget(60_000, 60_000).maxConcurrentRequests(1).build();

  private final Rig rig = new Rig(ONE_AT_A_TIME);
  private final Governor governor = rig.governor;

  @AfterEach
  void close() {
    rig.close();
  }

  private static TokenRequest request(long tokens) {
    return TokenRequest.of(Rig.MODEL, tokens).withPriorityClass(Rig.P1);
  }

  private int waiting() {
    return rig.status().queueLengths().values().stream().mapToInt(Integer::intValue).sum();
  }

  @Test
  void grantAtOnce_isCompleted() {
    CompletableFuture<TokenDecision> acquired = governor.acquire(request(10));
    assertThat(acquired).isCompleted();
    assertThat(Rig.granted(acquired.join()).tokens()).isEqualTo(10);
  }

  @Test
  void waiter_isGrantedWhenTheEarlierCallIsSettled() {
    TokenDecision.Granted first = rig.granted(10, Rig.P1);
    CompletableFuture<TokenDecision> acquired = governor.acquire(request(20));
    assertThat(acquired).isNotDone();
    assertThat(waiting()).isOne();
    governor.blocking().settle(first.reservation(), 10);
    assertThat(Rig.granted(acquired.join()).tokens()).isEqualTo(20);
  }

  @Test
  void canceledWaiter_leavesTheWaitingList() {
    rig.granted(10, Rig.P1);
    CompletableFuture<TokenDecision> acquired = governor.acquire(request(20));
    assertThat(acquired.cancel(false)).isTrue();
    assertThat(waiting()).isZero();
  }

  @Test
  void waiterThatTimesOut_leavesTheWaitingList() throws Exception {
    rig.granted(10, Rig.P1);
    CompletableFuture<TokenDecision> acquired = governor.acquire(request(20));
    acquired.completeExceptionally(new TimeoutException());
    assertThat(waiting()).isZero();
  }

  @Test
  void maxWait_endsInADenial() {
    rig.granted(10, Rig.P1);
    CompletableFuture<TokenDecision> acquired =
        governor.acquire(request(20).withMaxWait(Duration.ofSeconds(5)));
    rig.timer.advance(TimeUnit.SECONDS.toNanos(6));
    assertThat(((TokenDecision.Denied) acquired.join()).reason())
        .isEqualTo(TokenDecision.Reason.TIMEOUT);
  }

  @Test
  void close_deniesWaiters() {
    rig.granted(10, Rig.P1);
    CompletableFuture<TokenDecision> acquired = governor.acquire(request(20));
    governor.close();
    assertThat(((TokenDecision.Denied) acquired.join()).reason())
        .isEqualTo(TokenDecision.Reason.CLOSED);
  }

  @Test
  void unknownModel_failsTheFuture() {
    CompletableFuture<TokenDecision> acquired =
        governor.acquire(TokenRequest.of("x", 1).withPriorityClass(Rig.P1));
    assertThatThrownBy(acquired::get)
        .isInstanceOf(ExecutionException.class)
        .hasCauseInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(
            () -> governor.blocking().acquire(TokenRequest.of("x", 1).withPriorityClass(Rig.P1)))
        .isInstanceOf(IllegalArgumentException.class);
  }

  /** A store in another process answers later, on a thread of its own. */
  @Test
  void canceledBeforeTheAnswer_theGrantIsReturned() {
    CompletableFuture<TokenDecision> answer = new CompletableFuture<>();
    SingleAnswerStore store = new SingleAnswerStore(answer);
    CompletableFuture<TokenDecision> acquired =
        new Acquisition(store.store(), request(10), rig.timer).start(answer);
    assertThat(acquired.cancel(false)).isTrue();
    answer.complete(new TokenDecision.Granted(Rig.MODEL, Rig.P1, 10, 0, 10, "r-1"));
    assertThat(store.calls()).containsExactly("settle r-1 0");
  }

  @Test
  void canceledBeforeTheAnswer_theTicketIsCanceled() {
    CompletableFuture<TokenDecision> answer = new CompletableFuture<>();
    SingleAnswerStore store = new SingleAnswerStore(answer);
    CompletableFuture<TokenDecision> acquired =
        new Acquisition(store.store(), request(10), rig.timer).start(answer);
    acquired.cancel(false);
    answer.complete(queued());
    assertThat(store.calls()).containsExactly("await t-1", "cancel t-1");
    assertThat(store.awaited).isCancelled();
  }

  @Test
  void ticketThatTheStoreHasLost_isDenied() {
    CompletableFuture<TokenDecision> answer = CompletableFuture.completedFuture(queued());
    SingleAnswerStore store = new SingleAnswerStore(answer);
    CompletableFuture<TokenDecision> acquired =
        new Acquisition(store.store(), request(10), rig.timer).start(answer);
    store.awaited.complete(Optional.empty());
    assertThat(((TokenDecision.Denied) acquired.join()).message()).contains("t-1");
  }

  private static TokenDecision.Queued queued() {
    return new TokenDecision.Queued(
        Rig.MODEL,
        Rig.P1,
        10,
        0,
        Optional.empty(),
        1,
        Optional.empty(),
        BudgetDimension.CONCURRENCY,
        "t-1");
  }

  @Test
  void interruptedWaiter_leavesTheWaitingList() throws Exception {
    rig.granted(10, Rig.P1);
    AtomicReference<Throwable> thrown = new AtomicReference<>();
    Thread waiter =
        new Thread(
            () -> {
              try {
                governor.blocking().acquire(request(20));
              } catch (InterruptedException interrupted) {
                thrown.set(interrupted);
              }
            });
    waiter.start();
    Awaitility.await().until(() -> waiter.getState() == Thread.State.WAITING);
    assertThat(waiting()).isOne();
    waiter.interrupt();
    waiter.join();
    assertThat(thrown.get()).isInstanceOf(InterruptedException.class);
    assertThat(waiting()).isZero();
  }
}
