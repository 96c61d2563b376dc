package dev.sluice.redis.internal.connection;

import dev.sluice.testkit.Await;
import io.lettuce.core.RedisCommandExecutionException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;

/** A node with nothing but heartbeats, which writes down what it is told. */
final class TestMember implements AutoCloseable, FleetConnection.Member {
  static final Duration PATIENCE = Duration.ofSeconds(20);

  static final String MEMBERS = "{test}:members";
  static final Duration TIMEOUT = Duration.ofMillis(200);

  private final List<String> told = new CopyOnWriteArrayList<>();
  private final FleetConnection connection;

  /** Set to have the next view not adopted. */
  volatile boolean failsNextView;

  /** Set to have Redis refuse what is reported. */
  volatile boolean failsReports;

  TestMember(String url) {
    this(url, "node", 1, TIMEOUT);
  }

  TestMember(String url, String node, int expectedNodes, Duration timeout) {
    connection =
        new FleetConnection(
            RedisAddress.parse(url),
            new ConnectionConfig(timeout, null, List.of(), "test-" + node),
            new MembershipConfig(
                node,
                List.of(MEMBERS),
                expectedNodes,
                new MembershipConfig.Schema("{test}:schema", 1, List.of()),
                MembershipConfig.Timing.DEFAULTS),
            this);
    connection.claimShare();
    connection.start();
  }

  FleetConnection connection() {
    return connection;
  }

  List<String> told() {
    return told;
  }

  int live() {
    MembersView view = connection.view();
    return view == null ? 0 : view.live();
  }

  void awaitReturn() {
    Await.until("Redis", () -> connection.state() == ConnectionState.CONNECTED);
  }

  @Override
  public CompletableFuture<Void> seen(MembersView view) {
    if (failsNextView) {
      failsNextView = false;
      return CompletableFuture.failedFuture(new IllegalStateException("not adopted"));
    }
    return CompletableFuture.allOf();
  }

  @Override
  public void lost(String cause) {
    told.add("lost");
  }

  @Override
  public void alone() {
    connection.whileOut(() -> told.add("alone"));
  }

  @Override
  public CompletableFuture<Void> report() {
    told.add("report");
    return failsReports
        ? CompletableFuture.failedFuture(new RedisCommandExecutionException("NOPERM refused"))
        : CompletableFuture.allOf();
  }

  @Override
  public void connected(Optional<Duration> outage) {
    told.add(outage.isPresent() ? "returned" : "connected");
  }

  @Override
  public void refused(String error) {
    told.add(error);
  }

  @Override
  public void close() {
    connection.close();
  }
}
