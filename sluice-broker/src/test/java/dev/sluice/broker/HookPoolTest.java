package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.broker.BrokerException.Code;
import dev.sluice.broker.internal.hooks.HookExecutor;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Order, fairness and bounds of the threads that run scripts. */
@Tag("any-jdk")
@Timeout(60)
class HookPoolTest {
  private static final Duration SOON = Duration.ofSeconds(30);
  private static final long MAX_BYTES = 1_000;

  private final CountDownLatch gate = new CountDownLatch(1);
  private final Queue<String> ran = new ConcurrentLinkedQueue<>();
  private HookExecutor pool = pool(1);

  private static HookExecutor pool(int threads) {
    return new HookExecutor(
        threads,
        MAX_BYTES,
        task -> {
          Thread thread = new Thread(task);
          // One test throws on purpose.
          thread.setUncaughtExceptionHandler((same, thrown) -> {});
          return thread;
        });
  }

  @AfterEach
  void stop() {
    gate.countDown();
    pool.stop();
  }

  /** A call without an account. */
  private void call(String queue, int messages, long size, Runnable task) {
    pool.call(null, queue, messages, size, task);
  }

  private void awaitNone(String... queues) {
    Awaitility.await().atMost(SOON).until(() -> Stream.of(queues).noneMatch(pool::isBusy));
  }

  private Runnable note(String what) {
    return () -> ran.add(what);
  }

