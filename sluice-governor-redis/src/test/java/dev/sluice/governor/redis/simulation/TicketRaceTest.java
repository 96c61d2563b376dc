package dev.sluice.governor.redis.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import dev.sluice.redis.internal.connection.ConnectionState;
import dev.sluice.redis.internal.connection.FleetConnection;
import dev.sluice.redis.simulation.Faults;
import dev.sluice.redis.simulation.RedisScripts;
import dev.sluice.redis.simulation.Request;
import dev.sluice.redis.simulation.SimulatedFleet;
import dev.sluice.testkit.redis.RedisServer;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Two callers of a node await one ticket, one after the other, in virtual time: a grant that the
 * second one receives is its own, and an undelivered one is returned. There is one slot.
 */
final class TicketRaceTest {
  private static final long MILLI = TimeUnit.MILLISECONDS.toNanos(1);
  private static final int HOUR = 3_600_000;
  private static final int IDLE = (int) GovernorPlan.IDLE_TIMEOUT.toMillis();

  private static RedisServer server;
  private static RedisScripts scripts;

  private final List<String> ran = new ArrayList<>();
  private Runnable onClaim = () -> {};

  @BeforeAll
  static void start() {
    server = RedisServer.start();
    scripts = new RedisScripts(server.port());
  }

  @AfterAll
  static void stop() throws IOException {
    scripts.close();
    server.close();
  }

  private static GovernorPlan plan() {
    return new GovernorPlan(
        2,
        0,
        Duration.ofMillis(100),
        1,
        1_000,
        1_000,
        1,
        GovernorPlan.Kind.SLOTS,
        10,
        1_000,
        0,
        false,
        List.of(Faults.stopOfRedis(HOUR * MILLI, MILLI)),
        0);
  }

  /** Nodes without callers. */
  private final class Fleet extends SimulatedFleet<GovernorNode> {
    private final Random random = new Random(1);

    Fleet(int nodes) {
      super(scripts, new Random(2), List.of(), false);
      begin(nodes);
      run(4_000);
      assertThat(nodes())
          .allMatch(node -> node.connection().state() == ConnectionState.CONNECTED)
          .allMatch(node -> node.share() > 0);
    }

    @Override
    protected GovernorNode newNode(int number) {
      return new GovernorNode(scheduler(), server(), random, number, 1, plan(), () -> 0);
    }

    @Override
    protected void ran(
        Request request, @Nullable List<Object> answer, @Nullable Throwable failure) {
      String[] words = request.arguments();
      boolean isHeartbeat = request.script() == FleetConnection.HEARTBEAT;
      String call =
          (isHeartbeat ? "HEARTBEAT" : request.script()) + " " + (words.length > 1 ? words[1] : "");
      ran.add(call);
      if (call.equals("TICKET claim")) {
        onClaim.run();
      }
    }

    @Override
    protected void lostData() {}

    void run(int millis) {
      scheduler().runUntil(scheduler().nanos() + millis * MILLI);
    }

    void runUntil(BooleanSupplier done) {
      for (int steps = 0; !done.getAsBoolean(); steps++) {
        assertThat(steps).isLessThan(200_000);
        scheduler().runUntil(scheduler().nanos() + MILLI / 20);
      }
    }

    TokenDecision ask(GovernorNode node) {
      CompletableFuture<TokenDecision> answer =
          node.store()
              .request(
                  TokenRequest.of(GovernorPlan.MODEL, 10)
                      .withPriorityClass(GovernorPlan.CLASSES.get(0)));
      run(20);
      return answer.join();
    }

    String granted(GovernorNode node) {
      return ((TokenDecision.Granted) ask(node)).reservation();
    }

    String queued(GovernorNode node) {
      return ((TokenDecision.Queued) ask(node)).ticket();
    }

    int running(GovernorNode node) {
      var status = node.store().status();
      run(20);
      return status.join().models().get(GovernorPlan.MODEL).running();
    }

    /** A caller has the grant, and keeps it. */
    void assertHeld(GovernorNode node, CompletableFuture<Optional<TokenDecision>> waiter) {
      assertThat(waiter).isCompleted();
      TokenDecision.Granted granted = (TokenDecision.Granted) waiter.join().orElseThrow();
      run(3 * IDLE);
      assertThat(running(node)).isEqualTo(1);
      var settled = node.store().settle(granted.reservation(), 10);
      run(20);
      assertThat(settled.join()).isPresent();
      assertThat(running(node)).isZero();
    }
  }

  // ---- Redis grants

  private final class Granted {
    final Fleet fleet = new Fleet(2);
    final GovernorNode node = fleet.nodes().get(0);
    final String ticket;
    final CompletableFuture<Optional<TokenDecision>> first;

