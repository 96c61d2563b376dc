package dev.sluice.testkit;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

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
    int number = nodes.size();
    // What a victim never heard of comes back, and only keys say whose it was.
    List<String> arguments =
        BudgetNode.arguments(
            url, "p" + number, dir.resolve("p" + number), overload, victim ? 1 : SOME);
    nodes.add(new Node(number, JavaProcess.start(program, arguments), victim));
  }

  /** Waits until the nodes from that number on are ready, and lets them begin. */
  public void go(int from) {
    List<Node> these = nodes.subList(from, nodes.size());
    these.forEach(node -> node.process().await(BudgetNode.READY));
    these.forEach(node -> node.process().send("go"));
  }

  /** Kills all victims. */
  public void killVictims() {
    nodes.stream().filter(Node::victim).forEach(node -> node.process().kill());
  }

  /** Stops the others, and reads what all have written. */
  public BudgetRecord stop() {
    List<Node> others = nodes.stream().filter(node -> !node.victim()).toList();
    others.forEach(node -> node.process().send("stop"));
    others.forEach(node -> node.process().await(BudgetNode.DONE));
    BudgetRecord record =
        BudgetRecord.read(nodes.stream().map(node -> dir.resolve(node.name())).toList());
    nodes.stream()
        .filter(Node::victim)
        .forEach(node -> record.mayReturn(node.number(), key -> key.startsWith(node.name() + '-')));
    return record;
  }

  /** Kills all. */
  @Override
  public void close() {
    nodes.forEach(node -> node.process().close());
  }
}
