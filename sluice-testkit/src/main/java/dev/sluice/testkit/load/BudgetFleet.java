package dev.sluice.testkit.load;

import dev.sluice.testkit.JavaProcess;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Processes under load on one store, of which some are killed. Not for several threads.
 *
 * @since 0.1
 */
public final class BudgetFleet implements AutoCloseable {
  /** Of callers elsewhere some have no key, for whom decisions are quicker. */
  private static final double SOME = 0.6;

  private final Path dir;
  private final Class<?> program;
  private final String url;
  private final List<Node> nodes = new ArrayList<>();
  private final Set<Integer> killed = new HashSet<>();

  private record Node(int number, JavaProcess process, boolean victim) {
    String name() {
      return "p" + number;
    }
  }

  /**
   * A fleet without nodes.
   *
   * @param dir for what they write
   * @param program runs a {@link BudgetNode}
   * @param url where the store is
   */
  public BudgetFleet(Path dir, Class<?> program, String url) {
    this.dir = dir;
    this.program = program;
    this.url = url;
  }

  /** Starts a node; {@link #go} lets it begin. */
  public void add(double overload, boolean victim) {
    // Grants that a victim did not hear of come back, and only keys say whose they were.
    add(url, overload, victim, victim ? 1 : SOME);
  }

  /**
   * Starts a node whose calls may fail, at a URL of its own.
   *
   * @return its number
   */
  public int addFaulty(String itsUrl, double overload) {
    add(itsUrl, overload, false, 1);
    return nodes.size() - 1;
  }

  private void add(String itsUrl, double overload, boolean victim, double keyed) {
    int number = nodes.size();
    List<String> arguments =
        BudgetNode.arguments(itsUrl, "p" + number, dir.resolve("p" + number), overload, keyed);
    nodes.add(new Node(number, JavaProcess.start(program, arguments), victim));
  }

  /** Restricts all nodes to one CPU core. */
  public void pin(int core) {
    nodes.forEach(node -> CpuCores.pin(node.process().pid(), core));
  }

  /** Waits until the nodes from that number on are ready, and lets them begin. */
  public void go(int from) {
    List<Node> these = nodes.subList(from, nodes.size());
    these.forEach(node -> node.process().await(BudgetNode.READY));
    these.forEach(node -> node.process().send("go"));
  }

  /** Kills all victims. */
  public void killVictims() {
    nodes.stream().filter(Node::victim).forEach(node -> kill(node.number()));
  }

  /** Kills a node. */
  public void kill(int number) {
    killed.add(number);
    nodes.get(number).process().kill();
  }

  /** Stops the others, and reads what all have written. */
  public BudgetRecord stop() {
    List<Node> others = nodes.stream().filter(node -> !killed.contains(node.number())).toList();
    others.forEach(node -> node.process().send("stop"));
    others.forEach(node -> node.process().await(BudgetNode.DONE));
    BudgetRecord record =
        BudgetRecord.read(nodes.stream().map(node -> dir.resolve(node.name())).toList());
    nodes.stream()
        .filter(node -> killed.contains(node.number()))
        .forEach(node -> record.mayReturn(node.number(), key -> key.startsWith(node.name() + '-')));
    return record;
  }

  /** Kills all. */
  @Override
  public void close() {
    nodes.forEach(node -> node.process().close());
  }
}