    /** Another node's settlement grants a ticket for which a caller waits. */
    Granted() {
      GovernorNode other = fleet.nodes().get(1);
      String running = fleet.granted(other);
      ticket = fleet.queued(node);
      first = node.store().await(ticket);
      fleet.run(20);
      ran.clear();
      var unused = other.store().settle(running, 10);
    }

    void runUntilClaimed() {
      fleet.runUntil(() -> ran.contains("TICKET claim"));
    }
  }

  @Test
  void undeliveredGrant_isNotLeft_whileTheNextCallerWaits() {
    Granted granted = new Granted();
    GovernorNode node = granted.node;
    node.timer().hold();
    granted.runUntilClaimed();
    granted.fleet.run(3);
    assertThat(granted.first).isNotDone();
    granted.first.cancel(false);
    node.wire().hold(false, true, 40 * MILLI);
    CompletableFuture<Optional<TokenDecision>> second = node.store().await(granted.ticket);
    granted.fleet.run(5);
    node.timer().release();
    granted.fleet.run(60);
    assertThat(ran).doesNotContain("TICKET leave");
    granted.fleet.assertHeld(node, second);
  }

  @Test
  void storedLeave_endsNoDeliveredGrant() {
    Granted granted = new Granted();
    GovernorNode node = granted.node;
    onClaim = () -> node.wire().hold(false, true, 40 * MILLI);
    granted.runUntilClaimed();
    node.wire().lose(100, 0);
    granted.first.cancel(false);
    CompletableFuture<Optional<TokenDecision>> second = node.store().await(granted.ticket);
    node.wire().lose(0, 0);
    granted.fleet.run(2_000);
    granted.fleet.assertHeld(node, second);
  }

  @Test
  void laterWaiter_receivesNoEarlierReply() {
    Granted granted = new Granted();
    GovernorNode node = granted.node;
    onClaim = () -> node.wire().hold(false, true, 40 * MILLI);
    granted.runUntilClaimed();
    granted.first.cancel(false);
    node.wire().lose(100, 0);
    CompletableFuture<Optional<TokenDecision>> second = node.store().await(granted.ticket);
    node.wire().lose(0, 0);
    granted.fleet.run(2_000);
    granted.fleet.assertHeld(node, second);
  }

  // ---- the share grants

  private final class GrantedByTheShare {
    final Fleet fleet = new Fleet(1);
    final GovernorNode node = fleet.nodes().get(0);
    final String ticket;

    /** The node has reported the grant, but not found yet that it is undelivered. */
    GrantedByTheShare() {
      node.wire().cut(true);
      fleet.run(4_000);
      assertThat(node.isOut()).isTrue();
      String running = fleet.granted(node);
      ticket = fleet.queued(node);
      CompletableFuture<Optional<TokenDecision>> first = node.store().await(ticket);
      assertThat(node.store().settle(running, 10).join()).isPresent();
      node.timer().hold();
      fleet.run(0);
      first.cancel(false);
      node.wire().cut(false);
      ran.clear();
      fleet.runUntil(() -> ran.contains("REPORT 1"));
      fleet.runUntil(() -> node.connection().state() == ConnectionState.CONNECTED);
      ran.clear();
      fleet.runUntil(() -> ran.contains("HEARTBEAT stay"));
      fleet.run(5);
      assertThat(fleet.running(node)).isEqualTo(1);
      ran.clear();
    }

    CompletableFuture<Optional<TokenDecision>> awaitSlowly() {
      node.wire().hold(false, true, 20 * MILLI);
      return node.store().await(ticket);
    }
  }

  @Test
  void undeliveredGrantOfTheShare_isOfTheNextWaiter() {
    GrantedByTheShare granted = new GrantedByTheShare();
    CompletableFuture<Optional<TokenDecision>> second = granted.awaitSlowly();
    granted.node.timer().release();
    granted.fleet.run(2_000);
    assertThat(ran).doesNotContain("TICKET cancel");
    granted.fleet.assertHeld(granted.node, second);
  }

  @Test
  void undeliveredGrantOfTheShare_isOfALaterWaiter() {
    GrantedByTheShare granted = new GrantedByTheShare();
    granted.node.timer().release();
    granted.fleet.run(1);
    CompletableFuture<Optional<TokenDecision>> second = granted.node.store().await(granted.ticket);
    granted.fleet.run(2_000);
    granted.fleet.assertHeld(granted.node, second);
  }

  @Test
  void undeliveredGrantOfTheShare_isReturned_ifTheNextWaiterLeavesToo() {
    GrantedByTheShare granted = new GrantedByTheShare();
    CompletableFuture<Optional<TokenDecision>> second = granted.awaitSlowly();
    granted.node.timer().release();
    granted.fleet.run(1);
    second.cancel(false);
    granted.fleet.run(3 * IDLE);
    assertThat(granted.fleet.running(granted.node)).isZero();
  }
}
