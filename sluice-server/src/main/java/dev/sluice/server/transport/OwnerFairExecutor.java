package dev.sluice.server.transport;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.BiConsumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/*
 * Invariant: running is the sum of what the owners run, no more than threads; an owner is in the
 * line of its running count exactly if it has work that waits and runs less than most.
 *
 * Work waits here and not in the queue of the threads, where the work of one owner would stand
 * before that of the others. A thread that is free goes to the owner that has the fewest, in turns
 * among equals: an owner with little work waits for one piece of each other owner at most.
 */

/**
 * Divides threads among accounts: one account has a part of them at most, and the rest of its work
 * waits in the order in which it came. So costly requests of some accounts leave threads to others.
 * Thread-safe.
 */
public final class OwnerFairExecutor {
  private static final Logger LOG = LoggerFactory.getLogger(OwnerFairExecutor.class);

  private final int threads;
  private final int most;

  // Guarded by this.
  private final Map<Object, Owner> owners = new HashMap<>();
  private final List<Set<Owner>> lines;
  private int running;

  /** An account, or a connection where there are no accounts, that has work. */
  private static final class Owner {
    private final Object id;
    private final Deque<Work> waiting = new ArrayDeque<>();
    private int running;

    Owner(Object id) {
      this.id = id;
    }
  }

  private record Work(Runnable task, Executor pool) {}

  /** Work whose turn it is. */
  private record OwnerTask(Owner owner, Work work) {}

  /**
   * Divides {@code threads} threads.
   *
   * @param most how many of them one account may have at once
   */
  public OwnerFairExecutor(int threads, int most) {
    this.threads = threads;
    this.most = most;
    this.lines = Stream.<Set<Owner>>generate(LinkedHashSet::new).limit(most).toList();
  }

  /** Returns an executor that runs the work of {@code owner} on {@code pool}. */
  public Executor of(Object owner, Executor pool) {
    return task -> add(owner, new Work(task, pool), Deque::addLast);
  }

  /**
   * As {@link #of}, for work that ends requests: it runs before work that begins others, so that
   * results do not pile up.
   */
  public Executor endingOf(Object owner, Executor pool) {
    return task -> add(owner, new Work(task, pool), Deque::addFirst);
  }

  private void add(Object id, Work work, BiConsumer<Deque<Work>, Work> place) {
    synchronized (this) {
      Owner owner = owners.computeIfAbsent(id, Owner::new);
      place.accept(owner.waiting, work);
      enterLine(owner);
    }
    startNext();
  }

  private void enterLine(Owner owner) {
    if (!owner.waiting.isEmpty() && owner.running < most) {
      lines.get(owner.running).add(owner);
    }
  }

  private void startNext() {
    for (OwnerFairExecutor.OwnerTask next = next(); next != null; next = next()) {
      OwnerFairExecutor.OwnerTask turn = next;
      try {
        turn.work.pool().execute(() -> run(turn));
      } catch (RejectedExecutionException closing) {
        LOG.debug("the threads have ended", closing);
        over(turn.owner);
      } catch (Throwable failure) {
        // As when the system refuses a thread: the work is lost, its place is not.
        over(turn.owner);
        throw failure;
      }
    }
  }

  private synchronized OwnerFairExecutor.@Nullable OwnerTask next() {
    if (running >= threads) {
      return null;
    }
    for (Set<Owner> line : lines) {
      if (!line.isEmpty()) {
        Owner owner = line.iterator().next();
        line.remove(owner);
        owner.running++;
        running++;
        Work work = owner.waiting.remove();
        enterLine(owner);
        return new OwnerFairExecutor.OwnerTask(owner, work);
      }
    }
    return null;
  }

  private void run(OwnerFairExecutor.OwnerTask turn) {
    try {
      turn.work.task().run();
    } finally {
      over(turn.owner);
      startNext();
    }
  }

  private synchronized void over(Owner owner) {
    if (owner.running < most) {
      lines.get(owner.running).remove(owner);
    }
    owner.running--;
    running--;
    enterLine(owner);
    if (owner.running == 0 && owner.waiting.isEmpty()) {
      Objects.requireNonNull(owners.remove(owner.id));
    }
  }

  /** Returns how many owners have work. */
  public synchronized int owners() {
    return owners.size();
  }
}
