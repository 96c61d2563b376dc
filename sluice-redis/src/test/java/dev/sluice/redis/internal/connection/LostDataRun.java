package dev.sluice.redis.internal.connection;

import static dev.sluice.redis.internal.connection.HeartbeatFleet.PRESENCE_MICROS;
import static dev.sluice.redis.internal.connection.HeartbeatFleet.WHOLE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.testkit.redis.RedisServer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * Members of a fleet whose Redis loses its data, and others that start afterwards, in an order that
 * a seed determines: after each heartbeat, what the members may believe to have is at most the
 * whole. Answers are lost at random, and so are the last ones before the loss.
 */
final class LostDataRun {
  private static final int STEPS_BEFORE = 40;

  /** After so many rounds nobody's share changes. */
  private static final int SETTLED = 8;

  private static final long LONGEST_STEP_MICROS = 200_000;

  /** A member that can reach Redis comes that soon after the loss: it probes every 100 ms. */
  private static final long FIRST_LOOK_MICROS = PRESENCE_MICROS - LONGEST_STEP_MICROS;

  /** Before the memberships of forgotten members end. */
  private static final long LENGTH_MICROS = 5_000_000;

  private final long seed;
  private final Random random;
  private final HeartbeatFleet fleet;
  private final List<Node> nodes = new ArrayList<>();

  /** A node, with what it knows of the fleet. */
  private static final class Node {
    final String name;
    final boolean isCutOff;
    boolean isMember;
    int held;
    int sharesOfAll;
    long epoch;

    /** The largest share that it may believe to have, if answers were lost. */
    int mayHold;

    /** When it asks first after the loss. */
    long comesMicros;

    Node(String name, boolean isCutOff) {
      this.name = name;
      this.isCutOff = isCutOff;
    }

    @Override
    public String toString() {
      return name + " " + held + " of " + sharesOfAll + ", may hold " + mayHold;
    }
  }

  LostDataRun(RedisServer redis, long seed) {
    this.seed = seed;
    this.random = new Random(seed * 31 + 17);
    this.fleet = new HeartbeatFleet(redis);
  }

  void run() {
    int before = 2 + random.nextInt(3);
    fleet.expect(1 + random.nextInt(4));
    fleet.foundLongAgo();
    // Of a node that is not there after the loss, the others must have heard.
    boolean someAreCutOff = random.nextBoolean();
    for (int i = 0; i < before; i++) {
      nodes.add(new Node("old" + i, someAreCutOff && i > 0 && random.nextBoolean()));
    }
    for (int i = 0; i < STEPS_BEFORE; i++) {
      advance();
      beat(nodes.get(random.nextInt(nodes.size())), random.nextInt(4) == 0);
    }
    if (someAreCutOff) {
      for (int i = 0; i < SETTLED * nodes.size(); i++) {
        advance();
        beat(nodes.get(i % nodes.size()), false);
      }
    }
    loseData();
    for (int i = random.nextInt(3); i > 0; i--) {
      nodes.add(new Node("new" + i, false));
    }
    long end = fleet.nowMicros() + LENGTH_MICROS;
    while (fleet.nowMicros() < end) {
      advance();
      nodes.stream()
          .filter(each -> !each.isCutOff && each.comesMicros != 0)
          .filter(each -> each.comesMicros <= fleet.nowMicros())
          .toList()
          .forEach(this::look);
      Node node = nodes.get(random.nextInt(nodes.size()));
      if (!node.isCutOff && node.comesMicros == 0) {
        beat(node, random.nextInt(4) == 0);
      }
    }
  }

  private void loseData() {
    fleet.loseData();
    for (Node node : nodes) {
      node.isMember = false;
      node.mayHold = node.held;
      node.comesMicros = fleet.nowMicros() + 1 + random.nextInt((int) FIRST_LOOK_MICROS);
    }
  }

  private void advance() {
    fleet.advance(random.nextInt((int) LONGEST_STEP_MICROS / nodes.size()));
  }

  /** Asks as a member does that was forgotten. */
  private void look(Node node) {
    node.comesMicros = 0;
    fleet.beat(node.name, "look", node.held, node.epoch, node.sharesOfAll);
    check();
  }

  private void beat(Node node, boolean isLost) {
    String what = random.nextInt(5) == 0 ? "look" : node.isMember ? "stay" : "return";
    int told = (int) fleet.beat(node.name, what, node.held, node.epoch, node.sharesOfAll);
    if (!what.equals("look") && fleet.isOk()) {
      node.mayHold = Math.max(told, isLost ? node.mayHold : 0);
      if (!isLost) {
        node.isMember = true;
        node.held = told;
        node.sharesOfAll = fleet.sharesOfAll();
        node.epoch = fleet.epoch();
      }
    } else if (what.equals("stay")) {
      node.isMember = false;
    }
    check();
  }

  private void check() {
    assertThat(nodes.stream().mapToLong(node -> node.mayHold).sum())
        .as("seed %d at %d: %s", seed, fleet.nowMicros(), nodes)
        .isLessThanOrEqualTo(WHOLE);
  }
}
