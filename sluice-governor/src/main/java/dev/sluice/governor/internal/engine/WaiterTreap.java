package dev.sluice.governor.internal.engine;

import java.util.SplittableRandom;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Waiters in order, with their position and the tokens before them: a search tree with random
 * balance, whose nodes keep the sums below them. Not thread-safe.
 */
final class WaiterTreap {
  private final SplittableRandom chance;
  private @Nullable Node root;

  private static final class Node {
    final TokenWaiter who;
    final long heat;
    @Nullable Node before;
    @Nullable Node after;
    int count = 1;
    long tokens;

    Node(TokenWaiter who, long heat) {
      this.who = who;
      this.heat = heat;
      this.tokens = who.demand.tokens();
    }

    Node summed() {
      count = 1 + count(before) + count(after);
      tokens = who.demand.tokens() + tokens(before) + tokens(after);
      return this;
    }
  }

  /** Takes a source of randomness that several waiting lists may share. */
  WaiterTreap(SplittableRandom chance) {
    this.chance = chance;
  }

  /** Two parts of a waiting list, one before the other. */
  private record Parts(@Nullable Node before, @Nullable Node after) {}

  private static int count(@Nullable Node node) {
    return node == null ? 0 : node.count;
  }

  private static long tokens(@Nullable Node node) {
    return node == null ? 0 : node.tokens;
  }

  int size() {
    return count(root);
  }

  /** Returns the tokens of all waiters. */
  long tokens() {
    return tokens(root);
  }

  boolean isEmpty() {
    return root == null;
  }

  /** Returns the first waiter; null if there is none. */
  @Nullable TokenWaiter first() {
    Node node = root;
    while (node != null && node.before != null) {
      node = node.before;
    }
    return node == null ? null : node.who;
  }

  /** Returns the last waiter; null if there is none. */
  @Nullable TokenWaiter last() {
    Node node = root;
    while (node != null && node.after != null) {
      node = node.after;
    }
    return node == null ? null : node.who;
  }

  void add(TokenWaiter who) {
    Parts parts = split(root, who);
    root = join(join(parts.before(), new Node(who, chance.nextLong())), parts.after());
  }

  /** Removes a waiter. */
  void remove(TokenWaiter who) {
    root = without(root, who);
  }

  private static @Nullable Node without(@Nullable Node node, TokenWaiter who) {
    if (node == null) {
      throw new IllegalStateException("not in the waiting list");
    }
    int order = TokenWaiter.order(who, node.who);
    if (order == 0) {
      return join(node.before, node.after);
    }
    if (order < 0) {
      node.before = without(node.before, who);
    } else {
      node.after = without(node.after, who);
    }
    return node.summed();
  }

  private static Parts split(@Nullable Node node, TokenWaiter at) {
    if (node == null) {
      return new Parts(null, null);
    }
    if (TokenWaiter.order(node.who, at) < 0) {
      Parts parts = split(node.after, at);
      node.after = parts.before();
      return new Parts(node.summed(), parts.after());
    }
    Parts parts = split(node.before, at);
    node.before = parts.after();
    return new Parts(parts.before(), node.summed());
  }

  private static @Nullable Node join(@Nullable Node before, @Nullable Node after) {
    if (before == null) {
      return after;
    }
    if (after == null) {
      return before;
    }
    if (before.heat > after.heat) {
      before.after = join(before.after, after);
      return before.summed();
    }
    after.before = join(before, after.before);
    return after.summed();
  }

  /**
   * The waiters before one.
   *
   * @param count how many
   * @param tokens what they ask for together
   */
  record Prefix(int count, long tokens) {
    static final WaiterTreap.Prefix NOTHING = new WaiterTreap.Prefix(0, 0);
  }

  /** Returns what is before a waiter, or before one that would be added. */
  WaiterTreap.Prefix ahead(TokenWaiter who) {
    int count = 0;
    long tokens = 0;
    Node node = root;
    while (node != null) {
      if (TokenWaiter.order(node.who, who) < 0) {
        count += 1 + count(node.before);
        tokens += node.who.demand.tokens() + tokens(node.before);
        node = node.after;
      } else {
        node = node.before;
      }
    }
    return new WaiterTreap.Prefix(count, tokens);
  }

  void inOrder(Consumer<TokenWaiter> action) {
    walk(root, action);
  }

  private static void walk(@Nullable Node node, Consumer<TokenWaiter> action) {
    if (node != null) {
      walk(node.before, action);
      action.accept(node.who);
      walk(node.after, action);
    }
  }
}
