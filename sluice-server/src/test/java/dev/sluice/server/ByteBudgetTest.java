package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.transport.ResponseMemoryBudget;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** No account keeps all the memory for answers, and slow readers make room. */
@Timeout(60)
final class ByteBudgetTest {
  private static final int KIB = 1 << 10;
  private static final int MAX = 800 * KIB;
  private static final long LONG_NANOS = Duration.ofSeconds(30).toNanos();

  private final AtomicLong now = new AtomicLong();
  private final ResponseMemoryBudget budget = new ResponseMemoryBudget(MAX, now::get);
  private final List<String> cut = new ArrayList<>();

  private ResponseMemoryBudget.Reservation unread(String account, int kib) {
    ResponseMemoryBudget.Reservation part = budget.part(account);
    part.hold((long) kib * KIB, () -> cut.add(account));
    return part;
  }

  private boolean take(String account, int kib) {
    return budget.part(account).take((long) kib * KIB);
  }

  private void pass() {
    now.addAndGet(ResponseMemoryBudget.PATIENCE_NANOS);
  }

  @Test
  void account_getsHalfOfTheBudget() {
    assertThat(take("a", 300)).isTrue();
    assertThat(take("a", 101)).isFalse();
    assertThat(take("a", 100)).isTrue();
    assertThat(take("b", 400)).isTrue();
    assertThat(take("c", 5)).isFalse();
  }

  @Test
  void firstAnswer_mayExceedTheShare_andTheTotal() {
    ResponseMemoryBudget.Reservation large = budget.part("a");
    assertThat(large.take(2L * MAX)).isTrue();
    assertThat(large.take(5 * KIB)).isFalse();
    assertThat(take("b", 5)).isFalse();
    large.close();
    assertThat(budget.used()).isZero();
  }

  @Test
  void smallAnswers_areAlwaysAccepted() {
    unread("a", 800);
    assertThat(take("b", 4)).isTrue();
    unread("b", 4);
    assertThat(budget.used()).isEqualTo(MAX);
  }

  @Test
  void youngAnswers_areNotCutForOthers() {
    unread("a", 400);
    unread("b", 400);
    assertThat(take("c", 5)).isFalse();
    assertThat(cut).isEmpty();
  }

  @Test
  void fullBudget_overdueAnswersOfTheLargestAccountMakeRoom() {
    unread("a", 200);
    unread("b", 300);
    unread("c", 300);
    unread("c", 0);
    pass();
    unread("b", 10);
    assertThat(take("d", 100)).isTrue();
    assertThat(cut).containsExactly("b");
    assertThat(budget.used()).isEqualTo((200 + 300 + 10 + 100) * KIB);
  }

  @Test
  void accountAtItsShare_cutsItsOwnAnswers() {
    unread("a", 100);
    pass();
    unread("b", 400);
    pass();
    assertThat(take("b", 5)).isTrue();
    assertThat(cut).containsExactly("b");
  }

  @Test
  void answerThatIsReady_isNeverRefused() {
    unread("a", 400);
    unread("b", 400);
    unread("c", 100);
    assertThat(cut).isEmpty();
    assertThat(budget.used()).isEqualTo(900 * KIB);
    pass();
    unread("c", 100);
    assertThat(cut).containsExactly("a");
  }

  @Test
  void twiceTheBudget_isNotExceeded_byYoungAnswers() {
    unread("b", 100);
    for (int i = 0; i < 20; i++) {
      unread("a" + i, 200);
      assertThat(budget.used()).isLessThanOrEqualTo(2L * MAX);
    }
    assertThat(cut).isNotEmpty().doesNotContain("b");
  }

  /** One account leaves a quarter to others, whose small answers must not wait for its readers. */
  @Test
  void accountBeyondItsShare_cutsItsOwnYoungAnswers_whereTheBudgetIsCrowded() {
    unread("b", 100);
    for (int i = 0; i < 20; i++) {
      unread("a", 200);
      assertThat(take("c", 5)).isTrue();
    }
    assertThat(cut).isNotEmpty().containsOnly("a");
  }

  /** Else one large answer would end all others. */
  @Test
  void answerBeyondTwiceTheBudget_cutsNoYoungAnswersOfOthers() {
    unread("b", 100);
    unread("a", 2_000);
    assertThat(cut).isEmpty();
  }

  @Test
  void cutAnswer_holdsNoMemory() {
    ResponseMemoryBudget.Reservation slow = unread("a", 800);
    pass();
    assertThat(take("b", 100)).isTrue();
    slow.hold(500 * KIB, () -> cut.add("again"));
    slow.close();
    assertThat(budget.used()).isEqualTo(100 * KIB);
    pass();
    assertThat(take("c", 700)).isTrue();
    assertThat(cut).containsExactly("a");
  }

  @Test
  void stream_thatIsReadAgain_isNotOverdue() {
    ResponseMemoryBudget.Reservation stream = unread("a", 400);
    pass();
    stream.read();
    assertThat(budget.used()).isZero();
    stream.hold(400 * KIB, () -> cut.add("a"));
    unread("b", 400);
    assertThat(take("c", 5)).isFalse();
    assertThat(cut).isEmpty();
  }

  @Test
  void await_returnsWhenMemoryIsReleased() {
    ResponseMemoryBudget.Reservation full = unread("a", 800);
    CompletableFuture<Boolean> waiting =
        CompletableFuture.supplyAsync(() -> budget.part("b").await(100 * KIB, LONG_NANOS));
    full.close();
    assertThat(waiting.join()).isTrue();
  }

  @Test
  void await_cutsAnswersThatBecomeOverdue() {
    unread("a", 800);
    CountDownLatch begun = new CountDownLatch(1);
    CompletableFuture<Boolean> waiting =
        CompletableFuture.supplyAsync(
            () -> {
              begun.countDown();
              return budget.part("b").await(100 * KIB, LONG_NANOS);
            });
    Awaitility.await().until(() -> begun.getCount() == 0);
    pass();
    assertThat(waiting.join()).isTrue();
    assertThat(cut).containsExactly("a");
  }

  @Test
  void await_ofOneAccount_blocksFewThreads() throws InterruptedException {
    unread("a", 800);
    List<Thread> waiting = new ArrayList<>();
    for (int i = 0; i < 40; i++) {
      Thread thread = new Thread(() -> budget.part("b").await(100 * KIB, LONG_NANOS));
      thread.start();
      waiting.add(thread);
    }
    Awaitility.await().until(() -> waiting.stream().filter(Thread::isAlive).count() <= 16);
    waiting.forEach(Thread::interrupt);
    for (Thread each : waiting) {
      each.join();
    }
    assertThat(budget.used()).isEqualTo(MAX);
  }
}
