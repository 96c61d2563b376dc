package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.support.Futures;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Actions after the completion of futures. */
@Tag("any-jdk")
final class FuturesTest {
  private final List<Runnable> threads = new ArrayList<>();
  private final List<String> made = new ArrayList<>();

  @Test
  void longAnswer_isComputedOnOtherThreads() {
    Futures.make(Collections.nCopies(Futures.LONG + 1, ""), threads::add, () -> made.add("long"));
    assertThat(made).isEmpty();
    threads.forEach(Runnable::run);
    assertThat(made).containsExactly("long");
  }

  @Test
  void shortAnswer_isComputedAtOnce() {
    Futures.make(Collections.nCopies(Futures.LONG, ""), threads::add, () -> made.add("short"));
    Futures.make("text", threads::add, () -> made.add("text"));
    assertThat(made).containsExactly("short", "text");
    assertThat(threads).isEmpty();
  }
}
