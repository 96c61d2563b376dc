package dev.sluice.server.transport;

import dev.sluice.server.auth.ConcurrencyQuota;
import dev.sluice.server.support.ApiException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/*
 * Invariant: used is the sum of what the open parts hold, and an owner's used the sum of what its
 * open parts hold. One lock guards all of it; no foreign code runs under it.
 *
 * Caps alone do not keep room for others: two accounts with a cap of a half hold everything. So a
 * request that finds the budget full takes the room of a larger holder: it evicts the largest
 * request that is not handled yet of the account that holds most (of the connection, where the
 * server asks for no keys), as long as that account holds more than the request's own account would
 * hold, and more than a SAFE_SHARE of the total. So an account that holds little is never evicted,
 * even when all the others hold complete requests, which cannot be evicted. An idle stream holds
 * little and may stay for days; it is evicted only where its account holds more than an IDLE_SHARE,
 * and after all requests that are arriving.
 */

/**
 * Divides the memory for requests that are being received: a total, at most a quarter of it for one
 * connection and at most half of it for one account (an API key and all keys that descend from it);
 * when it is full, the largest holder makes room for smaller ones. A single request may exceed the
 * share of its connection and of its account while it is their only one, and the total while it is
 * the only request, so that no request of a legal size is refused for ever. Thread-safe.
 */
public final class RequestMemoryBudget {
  private static final int CONNECTION_SHARE = 4;
  private static final int KEY_SHARE = 2;
  private static final int SAFE_SHARE = 64;
  private static final int IDLE_SHARE = 16;

  private final long max;

  // Guarded by this.
  private final Map<OwnerId, Owner> owners = new HashMap<>();
  private long used;

  /** A connection or an account that holds bytes. */
  private static final class Owner {
    private final long max;
    private final Set<RequestMemoryBudget.Reservation> parts = new LinkedHashSet<>();
    private long used;

    Owner(long max) {
      this.max = max;
    }

    Optional<RequestMemoryBudget.Reservation> largestEvictable(boolean idle) {
      return parts.stream()
          .filter(part -> part.evict != null && part.idle == idle)
          .max(Comparator.comparingLong(part -> part.taken));
    }
  }

  /** Identifies an owner: {@code id} among those that have the same {@code share} of the total. */
  private record OwnerId(Object id, int share) {}

  public RequestMemoryBudget(long max) {
    this.max = max;
  }

  /** Returns a budget of one part in {@code share} of the largest heap. */
  static RequestMemoryBudget ofHeap(int share) {
    return new RequestMemoryBudget(Runtime.getRuntime().maxMemory() / share);
  }

  /** Returns what one connection may hold. */
  public long connectionMax() {
    return max / CONNECTION_SHARE;
  }

  public synchronized long used() {
    return used;
  }

  /**
   * Returns the part of one request, which holds nothing yet.
   *
   * @param connection identifies the connection that sends it
   * @param key the account of its API key; null where the server asks for no keys
   */
  public RequestMemoryBudget.Reservation part(Object connection, @Nullable Object key) {
    List<OwnerId> ids = new ArrayList<>(2);
    ids.add(new OwnerId(connection, CONNECTION_SHARE));
    if (key != null) {
      ids.add(new OwnerId(key, KEY_SHARE));
    }
    return new RequestMemoryBudget.Reservation(ids);
  }

  /** The bytes that one request holds. */
  public final class Reservation implements AutoCloseable {
    private final List<OwnerId> ids;

    // Guarded by the budget. The last owner's usage decides which requests are evicted.
    private final List<Owner> mine = new ArrayList<>(2);
    private long taken;
    private long held;
    private boolean complete;
    private boolean idle;
    private boolean closed;
    private boolean evicted;
    private @Nullable Runnable evict;

    private Reservation(List<OwnerId> ids) {
      this.ids = ids;
    }

    /**
     * Takes {@code bytes} and returns true, or takes nothing and returns false. A part that its
     * request has closed takes nothing and returns true; one that was evicted returns false. May
     * evict other requests, so the caller must hold no lock that they need.
     */
    public boolean take(long bytes) {
      List<Runnable> ends = new ArrayList<>();
      boolean fits = take(bytes, ends);
      ends.forEach(Runnable::run);
      return fits;
    }

    private boolean take(long bytes, List<Runnable> ends) {
      synchronized (RequestMemoryBudget.this) {
        if (closed) {
          return !evicted;
        }
        enter();
        boolean fits =
            mine.stream().allMatch(owner -> fits(owner.used, owner.max, bytes))
                && makeRoom(bytes, ends);
        add(fits ? bytes : 0);
        return fits;
      }
    }

    private boolean fits(long held, long limit, long bytes) {
      return held + bytes <= limit || held == taken;
    }

