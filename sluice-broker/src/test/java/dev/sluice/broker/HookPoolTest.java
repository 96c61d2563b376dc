package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.broker.BrokerException.Code;
import dev.sluice.broker.hooks.HookExecutor;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.awaitility.Awaitility;
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
    pool.call(queue, 1, 1, this::awaitGate);
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
      pool.call("busy", 1_000, 1, note("busy"));
    }
    pool.call("quiet", 1, 1, note("quiet"));
    assertThat(openGateAndAwait(51).indexOf("quiet")).isLessThanOrEqualTo(2);
  }

  @Test
  void largeAndSmallCalls_areFairByRuns_notByCalls() {
    occupy("other");
    for (int i = 0; i < 10; i++) {
      pool.call("large", 1_000, 1, note("large"));
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
      pool.call("q", 1 + i % 3, 0, note("call " + i));
    }
    pool.call("other", 1, 1, note("other"));
    Awaitility.await().atMost(SOON).until(() -> ran.contains("other"));
    assertThat(ran).as("one queue holds one thread").containsExactly("other");
    assertThat(openGateAndAwait(501).subList(1, 501)).isEqualTo(sent);
  }

  @Test
  void callBeyondTheBoundOfItsQueue_isRefused_othersAreNot() {
    occupy("full");
    for (int i = 1; i < HookExecutor.MAX_CALLS; i++) {
      pool.call("full", 1, 0, note("full"));
    }
    assertRefused(() -> pool.call("full", 1, 0, note("full")), Code.BUSY, "queue=full", "1000");
    pool.call("other", 1, 0, note("other"));
    pool.run(HookExecutor.Work.FAILURE, "full", 1, note("failure"));
    assertThat(openGateAndAwait(1_001)).contains("other", "failure");
    Awaitility.await().atMost(SOON).until(() -> !pool.isBusy("full"));
    pool.call("full", 1, 0, note("again"));
    openGateAndAwait(1_002);
  }

  @Test
  void bytesThatWait_areBoundedByQueueAndInAll() {
    occupy("a");
    pool.call("a", 1, MAX_BYTES / 2 - 1, note("a"));
    assertRefused(
        () -> pool.call("a", 1, 1, note("a")),
        Code.BUSY,
        "queue=a",
        "limit=500 bytes of one queue");
    pool.call("b", 1, MAX_BYTES / 2, note("b"));
    assertRefused(
        () -> pool.call("c", 1, 1, note("c")),
        Code.BUSY,
        "queue=c",
        "1000 bytes of all queues (maxInboundBytes)");
    openGateAndAwait(2);
    Awaitility.await().atMost(SOON).until(() -> !pool.isBusy("a") && !pool.isBusy("b"));
    pool.call("c", 1, MAX_BYTES, note("c"));
    openGateAndAwait(3);
  }

  @Test
  void drain_waitsForCalls_andTakesNoMore() throws InterruptedException {
    occupy("q");
    pool.call("q", 1, 1, note("last"));
    Thread drain = new Thread(() -> pool.drain(SOON));
    drain.start();
    Awaitility.await()
        .atMost(SOON)
        .untilAsserted(
            () -> assertRefused(() -> pool.call("x", 1, 1, note("late")), Code.STOPPED, "closed"));
    assertThat(drain.isAlive()).isTrue();
    gate.countDown();
    drain.join(SOON.toMillis());
    assertThat(drain.isAlive()).isFalse();
    assertThat(ran).contains("last");
  }

  @Test
  void drain_ofACallThatDoesNotEnd_givesUp() {
    occupy("q");
    pool.call("q", 1, 1, note("never"));
    pool.drain(Duration.ofMillis(10));
    pool.stop();
    pool.run(HookExecutor.Work.FAILURE, "q", 1, note("never"));
    assertRefused(() -> pool.call("q", 1, 1, note("never")), Code.STOPPED, "closed");
    assertThat(ran).isEmpty();
  }

  @Test
  void taskThatThrows_leavesTheThreadAndTheCountsInOrder() {
    pool.call(
        "q",
        1,
        MAX_BYTES / 2,
        () -> {
          throw new IllegalStateException("expected by this test");
        });
    Awaitility.await().dontCatchUncaughtExceptions().atMost(SOON).until(() -> !pool.isBusy("q"));
    pool.call("q", 1, MAX_BYTES, note("next"));
    openGateAndAwait(1);
  }
}
