package dev.sluice.server.transport;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/*
 * A request with thousands of entries becomes objects of many times its size, and each of these
 * lives from the parser to the answer. Many such requests at once make the pauses of the garbage
 * collector long for everybody, however few threads their account has.
 *
 * Invariant: an account has an entry exactly if one of its requests has a turn or waits for one;
 * its bytes are those of the requests that have turns, and the first that waits does not fit.
 *
 * There is no total: accounts whose calls take long would hold up the others. The memory for work
 * (MemoryBudgets) bounds all accounts together.
 *
 * Order: a request takes its turn here before it takes what it needs to go on, which are a thread
 * of its account (OwnerFairExecutor) and turns at the broker (SettleCall). No request that has one
 * of these waits for a turn here, so there is no cycle. A request that waits has neither a thread
 * nor a lock, and its action runs without the lock of this object.
 */

/**
 * Bounds the large requests of each account that are parsed and not answered yet: by their bytes
 * together, or to a single larger one. Others of the account wait in the order in which they came;
 * small requests and other accounts do not wait. So an account that sends many large requests at
 * once delays itself. Thread-safe; never blocks.
 */
public final class RequestTurns {
  /** Requests of at most so many bytes take no turn. */
  public static final int FREE_BYTES = RequestSizeLimits.FREE_BYTES;

  /** The bytes of the requests of one account that may have turns at the same time. */
  public static final int BYTES_AT_ONCE = 256 << 10;

  // Guarded by this.
  private final Map<Object, Account> accounts = new HashMap<>();

  private static final class Account {
    private final Set<Turn> waiting = new LinkedHashSet<>();
    private long bytes;

    boolean fits(long more) {
      return bytes == 0 || bytes + more <= BYTES_AT_ONCE;
    }
  }

  /**
   * Returns the turn of one request, which has not begun.
   *
   * @param owner the account, or the connection where the server asks for no keys
   */
  public RequestTurns.Turn of(Object owner) {
    return new RequestTurns.Turn(owner);
  }

  /** Returns how many accounts have large requests. */
  public synchronized int accounts() {
    return accounts.size();
  }

  /** Gives turns to the first that wait, as far as they fit, and returns their actions. */
  private List<Runnable> successors(Object owner) {
    Account account = Objects.requireNonNull(accounts.get(owner));
    List<Runnable> begun = new ArrayList<>();
    for (Iterator<Turn> line = account.waiting.iterator(); line.hasNext(); ) {
      Turn next = line.next();
      if (!account.fits(next.bytes)) {
        break;
      }
      line.remove();
      begun.add(next.take(account));
    }
    if (account.bytes == 0) {
      // No request waits either, because a single one always fits.
      accounts.remove(owner);
    }
    return begun;
  }

  /** The turn of one request. It may begin and end several times, but not overlap. */
  public final class Turn {
    private final Object owner;

    // Guarded by the turns.
    private long bytes;
    private boolean abandoned;
    private @Nullable Runnable waiting;

    // Written under the lock; volatile, so that the end of a small request needs no lock.
    private volatile boolean taken;

    private Turn(Object owner) {
      this.owner = owner;
    }

    /**
     * Returns whether a request of {@code size} bytes may go on now: it is small, its turn has
     * begun, or it was abandoned. Otherwise {@code later} runs once, when its turn has begun or it
     * was abandoned, on the thread of another request; it must not block. Not to be called while
     * the request waits.
     */
    public boolean begin(long size, Runnable later) {
      if (size <= FREE_BYTES) {
        return true;
      }
      synchronized (RequestTurns.this) {
        if (taken || abandoned) {
          return true;
        }
        Account account = accounts.computeIfAbsent(owner, unused -> new Account());
        bytes = size;
        waiting = later;
        if (account.waiting.isEmpty() && account.fits(size)) {
          take(account);
          return true;
        }
        account.waiting.add(this);
        return false;
      }
    }

    /** Begins the turn, and returns the action with which the request has waited. */
    private Runnable take(Account account) {
      Runnable next = Objects.requireNonNull(waiting);
      waiting = null;
      taken = true;
      account.bytes += bytes;
      return next;
    }

    /** Gives the turn to others, if it has begun. */
    public void end() {
      if (!taken) {
        return;
      }
      List<Runnable> next;
      synchronized (RequestTurns.this) {
        if (!taken) {
          return;
        }
        taken = false;
        Objects.requireNonNull(accounts.get(owner)).bytes -= bytes;
        next = successors(owner);
      }
      next.forEach(Runnable::run);
    }

    /**
     * Lets the request go on without a turn, now and later, because it will not be executed. A turn
     * that has begun goes on until its end.
     */
    public void abandon() {
      List<Runnable> next = new ArrayList<>();
      synchronized (RequestTurns.this) {
        abandoned = true;
        if (waiting == null) {
          return;
        }
        next.add(waiting);
        waiting = null;
        Objects.requireNonNull(accounts.get(owner)).waiting.remove(this);
        next.addAll(successors(owner));
      }
      next.forEach(Runnable::run);
    }

    /** Abandons the turn and gives it to others: once it is closed, it does not begin any more. */
    public void close() {
      abandon();
      end();
    }

    public boolean isWaiting() {
      synchronized (RequestTurns.this) {
        return waiting != null;
      }
    }
  }
}
