package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.server.transport.AccountExecutors;
import dev.sluice.server.transport.OwnerFairExecutor;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Tag("any-jdk")
final class WorkSharesTest {
  private final OwnerFairExecutor shares = new OwnerFairExecutor(4, 2);
  private final List<Runnable> threads = new ArrayList<>();
  private final List<String> done = new ArrayList<>();

  private void submit(String owner, String work) {
    shares.of(owner, threads::add).execute(() -> done.add(work));
  }

  private void runAll() {
    while (!threads.isEmpty()) {
      threads.remove(0).run();
    }
  }

  @Test
  void workBeyondTheShare_waitsAndLeavesThreadsToOthers() {
    for (int i = 0; i < 5; i++) {
      submit("evil", "evil-" + i);
    }
    submit("good", "good");
    assertThat(threads).hasSize(3);
    runAll();
    assertThat(done).containsExactly("evil-0", "evil-1", "good", "evil-2", "evil-3", "evil-4");
    assertThat(shares.owners()).isZero();
  }

  @Test
  void freeThread_goesToTheOwnerWithTheFewest() {
    for (String owner : List.of("a", "b", "c", "d")) {
      submit(owner, owner + "-0");
      submit(owner, owner + "-1");
    }
    submit("good", "good");
    assertThat(threads).hasSize(4);
    runAll();
    assertThat(done)
        .containsExactly("a-0", "a-1", "b-0", "b-1", "c-0", "d-0", "good", "c-1", "d-1");
    assertThat(shares.owners()).isZero();
  }

  @Test
  void waitingOwners_takeTurns() {
    OwnerFairExecutor one = new OwnerFairExecutor(1, 1);
    for (String work : List.of("a-0", "a-1", "a-2", "b-0", "b-1", "c-0")) {
      one.of(work.substring(0, 1), threads::add).execute(() -> done.add(work));
    }
    runAll();
    assertThat(done).containsExactly("a-0", "b-0", "c-0", "a-1", "b-1", "a-2");
  }

  @Test
  void endsOfRequests_runBeforeBeginnings() {
    OwnerFairExecutor one = new OwnerFairExecutor(1, 1);
    one.of("a", threads::add).execute(() -> done.add("begin-0"));
    one.of("a", threads::add).execute(() -> done.add("begin-1"));
    one.endingOf("a", threads::add).execute(() -> done.add("end"));
    runAll();
    assertThat(done).containsExactly("begin-0", "end", "begin-1");
  }

  @Test
  @Timeout(60)
  void workOfManyThreads_isCompleted() throws InterruptedException {
    int each = 5_000;
    ExecutorService pool = Executors.newFixedThreadPool(4);
    CountDownLatch left = new CountDownLatch(4 * each);
    AtomicInteger running = new AtomicInteger();
    AtomicInteger most = new AtomicInteger();
    Runnable work =
        () -> {
          most.accumulateAndGet(running.incrementAndGet(), Math::max);
          running.decrementAndGet();
          left.countDown();
        };
    List<Thread> callers = new ArrayList<>();
    for (int caller = 0; caller < 4; caller++) {
      Executor mine = shares.of(caller % 3, pool);
      callers.add(new Thread(() -> Stream.generate(() -> work).limit(each).forEach(mine::execute)));
    }
    callers.forEach(Thread::start);
    for (Thread caller : callers) {
      caller.join();
    }
    left.await();
    pool.shutdown();
    assertThat(pool.awaitTermination(20, TimeUnit.SECONDS)).isTrue();
    assertThat(most.get()).isBetween(1, 4);
    assertThat(shares.owners()).isZero();
  }

  @Test
  void refusedWork_releasesItsPlace() {
    for (int i = 0; i < 5; i++) {
      shares
          .of(
              "one",
              task -> {
                throw new RejectedExecutionException("on purpose");
              })
          .execute(() -> done.add("never"));
    }
    assertThat(shares.owners()).isZero();
    submit("one", "later");
    runAll();
    assertThat(done).containsExactly("later");
  }

  @Test
  void workForWhichTheSystemHasNoThread_keepsNoPlace() {
    for (int i = 0; i < 5; i++) {
      Executor full =
          shares.of(
              "one",
              task -> {
                throw new OutOfMemoryError("on purpose");
              });
      assertThatThrownBy(() -> full.execute(() -> done.add("never"))).hasMessage("on purpose");
    }
    assertThat(shares.owners()).isZero();
    submit("one", "later");
    runAll();
    assertThat(done).containsExactly("later");
  }

  @Test
  void workThatThrows_passesItsPlaceOn() {
    for (int i = 0; i < 3; i++) {
      shares
          .of("one", threads::add)
          .execute(
              () -> {
                throw new IllegalStateException("on purpose");
              });
    }
    for (int i = 0; i < 3; i++) {
      assertThatThrownBy(threads.remove(0)::run).hasMessage("on purpose");
    }
    assertThat(shares.owners()).isZero();
  }

  /** Lists that wait behind other calls of their account do not hold up those of other accounts. */
  @Test
  void lists_waitForTheirOwnAccountAlone() {
    AccountExecutors calls = new AccountExecutors(4);
    for (String owner : List.of("a", "a", "b", "b")) {
      calls.of(owner, threads::add, false).execute(() -> done.add(owner + "-call"));
    }
    for (String owner : List.of("a", "b", "c", "d", "e")) {
      calls.of(owner, threads::add, true).execute(() -> done.add(owner + "-list"));
    }
    assertThat(threads).hasSize(4);
    // The threads go to accounts that have none, in the order in which they came.
    runAll();
    assertThat(done)
        .containsExactly(
            "a-call", "a-call", "b-call", "b-call", "c-list", "d-list", "e-list", "a-list",
            "b-list");
  }
}
