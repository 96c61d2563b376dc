package dev.sluice.server;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/*
 * Invariant: used is the sum of what the open parts hold, and an owner's used the sum of what its
 * open parts hold. One lock guards all of it; no foreign code runs under it.
 */

/**
 * Divides the memory for requests that are being received: a total, at most a quarter of it for one
 * connection and at most half of it for one API key. A single request may exceed its connection's
 * and its key's share while it is their only one, and the total while it is the only request, so
 * that no request of a legal size is refused for ever. Thread-safe.
 */
final class InboundBudget {
  private static final int CONNECTION_SHARE = 4;
  private static final int KEY_SHARE = 2;

  private final long max;

  // Guarded by this.
  private final Map<OwnerId, Owner> owners = new HashMap<>();
  private long used;

  /** A connection or a key that holds bytes. */
  private static final class Owner {
    private final long max;
    private int parts;
    private long used;

    Owner(long max) {
      this.max = max;
    }
  }

  /** Who shares with whom: {@code id} tells owners of one {@code share} apart. */
  private record OwnerId(Object id, int share) {}

  InboundBudget(long max) {
    this.max = max;
  }

  /** A part of the largest heap: {@code share} of them would be all of it. */
  static InboundBudget ofHeap(int share) {
    return new InboundBudget(Runtime.getRuntime().maxMemory() / share);
  }

  /** Returns what one connection may hold. */
  long connectionMax() {
    return max / CONNECTION_SHARE;
  }

  synchronized long used() {
    return used;
  }

  /**
   * Returns the part of one request, which holds nothing yet.
   *
   * @param connection the connection it comes by
   * @param key the API key it has; null where the server asks for none
   */
  Part part(Object connection, @Nullable Object key) {
    List<OwnerId> ids = new ArrayList<>(2);
    ids.add(new OwnerId(connection, CONNECTION_SHARE));
    if (key != null) {
      ids.add(new OwnerId(key, KEY_SHARE));
    }
    return new Part(ids);
  }

  /** What one request holds. */
  final class Part implements AutoCloseable {
    private final List<OwnerId> ids;

    // Guarded by the budget.
    private final List<Owner> mine = new ArrayList<>(2);
    private long taken;
    private boolean closed;

    private Part(List<OwnerId> ids) {
      this.ids = ids;
    }

    /** Takes {@code bytes} and returns true, or takes nothing. A closed part takes nothing. */
    boolean take(long bytes) {
      synchronized (InboundBudget.this) {
        if (closed) {
          return true;
        }
        enter();
        boolean fits =
            fits(used, max, bytes)
                && mine.stream().allMatch(owner -> fits(owner.used, owner.max, bytes));
        add(fits ? bytes : 0);
        return fits;
      }
    }

    private boolean fits(long held, long limit, long bytes) {
      return held + bytes <= limit || held == taken;
    }

    private void enter() {
      if (mine.isEmpty()) {
        for (OwnerId id : ids) {
          Owner owner = owners.computeIfAbsent(id, same -> new Owner(max / same.share()));
          owner.parts++;
          mine.add(owner);
        }
      }
    }

    private void add(long bytes) {
      taken += bytes;
      used += bytes;
      mine.forEach(owner -> owner.used += bytes);
    }

    /** Returns {@code bytes} of those taken. */
    void give(long bytes) {
      synchronized (InboundBudget.this) {
        if (!closed) {
          add(-bytes);
        }
      }
    }

    /** Holds {@code bytes} from now on, whether there is room or not; returns whether there is. */
    boolean hold(long bytes) {
      synchronized (InboundBudget.this) {
        if (closed) {
          return true;
        }
        enter();
        boolean fits = bytes <= taken || used - taken + bytes <= max;
        add(bytes - taken);
        return fits;
      }
    }

    /** Returns everything. Does nothing the second time. */
    @Override
    public void close() {
      synchronized (InboundBudget.this) {
        if (!closed) {
          closed = true;
          add(-taken);
          for (int i = 0; i < mine.size(); i++) {
            leave(ids.get(i), mine.get(i));
          }
        }
      }
    }

    private void leave(OwnerId id, Owner owner) {
      owner.parts--;
      if (owner.parts == 0) {
        owners.remove(id);
      }
    }
  }
}
