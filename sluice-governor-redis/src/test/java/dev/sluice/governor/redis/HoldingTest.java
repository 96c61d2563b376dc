package dev.sluice.governor.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.Outcome;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** How books that were lost come to know what is held. */
final class HoldingTest {
  private static final int WORDS = 6;

  private final Set<String> settled = new HashSet<>();
  private final Holding holding = new Holding(id -> !settled.contains(id));
  private final List<List<String>> sent = new ArrayList<>();
  private CompletableFuture<Void> answer = new CompletableFuture<>();

  private static List<OpenGrants.Grant> grants(int count) {
    return IntStream.range(0, count).mapToObj(HoldingTest::grant).toList();
  }

  private static OpenGrants.Grant grant(int number) {
    String reservation = "r0123456789-%032x".formatted(number);
    return new OpenGrants.Grant(
        new Outcome.Granted("sonnet", "P1_user", 1, 1, 0, reservation), "", null, false);
  }

  private CompletableFuture<?> send(String[] words) {
    sent.add(
        IntStream.range(0, words.length / WORDS)
            .mapToObj(i -> Objects.requireNonNull(words[WORDS * i]))
            .toList());
    answer = new CompletableFuture<>();
    return answer;
  }

  private CompletableFuture<Void> hold(long generation, int count) {
    return holding.hold(generation, grants(count), this::send);
  }

  @Test
  void portions_goOneAfterTheOther() {
    CompletableFuture<Void> done = hold(1, 2 * Holding.PORTION + 1);
    assertThat(sent).hasSize(1);
    answer.complete(null);
    answer.complete(null);
    assertThat(sent).hasSize(3);
    assertThat(done).isNotDone();
    answer.complete(null);
    assertThat(done).isCompleted();
    assertThat(sent.stream().flatMap(List::stream).distinct()).hasSize(2 * Holding.PORTION + 1);
  }

  @Test
  void confirmed_isNotSentAgain_toTheSameBooks() {
    CompletableFuture<Void> first = hold(1, 2 * Holding.PORTION);
    answer.complete(null);
    answer.completeExceptionally(new IllegalStateException("late"));
    assertThat(first).isCompletedExceptionally();
    CompletableFuture<Void> second = hold(1, 2 * Holding.PORTION);
    assertThat(sent.get(2)).isEqualTo(sent.get(1));
    answer.complete(null);
    assertThat(second).isCompleted();
    CompletableFuture<Void> others = hold(2, Holding.PORTION);
    assertThat(sent.get(3)).isEqualTo(sent.get(0));
    assertThat(others).isNotDone();
  }

  @Test
  void whatThrows_endsIt() {
    IllegalStateException broken = new IllegalStateException("broken");
    CompletableFuture<Void> done =
        holding.hold(
            1,
            grants(1),
            words -> {
              throw broken;
            });
    assertThat(done).isCompletedExceptionally();
    assertThat(hold(1, 1)).isNotDone();
    assertThat(sent).hasSize(1);
  }

  @Test
  void settledMeanwhile_isLeftOut() {
    CompletableFuture<Void> done = hold(1, Holding.PORTION + 1);
    settled.add(grant(Holding.PORTION).id());
    answer.complete(null);
    assertThat(done).isCompleted();
    assertThat(sent).hasSize(1);
  }
}