  private void awaitGate() {
    try {
      assertThat(gate.await(SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    }
  }

  /** Holds the thread of {@code queue} until the gate opens. */
  private void occupy(String queue) {
    call(queue, 1, 1, this::awaitGate);
  }

  private List<String> openGateAndAwait(int tasks) {
    gate.countDown();
    Awaitility.await().atMost(SOON).until(() -> ran.size() == tasks);
    return List.copyOf(ran);
  }

  private static void assertRefused(ThrowingCallable call, Code code, String... parts) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(
            BrokerException.class, refused -> assertThat(refused.code()).isEqualTo(code))
        .hasMessageContainingAll(parts);
  }

  @Test
  void quietQueue_goesBeforeTheBacklogOfABusyOne() {
    occupy("busy");
    for (int i = 0; i < 50; i++) {
      call("busy", 1_000, 1, note("busy"));
    }
    call("quiet", 1, 1, note("quiet"));
    assertThat(openGateAndAwait(51).indexOf("quiet")).isLessThanOrEqualTo(2);
  }

  /** A task that notes {@code queue} and calls again, so many times. */
  private Runnable again(@Nullable String account, String queue, int times) {
    return () -> {
      ran.add(queue);
      if (times > 0) {
        pool.call(account, queue, 1, 0, again(account, queue, times - 1));
      }
    };
  }

  @Test
  void laterCallsOfAQuietQueue_doNotWaitForTheBacklogOfABusyOne() {
    occupy("busy");
    for (int i = 0; i < 900; i++) {
      call("busy", 1, 0, note("busy"));
    }
    call("quiet", 1, 0, again(null, "quiet", 2));
    List<String> order = openGateAndAwait(903);
    assertThat(order.lastIndexOf("quiet")).isLessThanOrEqualTo(8);
  }

  @Test
  void laterCallsOfAQuietAccount_doNotWaitForManyQueuesOfAnother() {
    pool.call("busy", "busy 0", 1, 0, this::awaitGate);
    for (int i = 0; i < 18; i++) {
      for (int queue = 0; queue < 50; queue++) {
        pool.call("busy", "busy " + queue, 1, 0, note("busy"));
      }
    }
    pool.call("calm", "quiet", 1, 0, again("calm", "quiet", 2));
    List<String> order = openGateAndAwait(903);
    assertThat(order.lastIndexOf("quiet")).isLessThanOrEqualTo(8);
  }

  @Test
  void queuesOfOneAccount_takeTurns() {
    pool.call("one", "long", 1, 0, this::awaitGate);
    for (int i = 0; i < 100; i++) {
      pool.call("one", "long", 1, 0, note("long"));
    }
    pool.call("one", "short", 1, 0, again("one", "short", 2));
    assertThat(openGateAndAwait(103).lastIndexOf("short")).isLessThanOrEqualTo(8);
  }

  /** Calls to one queue run in their order, whichever account makes them. */
  @Test
  void callsOfSeveralAccountsToOneQueue_keepTheirOrder() {
    pool.stop();
    pool = pool(4);
    List<String> sent = new ArrayList<>();
    occupy("q");
    for (int i = 0; i < 500; i++) {
      sent.add("call " + i);
      pool.call("account " + i % 3, "q", 1 + i % 100, 0, note("call " + i));
      pool.call("account " + i % 2, "other", 1, 0, () -> {});
    }
    awaitNone("other");
    assertThat(openGateAndAwait(500)).isEqualTo(sent);
  }

  @Test
  void failureHooksOfManyQueues_takeTurnsWithCalls() {
    occupy("q");
    for (int i = 0; i < 900; i++) {
      pool.run(HookExecutor.Work.FAILURE, "busy " + i % 300, 1, note("failure"));
    }
    call("quiet", 1, 0, again(null, "quiet", 2));
    assertThat(openGateAndAwait(903).lastIndexOf("quiet")).isLessThanOrEqualTo(8);
  }

  @Test
  void largeAndSmallCalls_areFairByRuns_notByCalls() {
    occupy("other");
    for (int i = 0; i < 10; i++) {
      call("large", 1_000, 1, note("large"));
      pool.run(HookExecutor.Work.FAILURE, "small", 1, note("small"));
    }
    // All ten small ones cost less than a hundredth of one large call.
    List<String> order = openGateAndAwait(20);
    assertThat(order.lastIndexOf("small")).isLessThanOrEqualTo(12);
  }

  @Test
  void callsOfOneQueue_runOneAtATimeInOrder_onAnyNumberOfThreads() {
    pool.stop();
    pool = pool(8);
    occupy("q");
    List<String> sent = new ArrayList<>();
    for (int i = 0; i < 500; i++) {
      sent.add("call " + i);
      call("q", 1 + i % 3, 0, note("call " + i));
    }
    call("other", 1, 1, note("other"));
    Awaitility.await().atMost(SOON).until(() -> ran.contains("other"));
    assertThat(ran).as("one queue holds one thread").containsExactly("other");
    assertThat(openGateAndAwait(501).subList(1, 501)).isEqualTo(sent);
  }

  @Test
  void callBeyondTheBoundOfItsQueue_isRefused_othersAreNot() {
    occupy("full");
    for (int i = 1; i < HookExecutor.MAX_CALLS; i++) {
      call("full", 1, 0, note("full"));
    }
    assertRefused(() -> call("full", 1, 0, note("full")), Code.BUSY, "queue=full", "1000");
    call("other", 1, 0, note("other"));
    pool.run(HookExecutor.Work.FAILURE, "full", 1, note("failure"));
    assertThat(openGateAndAwait(1_001)).contains("other", "failure");
    Awaitility.await().atMost(SOON).until(() -> !pool.isBusy("full"));
    call("full", 1, 0, note("again"));
    openGateAndAwait(1_002);
  }

  @Test
  void bytesThatWait_areBoundedByQueueAndInAll_butNotForSmallHolders() {
    occupy("a");
    call("a", 1, MAX_BYTES / 2 - 1, note("a"));
    assertRefused(
        () -> call("a", 1, 1, note("a")), Code.BUSY, "queue=a", "limit=500 bytes of one queue");
    call("b", 1, MAX_BYTES / 4, note("b"));
    assertRefused(
        () -> call("b", 1, 1, note("b")), Code.BUSY, "1000 bytes of all queues (maxInboundBytes)");
    assertRefused(
        () -> call("c", 1, 16, note("c")),
        Code.BUSY,
        "queue=c",
        "1000 bytes of all queues (maxInboundBytes)");
    call("c", 1, MAX_BYTES / 64, note("c"));
    openGateAndAwait(3);
    awaitNone("a", "b", "c");
    call("c", 1, MAX_BYTES, note("c"));
    openGateAndAwait(4);
  }

  @Test
  void queuesOfOneAccount_shareHalfOfTheBytes_andOtherAccountsAreTaken() {
    occupy("a");
    pool.call("tenant", "a", 1, MAX_BYTES / 4, note("a"));
    pool.call("tenant", "b", 1, MAX_BYTES / 4, note("b"));
    assertRefused(
        () -> pool.call("tenant", "c", 1, 1, note("c")),
        Code.BUSY,
        "limit=500 bytes of one account");
    pool.call("other", "c", 1, 240, note("c"));
    pool.call("small", "c", 1, MAX_BYTES / 64, note("c"));
    openGateAndAwait(4);
    awaitNone("a", "b", "c");
    pool.call("tenant", "a", 1, MAX_BYTES, note("a"));
    openGateAndAwait(5);
  }

  @Test
  void drain_waitsForCalls_andTakesNoMore() throws InterruptedException {
    occupy("q");
    call("q", 1, 1, note("last"));
    Thread drain = new Thread(() -> pool.drain(SOON));
    drain.start();
    Awaitility.await()
        .atMost(SOON)
        .untilAsserted(
            () -> assertRefused(() -> call("x", 1, 1, note("late")), Code.STOPPED, "closed"));
    assertThat(drain.isAlive()).isTrue();
    gate.countDown();
    drain.join(SOON.toMillis());
    assertThat(drain.isAlive()).isFalse();
    assertThat(ran).contains("last");
  }

  @Test
  void drain_ofACallThatDoesNotEnd_givesUp() {
    occupy("q");
    call("q", 1, 1, note("never"));
    pool.drain(Duration.ofMillis(10));
    pool.stop();
    pool.run(HookExecutor.Work.FAILURE, "q", 1, note("never"));
    assertRefused(() -> call("q", 1, 1, note("never")), Code.STOPPED, "closed");
    assertThat(ran).isEmpty();
  }

  @Test
  void taskThatThrows_leavesTheThreadAndTheCountsInOrder() {
    call(
        "q",
        1,
        MAX_BYTES / 2,
        () -> {
          throw new IllegalStateException("expected by this test");
        });
    Awaitility.await().dontCatchUncaughtExceptions().atMost(SOON).until(() -> !pool.isBusy("q"));
    call("q", 1, MAX_BYTES, note("next"));
    openGateAndAwait(1);
  }
}
