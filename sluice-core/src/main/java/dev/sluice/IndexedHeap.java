package dev.sluice;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A binary heap whose elements know their place, so that any of them can leave or move. */
final class IndexedHeap<E extends IndexedHeap.Node> {

  /** An element; the heap keeps its place in it. */
  interface Node {
    /** What the heap is ordered by, smallest first. */
    long rank();

    /** Its place, {@link #OUTSIDE} when in no heap; set by the heap alone. */
    int place();

    void place(int place);
  }

  /** The place of an element that is in no heap. */
  static final int OUTSIDE = -1;

  private final List<E> nodes = new ArrayList<>(2);

  @Nullable E first() {
    return nodes.isEmpty() ? null : nodes.get(0);
  }

  boolean isEmpty() {
    return nodes.isEmpty();
  }

  int size() {
    return nodes.size();
  }

  /** Adds {@code node}, or moves it to where its rank now belongs. */
  void put(E node) {
    if (node.place() == OUTSIDE) {
      nodes.add(node);
      node.place(nodes.size() - 1);
    }
    sink(node, rise(node, node.place()));
  }

  /** Removes {@code node} if it is in the heap. */
  void remove(E node) {
    int place = node.place();
    if (place == OUTSIDE) {
      return;
    }
    node.place(OUTSIDE);
    E last = nodes.remove(nodes.size() - 1);
    if (last != node) {
      last.place(place);
      nodes.set(place, last);
      sink(last, rise(last, place));
    }
  }

  private int rise(E node, int from) {
    int place = from;
    while (place > 0) {
      E parent = nodes.get((place - 1) / 2);
      if (parent.rank() <= node.rank()) {
        break;
      }
      set(place, parent);
      place = (place - 1) / 2;
    }
    set(place, node);
    return place;
  }

  private void sink(E node, int from) {
    int place = from;
    for (int child = 2 * place + 1; child < nodes.size(); child = 2 * place + 1) {
      if (child + 1 < nodes.size() && nodes.get(child + 1).rank() < nodes.get(child).rank()) {
        child++;
      }
      if (node.rank() <= nodes.get(child).rank()) {
        break;
      }
      set(place, nodes.get(child));
      place = child;
    }
    set(place, node);
  }

  private void set(int place, E node) {
    nodes.set(place, node);
    node.place(place);
  }
}
