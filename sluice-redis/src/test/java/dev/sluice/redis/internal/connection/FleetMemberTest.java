package dev.sluice.redis.internal.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.testkit.Await;
import dev.sluice.testkit.redis.RedisServer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Members of a fleet: their heartbeats, outages, returns and reports. */
@Tag("any-jdk")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class FleetMemberTest {
  private static final LuaScript NOTHING = LuaScript.guarded(FleetMemberTest.class);

  private static CompletableFuture<List<Object>> call(TestMember node) {
    return node.connection().call(NOTHING, new String[0], new String[0]);
  }

  @Test
  void twoMembers_areCounted_andOneThatLeavesIsNot() {
    try (RedisServer server = RedisServer.start();
        TestMember one = new TestMember(server.uri(), "one", 1, TestMember.PATIENCE)) {
      assertThat(one.told()).containsExactly("report", "connected");
      try (TestMember two = new TestMember(server.uri(), "two", 1, TestMember.PATIENCE)) {
        Await.until("both", () -> one.live() == 2 && two.live() == 2);
        Await.until("halves", () -> one.connection().share() == MembershipConfig.PARTS / 2);
      }
      Await.until("one", () -> one.live() == 1);
      assertThat(server.command("HEXISTS", TestMember.MEMBERS, "two")).isEqualTo(0L);
      long off = one.connection().serverNanos() - TimeUnit.MICROSECONDS.toNanos(server.micros());
      assertThat(Math.abs(off)).isLessThan(TimeUnit.MILLISECONDS.toNanos(500));
    }
  }

  @Test
  void start_withoutRedis_isAlone_untilRedisComes() {
    try (RedisServer server = RedisServer.start()) {
      server.kill();
      try (TestMember node = new TestMember(server.uri(), "node", 3, TestMember.TIMEOUT)) {
        Await.until("its share", () -> node.told().contains("alone"));
        assertThat(node.connection().share()).isEqualTo(MembershipConfig.PARTS / 3);
        assertThatThrownBy(() -> call(node).join())
            .satisfies(failure -> assertThat(RedisFailure.isUnsent(failure)).isTrue());
        server.restart();
        node.awaitReturn();
        Await.until("the return", () -> node.told().contains("returned"));
        assertThat(node.told().stream().distinct())
            .containsExactly("lost", "alone", "report", "returned");
      }
    }
  }

  @Test
  void outage_isReportedInOrder_andAloneOnlyAfterThePresenceHasEnded() {
    try (RedisServer server = RedisServer.builder().data().start();
        TestMember node = new TestMember(server.uri(), "node", 1, TestMember.TIMEOUT)) {
      long from = System.nanoTime();
      server.pause();
      Await.until("its share", () -> node.told().contains("alone"));
      assertThat(Duration.ofNanos(System.nanoTime() - from))
          .isGreaterThan(MembershipConfig.Timing.DEFAULTS.presence().minusMillis(300));
      server.resume();
      Await.until("the return", () -> node.told().contains("returned"));
      assertThat(node.told())
          .startsWith("report", "connected", "lost", "alone")
          .endsWith("report", "returned");
      assertThat(node.connection().whileOut(() -> true)).isEmpty();
    }
  }

  /** Redis has the member again, but the member does not know: as if the answer had been lost. */
  @Test
  void return_thatFailsAfterRedisAdmittedIt_isCompletedLater() {
    try (RedisServer server = RedisServer.builder().data().start();
        TestMember node = new TestMember(server.uri(), "node", 1, TestMember.TIMEOUT)) {
      server.pause();
      Await.until("the loss", () -> node.told().contains("lost"));
      node.failsNextView = true;
      server.resume();
      Await.until("the return", () -> node.told().contains("returned"));
      assertThat(node.failsNextView).isFalse();
      assertThat(node.connection().state()).isEqualTo(ConnectionState.CONNECTED);
    }
  }

  @Test
  void close_twice_endsItsThreads_andRunsNothingMore() {
    try (RedisServer server = RedisServer.start()) {
      TestMember node = new TestMember(server.uri(), "closing", 1, TestMember.TIMEOUT);
      assertThat(threads()).contains("test-closing-heartbeat", "test-closing-deadlines");
      node.close();
      node.close();
      assertThat(node.connection().isClosed()).isTrue();
      node.connection().execute(() -> node.told().add("too late"));
      Await.until("threads that end", () -> threads().isEmpty());
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
  void script_ofAMissingPart_isRefused() {
    assertThatThrownBy(() -> LuaScript.of(FleetMemberTest.class, "nothing"))
        .isInstanceOf(IllegalStateException.class)
        .hasMessage("a script is missing from the library: nothing.lua");
    assertThat(FleetConnection.HEARTBEAT.digest()).hasSize(40);
  }
}
