package dev.sluice.redis.link;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.testkit.RedisServer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The pulse of an owner that has one key and no rules. */
@Tag("any-jdk")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class PulseTest {
  @Test
  void pulse_ofTwoNodes_countsThemAndForgetsWhoLeaves() {
    try (RedisServer server = RedisServer.start();
        TestMember one = new TestMember(server.uri(), "one", 1, TestMember.TIMEOUT)) {
      assertThat(one.told()).containsExactly("settle up", "back");
      try (TestMember two = new TestMember(server.uri(), "two", 1, TestMember.TIMEOUT)) {
        TestMember.await("both", () -> one.pulse().liveNodes() == 2 && two.pulse().nodes() == 2);
        assertThat(server.command("ZCARD", "test:nodes")).isEqualTo(2L);
      }
      // A node that leaves waits only briefly for Redis to hear it.
      TestMember.await("the leave", () -> server.command("ZCARD", "test:nodes").equals(1L));
      TestMember.await("one", () -> one.pulse().liveNodes() == 1);
      long off = one.pulse().serverNanos() - TimeUnit.MICROSECONDS.toNanos(server.micros());
      assertThat(Math.abs(off)).isLessThan(TimeUnit.MILLISECONDS.toNanos(500));
    }
  }

  @Test
  void start_withoutRedis_isLostUntilItComes() {
    try (RedisServer server = RedisServer.start()) {
      server.kill();
      try (TestMember node = new TestMember(server.uri(), "node", 3, TestMember.TIMEOUT)) {
        TestMember.await("the loss", () -> node.told().size() == 1);
        assertThat(node.pulse().nodes()).isEqualTo(3);
        assertThatThrownBy(() -> node.call().join())
            .hasCauseInstanceOf(TestMember.NotAskedException.class);
        server.restart();
        node.awaitReturn();
        assertThat(node.told()).containsExactly("lost", "settle up", "back");
        assertThat(node.call()).succeedsWithin(Duration.ofSeconds(10));
      }
    }
  }

  @Test
  void loss_isToldBeforeACallFails_andEndsByItself() {
    try (RedisServer server = RedisServer.start();
        TestMember node = new TestMember(server.uri(), "node", 1, TestMember.PATIENCE)) {
      server.pause();
      CompletableFuture<List<String>> toldBefore =
          node.call().handle((answer, failure) -> List.copyOf(node.told()));
      server.kill();
      assertThat(toldBefore.join()).containsExactly("settle up", "back", "lost");
      int before = node.answers();
      server.restart();
      node.awaitReturn();
      assertThat(node.told()).containsExactly("settle up", "back", "lost", "settle up", "back");
      assertThat(node.answers()).isGreaterThan(before);
      assertThat(node.pulse().sinceLoss()).isPositive().isLessThan(TestMember.PATIENCE);
    }
  }

  @Test
  void close_twice_endsItsThreadAndRunsNothingMore() {
    try (RedisServer server = RedisServer.start()) {
      TestMember node = new TestMember(server.uri(), "closing", 1, TestMember.TIMEOUT);
      assertThat(threads()).contains("test-closing-pulse", "test-closing-deadlines");
      node.close();
      node.close();
      assertThat(node.pulse().isClosed()).isTrue();
      node.pulse().execute(() -> node.told().add("too late"));
      TestMember.await("threads that end", () -> threads().isEmpty());
      assertThat(node.told()).doesNotContain("too late");
    }
  }

  private static List<String> threads() {
    return Thread.getAllStackTraces().keySet().stream()
        .map(Thread::getName)
        .filter(name -> name.startsWith("test-closing"))
        .toList();
  }

  @Test
  void roll_withoutKeysOrNodes_isRefused() {
    assertThatThrownBy(() -> new Roll("node", List.of(), 1))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("keys must be one or two: keys=[]");
    assertThatThrownBy(() -> new Roll("node", List.of("a"), 0))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("expectedNodes must be positive: expectedNodes=0");
  }

  @Test
  void script_ofAMissingPart_isRefused() {
    assertThatThrownBy(() -> LuaScript.of(PulseTest.class, "nothing"))
        .isInstanceOf(IllegalStateException.class)
        .hasMessage("a script is missing from the library: nothing.lua");
    assertThat(Pulse.SCRIPT.digest()).hasSize(40);
  }
}
