package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("any-jdk")
final class WorkSharesTest {
  private final WorkShares shares = new WorkShares(2);
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
  void workThatThrows_givesItsPlaceToTheNext() {
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
}
