package dev.sluice.governor.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.governor.redis.internal.store.SerialRunner;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Actions run one after the other, outside of locks. */
final class SerialRunnerTest {
  private final SerialRunner runner = new SerialRunner();
  private final List<String> done = new ArrayList<>();

  private void run(Runnable work) {
    runner.add(work);
    runner.run();
  }

  @Test
  void actionAddedDuringARun_runsNext() {
    run(
        () -> {
          run(() -> done.add("second"));
          done.add("first");
        });
    assertThat(done).containsExactly("first", "second");
  }

  @Test
  void failedAction_doesNotStopLaterOnes() {
    runner.add(
        () -> {
          throw new IllegalStateException("broken");
        });
    runner.add(() -> done.add("behind it"));
    assertThatThrownBy(runner::run).hasMessage("broken");
    run(() -> done.add("later"));
    assertThat(done).containsExactly("behind it", "later");
  }

  @Test
  void addingDuringARun_doesNotBlock() {
    run(
        () -> {
          CompletableFuture.runAsync(() -> run(() -> done.add("of another thread"))).join();
          done.add("of this one");
        });
    assertThat(done).containsExactly("of this one", "of another thread");
  }
}
