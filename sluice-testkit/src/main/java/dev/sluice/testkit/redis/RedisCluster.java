package dev.sluice.testkit.redis;

import dev.sluice.testkit.Await;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * A cluster of three real servers without replicas, each with a third of the slots.
 *
 * @since 0.1
 */
public final class RedisCluster implements AutoCloseable {
  private static final int NODES = 3;
  private static final int SLOTS = 16_384;
  private static final Duration LIMIT = Duration.ofSeconds(30);

  private final List<RedisServer> nodes = new ArrayList<>();

  private RedisCluster() {}

  /** Starts one; returns once every node takes commands for every slot. */
  public static RedisCluster start() {
    RedisCluster cluster = new RedisCluster();
    try {
      for (int i = 0; i < NODES; i++) {
        cluster.nodes.add(RedisServer.builder().cluster().start());
      }
      cluster.join();
      cluster.awaitOk();
      return cluster;
    } catch (RuntimeException e) {
      cluster.close();
      throw e;
    }
  }

  /** How a client finds each node. */
  public List<String> uris() {
    return nodes.stream().map(RedisServer::uri).toList();
  }

  /** A node: 0, 1 or 2. */
  public RedisServer node(int i) {
    return nodes.get(i);
  }

  /** The node that has a key's slot. */
  public RedisServer nodeOf(String key) {
    return nodes.get(owner(slot(key)));
  }

  /** The slot of a key. */
  public int slot(String key) {
    return Integer.parseInt(String.valueOf(nodes.get(0).command("CLUSTER", "KEYSLOT", key)));
  }

  /** Returns once every node says that the cluster is well, as after a restart of one. */
  public void awaitOk() {
    for (RedisServer node : nodes) {
      Await.until(() -> "a cluster that is well: " + info(node), LIMIT, () -> isOk(node));
    }
  }

  /** Kills all nodes and removes their folders. */
  @Override
  public void close() {
    nodes.forEach(RedisServer::close);
  }

  private void join() {
    for (int i = 0; i < NODES; i++) {
      // Each its own epoch: equal ones would take seconds to sort out.
      nodes.get(i).command("CLUSTER", "SET-CONFIG-EPOCH", Integer.toString(i + 1));
      String first = Integer.toString(firstSlot(i));
      String last = Integer.toString(firstSlot(i + 1) - 1);
      nodes.get(i).command("CLUSTER", "ADDSLOTSRANGE", first, last);
    }
    RedisServer first = nodes.get(0);
    for (RedisServer other : nodes.subList(1, NODES)) {
      first.command("CLUSTER", "MEET", "127.0.0.1", port(other), busPort(other));
    }
  }

  private static int firstSlot(int node) {
    return SLOTS * node / NODES;
  }

  private static int owner(int slot) {
    int node = 0;
    while (slot >= firstSlot(node + 1)) {
      node++;
    }
    return node;
  }

  private static String port(RedisServer node) {
    return Integer.toString(node.port());
  }

  private static String busPort(RedisServer node) {
    Object answer = node.command("CONFIG", "GET", "cluster-port");
    return answer instanceof List<?> pair ? String.valueOf(pair.get(1)) : "";
  }

  private static boolean isOk(RedisServer node) {
    String info = info(node);
    return RedisConsole.field(info, "cluster_state").equals("ok")
        && RedisConsole.field(info, "cluster_known_nodes").equals(Integer.toString(NODES))
        && RedisConsole.field(info, "cluster_slots_ok").equals(Integer.toString(SLOTS));
  }

  private static String info(RedisServer node) {
    return String.valueOf(node.command("CLUSTER", "INFO"));
  }
}
