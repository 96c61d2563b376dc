package dev.sluice.internal.util;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A binary heap whose elements know their place, so that any of them can leave or move. */
public final class IndexedHeap<E extends IndexedHeap.Node<E>> {

  /** An element, which keeps its place in the heap; it may be in a ring, too. */
  public abstract static class Node<E extends Node<E>> extends IntrusiveList.Link<E> {
    private int place = OUTSIDE;

    /** The order of the heap, smallest first. */
    public abstract long rank();

    public final boolean isInHeap() {
      return place != OUTSIDE;
    }
  }

  /** The place of an element that is in no heap. */
  private static final int OUTSIDE = -1;

  private final List<E> nodes = new ArrayList<>(2);

  public @Nullable E first() {
    return nodes.isEmpty() ? null : nodes.get(0);
  }

  public boolean isEmpty() {
    return nodes.isEmpty();
  }

  /** Adds {@code node}, or moves it to where its rank now belongs. */
  public void put(E node) {
    if (!node.isInHeap()) {
      nodes.add(node);
      place(node, nodes.size() - 1);
    }
    sink(node, rise(node, ((Node<E>) node).place));
  }

  /** Removes {@code node} if it is in the heap. */
  public void remove(E node) {
    if (!node.isInHeap()) {
      return;
    }
    int place = ((Node<E>) node).place;
    place(node, OUTSIDE);
    E last = nodes.remove(nodes.size() - 1);
    if (last != node) {
      set(place, last);
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
    place(node, place);
  }

  private static void place(Node<?> node, int place) {
    node.place = place;
  }
}
