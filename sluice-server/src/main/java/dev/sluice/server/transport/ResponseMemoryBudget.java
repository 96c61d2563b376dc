package dev.sluice.server.transport;

import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.ErrorKind;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/*
 * Invariant: used is the sum of what the open parts hold, and an owner's used the sum of what its
 * open parts hold. One lock guards all of it; no foreign code runs under it.
 *
 * There are two ways to charge:
 *
 *  - take and await, before messages are read for an answer. They may be refused, and then nothing
 *    has happened yet.
 *  - hold, for an answer that is complete. It is never refused, because its call may have been
 *    executed: a refusal would be a lie. Answers that wait for their readers are cut instead.
 *
 * Cutting an answer closes its connection. An answer may be cut when the budget is short and it has
 * waited for its reader for PATIENCE; the account that holds most is cut first. An account that is
 * at its share makes room by itself: beyond it, and with three quarters of the budget in use, a new
 * answer cuts its oldest ones at once, so that one account leaves a quarter to others. Progress does not protect an answer: a client that reads one
 * byte at a time would hold its room for ever. So that answers of the last second cannot fill the
 * heap, any answer may be cut beyond twice the budget.
 */

/**
 * Divides the memory for answers that are being made or that wait for their readers: a total, and
 * half of it for one account (or one connection, where the server asks for no keys). An answer that
 * is the first of its account may exceed the share, and the first of all may exceed the total, so
 * that no message is too large for ever. Thread-safe.
 */
public final class ResponseMemoryBudget {
  /** A smaller answer is covered by the memory of its call or its connection. */
  static final int SMALL_BYTES = 4 << 10;

  /** The time that a response waits for its reader before it may be cut off. */
  public static final long PATIENCE_NANOS = 1_000_000_000L;

  private static final int OWNER_SHARE = 2;

  /** Threads of one account that wait for room. */
  private static final int MAX_WAITING = 16;

  /** Answers become old without a signal. */
  private static final long LOOK_NANOS = 50_000_000L;

  private static final Comparator<Owner> BY_USE = Comparator.comparingLong(owner -> owner.used);

  private final long max;
  private final LongSupplier clock;

  // Guarded by this.
  private final Map<Object, Owner> owners = new HashMap<>();
  private long used;

  /** An account, or a connection, that has answers. */
  private static final class Owner {
    private final Set<ResponseMemoryBudget.Reservation> parts = new LinkedHashSet<>();
    private long used;
    private int waiting;
  }

  ResponseMemoryBudget(long max) {
    this(max, System::nanoTime);
  }

  public ResponseMemoryBudget(long max, LongSupplier clock) {
    this.max = max;
    this.clock = clock;
  }

  /** Returns a budget of one part in {@code share} of the largest heap. */
  static ResponseMemoryBudget ofHeap(int share) {
    return new ResponseMemoryBudget(Runtime.getRuntime().maxMemory() / share);
  }

  public synchronized long used() {
    return used;
  }

  /** Returns what one account may hold in more than one answer. */
  long share() {
    return max / OWNER_SHARE;
  }

  /** Beyond this, an account that exceeds its share makes room for its own answers at once. */
  private long crowded() {
    return max - max / 4;
  }

  /**
   * Returns the part of one answer, which holds nothing yet.
   *
   * @param owner identifies the account, or the connection where there are no accounts
   */
  public ResponseMemoryBudget.Reservation part(Object owner) {
    return new ResponseMemoryBudget.Reservation(owner);
  }

  /** Returns an overdue answer of the owner that holds most and has one. */
  private Optional<ResponseMemoryBudget.Reservation> overdue() {
    return owners.values().stream()
        .sorted(BY_USE.reversed())
        .flatMap(owner -> oldest(owner, this::isOverdue).stream())
        .findFirst();
  }

  /**
   * Returns any answer that waits for its reader, of an owner that holds no less than {@code mine}.
   */
  private Optional<ResponseMemoryBudget.Reservation> ofLargestOwner(Owner mine) {
    return owners.values().stream()
        .filter(owner -> owner.used >= mine.used)
        .sorted(BY_USE.reversed())
        .flatMap(owner -> oldest(owner, part -> part.cut != null).stream())
        .findFirst();
  }

  private static Optional<ResponseMemoryBudget.Reservation> oldest(
      Owner owner, Predicate<ResponseMemoryBudget.Reservation> which) {
    return owner.parts.stream().filter(which).min((a, b) -> Long.compare(a.since - b.since, 0));
  }

  private boolean isOverdue(ResponseMemoryBudget.Reservation part) {
    return part.cut != null && clock.getAsLong() - part.since >= PATIENCE_NANOS;
  }

  /** The bytes that one answer holds. */
  public final class Reservation implements AutoCloseable {
    private final Object id;
    private volatile boolean entered;

    // Guarded by the budget.
    private @Nullable Owner owner;
    private long taken;
    private boolean closed;

    // Set while the answer waits for its reader.
    private @Nullable Runnable cut;
    private long since;

    private Reservation(Object id) {
      this.id = id;
    }

    /** Returns what one account may hold in more than one answer. */
    public long share() {
      return ResponseMemoryBudget.this.share();
    }

