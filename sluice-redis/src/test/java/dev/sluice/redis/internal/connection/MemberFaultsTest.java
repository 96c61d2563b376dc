package dev.sluice.redis.internal.connection;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.testkit.Await;
import dev.sluice.testkit.redis.RedisServer;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A member that throws what it should not. */
@Tag("any-jdk")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class MemberFaultsTest {
  private final AtomicInteger views = new AtomicInteger();
  private final AtomicInteger losses = new AtomicInteger();
  private volatile boolean faulty;

  private void fail() {
    if (faulty) {
      throw new IllegalStateException("a fault of the member");
    }
  }

  private final class Member implements FleetConnection.Member {
    @Override
    public CompletableFuture<Void> seen(MembersView view) {
      views.incrementAndGet();
      fail();
      return CompletableFuture.allOf();
    }

    @Override
    public void lost(String cause) {
      losses.incrementAndGet();
      fail();
    }

    @Override
    public CompletableFuture<Void> report() {
      return CompletableFuture.allOf();
    }

    @Override
    public void connected(Optional<Duration> outage) {}

    @Override
    public void refused(String error) {}
  }

  private FleetConnection connect(RedisServer server) {
    FleetConnection connection =
        new FleetConnection(
            RedisAddress.parse(server.uri()),
            new ConnectionConfig(TestMember.TIMEOUT, null, List.of(), "test-faults"),
            new MembershipConfig(
                "node",
                List.of(TestMember.MEMBERS),
                1,
                new MembershipConfig.Schema("{test}:schema", 1, List.of()),
                MembershipConfig.Timing.DEFAULTS),
            new Member());
    connection.start();
    return connection;
  }

  @Test
  void memberThatThrowsAtAView_staysAMember() {
    try (RedisServer server = RedisServer.start();
        FleetConnection connection = connect(server)) {
      faulty = true;
      int before = views.get();
      Await.until("more heartbeats", () -> views.get() > before + 8);
      faulty = false;
      assertThat(connection.state()).isEqualTo(ConnectionState.CONNECTED);
    }
  }

  @Test
  void memberThatThrowsAtALoss_returns() {
    try (RedisServer server = RedisServer.builder().data().start();
        FleetConnection connection = connect(server)) {
      faulty = true;
      server.pause();
      Await.until("the loss", () -> losses.get() > 0);
      faulty = false;
      server.resume();
      Await.until("Redis", () -> connection.state() == ConnectionState.CONNECTED);
    }
  }
}
