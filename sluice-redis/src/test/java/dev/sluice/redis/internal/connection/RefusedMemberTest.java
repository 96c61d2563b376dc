package dev.sluice.redis.internal.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.testkit.Await;
import dev.sluice.testkit.redis.RedisServer;
import java.util.Collections;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A Redis that answers, and refuses a part of what makes a node a member. */
@Tag("any-jdk")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class RefusedMemberTest {
  private static final String SCHEMA = "{test}:schema";
  private static final LuaScript NOTHING = LuaScript.guarded(RefusedMemberTest.class);

  private static boolean decidesAlone(TestMember node) {
    return node.connection().whileOut(() -> true).isPresent();
  }

  private static int reports(TestMember node) {
    return Collections.frequency(node.told(), "report");
  }

  private static void awaitReports(TestMember node, int more) {
    int before = reports(node);
    Await.until("failed reports", () -> reports(node) >= before + more);
  }

  @Test
  void reportThatIsRefused_leavesTheShareDeciding_untilItIsAccepted() {
    try (RedisServer server = RedisServer.builder().data().start();
        TestMember node = new TestMember(server.uri())) {
      node.awaitReturn();
      server.pause();
      Await.until("its share", () -> node.told().contains("alone"));
      node.failsReports = true;
      server.resume();
      for (int i = 0; i < 3; i++) {
        awaitReports(node, 1);
        Await.until("its share again", () -> decidesAlone(node));
        assertThat(node.connection().state()).isIn(ConnectionState.OUT, ConnectionState.RETURNING);
      }
      node.failsReports = false;
      node.awaitReturn();
      assertThat(decidesAlone(node)).isFalse();
      Await.until("the return", () -> node.told().contains("returned"));
      assertThat(node.told().stream().filter("lost"::equals)).hasSize(1);
    }
  }

  /** As after a pause of the process: the node was never out. */
  @Test
  void reportOfAnAbsentMember_thatIsRefused_hasTheShareDecide() {
    try (RedisServer server = RedisServer.start();
        TestMember node = new TestMember(server.uri())) {
      node.awaitReturn();
      node.failsReports = true;
      server.command("HDEL", TestMember.MEMBERS, "node");
      Await.until("its share", () -> decidesAlone(node));
      node.failsReports = false;
      node.awaitReturn();
    }
  }

  @Test
  void heartbeatWithoutPermission_isNoSuccess() {
    try (RedisServer server = RedisServer.start();
        TestMember node = new TestMember(server.uri())) {
      node.awaitReturn();
      server.command("ACL", "SETUSER", "default", "-hgetall");
      Await.until("its share", () -> node.told().contains("alone"));
      assertThat(node.connection().state()).isEqualTo(ConnectionState.OUT);
      assertThat(node.told())
          .contains("lost")
          .anyMatch(told -> told.contains("can't run this command"));
      server.command("ACL", "SETUSER", "default", "+hgetall");
      node.awaitReturn();
    }
  }

  @Test
  void heartbeatOnAKeyOfAnotherType_isNoSuccess_evenIfOtherCallsAreAnswered() {
    try (RedisServer server = RedisServer.start();
        TestMember node = new TestMember(server.uri())) {
      node.awaitReturn();
      server.command("DEL", TestMember.MEMBERS);
      server.command("SET", TestMember.MEMBERS, "something else");
      Await.until(
          "its share",
          () -> {
            var unused = node.connection().probe(NOTHING, new String[0], new String[0]);
            return node.told().contains("alone");
          });
      assertThat(decidesAlone(node)).isTrue();
      server.command("DEL", TestMember.MEMBERS);
      node.awaitReturn();
    }
  }

  /** The start has ended without Redis by then. */
  @Test
  void otherLayout_thatIsMetAfterTheStart_endsDecisions_untilItIsGone() {
    try (RedisServer server = RedisServer.start()) {
      server.command("SET", SCHEMA, "2");
      server.pause();
      try (TestMember node = new TestMember(server.uri())) {
        Await.until("its share", () -> decidesAlone(node));
        server.resume();
        assertStops(node);
        server.command("DEL", SCHEMA);
        node.awaitReturn();
        node.connection().requireLayout();
      }
    }
  }

  /** A newer version was the first to start in a Redis that had lost its data. */
  @Test
  void otherLayout_thatReplacesTheData_endsDecisions() {
    try (RedisServer server = RedisServer.start();
        TestMember node = new TestMember(server.uri())) {
      node.awaitReturn();
      server.command("SET", SCHEMA, "2");
      server.command("DEL", TestMember.MEMBERS);
      assertStops(node);
      assertThat(server.command("HEXISTS", TestMember.MEMBERS, "node")).isEqualTo(0L);
    }
  }

  private static void assertStops(TestMember node) {
    String error = "SCHEMA 2 is stored in Redis, but this version of Sluice needs 1";
    Await.until("the error", () -> node.told().stream().anyMatch(told -> told.contains(error)));
    for (int i = 0; i < 3; i++) {
      assertThatThrownBy(() -> node.connection().requireLayout())
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining(error);
      assertThat(node.connection().call(NOTHING, new String[0], new String[0]))
          .isCompletedExceptionally();
      assertThat(decidesAlone(node)).isFalse();
      int before = node.told().size();
      Await.until("the next attempt", () -> node.told().size() > before);
    }
  }
}