    /**
     * Takes {@code bytes} and returns true, or takes nothing and returns false. May cut answers
     * that have waited for long. A part that is closed takes nothing and returns true.
     */
    public boolean take(long bytes) {
      if (bytes <= SMALL_BYTES && !entered) {
        return true;
      }
      List<Runnable> cuts = new ArrayList<>();
      boolean fits = take(bytes, cuts);
      cuts.forEach(Runnable::run);
      return fits;
    }

    private boolean take(long bytes, List<Runnable> cuts) {
      synchronized (ResponseMemoryBudget.this) {
        if (closed) {
          return true;
        }
        Owner mine = enter();
        while (!fits(mine.used, share(), bytes)) {
          if (!cut(oldest(mine, ResponseMemoryBudget.this::isOverdue), cuts)) {
            return false;
          }
        }
        while (!fits(used, max, bytes)) {
          if (!cut(overdue(), cuts)) {
            return false;
          }
        }
        add(bytes);
        return true;
      }
    }

    private boolean fits(long held, long limit, long bytes) {
      return held == 0 || held + bytes <= limit;
    }

    private boolean cut(Optional<ResponseMemoryBudget.Reservation> victim, List<Runnable> cuts) {
      victim.ifPresent(
          part -> {
            cuts.add(Objects.requireNonNull(part.cut));
            part.close();
          });
      return victim.isPresent();
    }

    /** Takes memory as {@link #take} does, but waits up to {@code nanos} for it. */
    public boolean await(long bytes, long nanos) {
      long deadline = System.nanoTime() + nanos;
      while (!take(bytes)) {
        if (!awaitChange(deadline - System.nanoTime())) {
          return false;
        }
      }
      return true;
    }

    private boolean awaitChange(long nanos) {
      synchronized (ResponseMemoryBudget.this) {
        if (closed || nanos <= 0) {
          return closed;
        }
        Owner mine = enter();
        if (mine.waiting >= MAX_WAITING) {
          return false;
        }
        mine.waiting++;
        try {
          TimeUnit.NANOSECONDS.timedWait(ResponseMemoryBudget.this, Math.min(nanos, LOOK_NANOS));
          return true;
        } catch (InterruptedException closing) {
          Thread.currentThread().interrupt();
          return false;
        } finally {
          mine.waiting--;
        }
      }
    }

    /**
     * Holds exactly {@code bytes} from now on, while they wait for their reader. May cut other
     * answers, and this one later.
     *
     * @param end cuts this answer: closes its connection. Runs at most once, on any thread, and
     *     must not block
     */
    public void hold(long bytes, Runnable end) {
      if (bytes <= SMALL_BYTES && !entered) {
        return;
      }
      List<Runnable> cuts = new ArrayList<>();
      hold(bytes, end, cuts);
      cuts.forEach(Runnable::run);
    }

    private void hold(long bytes, Runnable end, List<Runnable> cuts) {
      synchronized (ResponseMemoryBudget.this) {
        if (closed) {
          return;
        }
        Owner mine = enter();
        add(bytes - taken);
        while (used > max && cut(overdue(), cuts)) {
          // The next one.
        }
        while (mine.used > share() && used > crowded() && cut(otherOf(mine), cuts)) {
          // The next one.
        }
        while (used > 2 * max && cut(ofLargestOwner(mine), cuts)) {
          // The next one.
        }
        if (cut == null && !closed) {
          cut = end;
          since = clock.getAsLong();
        }
      }
    }

    private Optional<ResponseMemoryBudget.Reservation> otherOf(Owner mine) {
      return oldest(mine, part -> part != this && part.cut != null);
    }

    private Owner enter() {
      Owner mine = owner;
      if (mine == null) {
        mine = owners.computeIfAbsent(id, same -> new Owner());
        mine.parts.add(this);
        owner = mine;
        entered = true;
      }
      return mine;
    }

    private void add(long bytes) {
      taken += bytes;
      used += bytes;
      if (owner != null) {
        owner.used += bytes;
      }
      if (bytes < 0) {
        ResponseMemoryBudget.this.notifyAll();
      }
    }

    /** Releases {@code bytes}, but no more than are held. */
    public void give(long bytes) {
      if (entered) {
        synchronized (ResponseMemoryBudget.this) {
          add(-Math.min(bytes, taken));
        }
      }
    }

    /** Releases all bytes, because the client has read them. More may follow. */
    public void read() {
      if (entered) {
        synchronized (ResponseMemoryBudget.this) {
          add(-taken);
          cut = null;
        }
      }
    }

    /** Releases all bytes and ends the reservation. Does nothing the second time. */
    @Override
    public void close() {
      synchronized (ResponseMemoryBudget.this) {
        if (!closed) {
          closed = true;
          cut = null;
          add(-taken);
          leave();
        }
      }
    }

    private void leave() {
      if (owner != null) {
        owner.parts.remove(this);
        if (owner.parts.isEmpty()) {
          owners.remove(id);
        }
      }
    }
  }

  /** Returns the error for a call that gets no memory. */
  public static ApiException exhausted(String what) {
    return new ApiException(
        ErrorKind.UNAVAILABLE, "the server has no memory for %s now; call again".formatted(what));
  }
}