    /** Evicts larger holders until {@code bytes} fit into the total; returns whether they do. */
    private boolean makeRoom(long bytes, List<Runnable> ends) {
      while (!fits(used, max, bytes)) {
        long own = holder().used + bytes;
        Optional<RequestMemoryBudget.Reservation> victim =
            largestHolder(Math.max(own, max / SAFE_SHARE), false)
                .or(() -> largestHolder(Math.max(own, max / IDLE_SHARE), true));
        if (victim.isEmpty()) {
          return false;
        }
        ends.add(victim.get().evicted());
      }
      return true;
    }

    /** Returns the request to evict, of the owner that holds most and more than {@code bytes}. */
    private Optional<RequestMemoryBudget.Reservation> largestHolder(long bytes, boolean idle) {
      int share = ids.get(ids.size() - 1).share();
      return owners.entrySet().stream()
          .filter(each -> each.getKey().share() == share && each.getValue().used > bytes)
          .map(Map.Entry::getValue)
          .sorted(Comparator.comparingLong((Owner owner) -> owner.used).reversed())
          .flatMap(owner -> owner.largestEvictable(idle).stream())
          .findFirst();
    }

    private Owner holder() {
      return mine.get(mine.size() - 1);
    }

    private Runnable evicted() {
      Runnable end = Objects.requireNonNull(evict);
      evicted = true;
      close();
      return end;
    }

    private void enter() {
      if (mine.isEmpty()) {
        for (OwnerId id : ids) {
          Owner owner = owners.computeIfAbsent(id, same -> new Owner(max / same.share()));
          owner.parts.add(this);
          mine.add(owner);
        }
      }
    }

    private void add(long bytes) {
      taken += bytes;
      used += bytes;
      mine.forEach(owner -> owner.used += bytes);
    }

    /**
     * Allows others to evict the request until it is {@link #complete}.
     *
     * @param end refuses the request; runs at most once, on the thread of another request, or now
     *     if the request was evicted before
     */
    public void evictBy(Runnable end) {
      synchronized (RequestMemoryBudget.this) {
        evict = complete || closed ? null : end;
        if (!evicted) {
          return;
        }
      }
      end.run();
    }

    /** Returns whether the request was evicted: it must be refused. */
    public boolean isEvicted() {
      synchronized (RequestMemoryBudget.this) {
        return evicted;
      }
    }

    /** Sets whether nothing of the request is arriving now, as between messages of a stream. */
    public void idle(boolean now) {
      synchronized (RequestMemoryBudget.this) {
        idle = now;
      }
    }

    /**
     * Marks the request as arrived: it is executed and can no longer be evicted. Returns false if
     * it was evicted before: then it must be refused, because nothing counts its bytes.
     */
    public boolean complete() {
      synchronized (RequestMemoryBudget.this) {
        complete = true;
        evict = null;
        return !evicted;
      }
    }

    /** Gives back {@code bytes} of those taken. */
    public void give(long bytes) {
      synchronized (RequestMemoryBudget.this) {
        if (!closed) {
          add(-bytes);
        }
      }
    }

    /** Holds exactly {@code bytes} from now on, even without room; returns whether they fit. */
    public boolean set(long bytes) {
      synchronized (RequestMemoryBudget.this) {
        if (closed) {
          return true;
        }
        enter();
        boolean fits = bytes <= taken || used - taken + bytes <= max;
        add(bytes - taken);
        return fits;
      }
    }

    /**
     * Takes {@code bytes} until the hold is closed, even if the part is closed before.
     *
     * @throws ApiException if there is no room for them
     */
    public ConcurrencyQuota.Hold hold(long bytes) {
      if (!take(bytes)) {
        throw ResponseMemoryBudget.exhausted("this request");
      }
      synchronized (RequestMemoryBudget.this) {
        if (closed) {
          return () -> {};
        }
        held += bytes;
      }
      AtomicBoolean given = new AtomicBoolean();
      return () -> {
        if (given.compareAndSet(false, true)) {
          release(bytes);
        }
      };
    }

    private void release(long bytes) {
      synchronized (RequestMemoryBudget.this) {
        held -= bytes;
        add(-bytes);
        leaveIfOver();
      }
    }

    /** Releases all bytes except held ones. Does nothing the second time. */
    @Override
    public void close() {
      synchronized (RequestMemoryBudget.this) {
        if (!closed) {
          closed = true;
          evict = null;
          add(held - taken);
          leaveIfOver();
        }
      }
    }

    private void leaveIfOver() {
      if (closed && held == 0) {
        for (int i = 0; i < mine.size(); i++) {
          leave(ids.get(i), mine.get(i));
        }
      }
    }

    private void leave(OwnerId id, Owner owner) {
      owner.parts.remove(this);
      if (owner.parts.isEmpty()) {
        owners.remove(id);
      }
    }
  }
}
