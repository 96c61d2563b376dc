package dev.sluice.internal.util;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A list whose elements carry its links: every step is O(1), removal from the middle included.
 *
 * <p>An element is in at most one ring at a time.
 */
public final class IntrusiveList<E extends IntrusiveList.Link<E>> {

  /** The links that an element has. */
  public abstract static class Link<E extends Link<E>> {
    private @Nullable E before;
    private @Nullable E after;
    private @Nullable IntrusiveList<E> ring;

    public final boolean isLinked() {
      return ring != null;
    }

    public final boolean isIn(IntrusiveList<E> candidate) {
      return ring == candidate;
    }

    /** The next element of the same ring. */
    public final @Nullable E after() {
      return after;
    }

    /** Leaves its ring, if it is in one. */
    @SuppressWarnings("unchecked")
    public final void unlink() {
      if (ring != null) {
        ring.remove((E) this);
      }
    }
  }

  private @Nullable E first;
  private @Nullable E last;
  private int size;

  public @Nullable E first() {
    return first;
  }

  public boolean isEmpty() {
    return first == null;
  }

  /** Adds its elements, as long as {@code all} has less than so many. */
  public void list(List<E> all, int limit) {
    for (E each = first; each != null && all.size() < limit; each = ((Link<E>) each).after) {
      all.add(each);
    }
  }

  public int size() {
    return size;
  }

  public void addLast(E element) {
    link(element, last, null);
  }

  public void addFirst(E element) {
    link(element, null, first);
  }

  /** Puts {@code element} right before {@code next}, which is in this ring. */
  public void addBefore(E element, E next) {
    link(element, ((Link<E>) next).before, next);
  }

  public @Nullable E last() {
    return last;
  }

  /** Sends the first element to the end. */
  public void rotate() {
    E element = first;
    if (element != last && element != null) {
      remove(element);
      addLast(element);
    }
  }

  private void link(E element, @Nullable E before, @Nullable E after) {
    Link<E> link = element;
    if (link.ring != null) {
      throw new IllegalStateException("already in a ring: " + element);
    }
    link.ring = this;
    link.before = before;
    link.after = after;
    if (before == null) {
      first = element;
    } else {
      ((Link<E>) before).after = element;
    }
    if (after == null) {
      last = element;
    } else {
      ((Link<E>) after).before = element;
    }
    size++;
  }

  private void remove(E element) {
    Link<E> link = element;
    if (link.before == null) {
      first = link.after;
    } else {
      ((Link<E>) link.before).after = link.after;
    }
    if (link.after == null) {
      last = link.before;
    } else {
      ((Link<E>) link.after).before = link.before;
    }
    link.ring = null;
    link.before = null;
    link.after = null;
    size--;
  }
}
