package dev.sluice.broker.internal.hooks;

import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Queue;
import org.jspecify.annotations.Nullable;

/**
 * Decides which task goes next: fair between accounts by cost; the queues of one account take
 * turns, a task each; the tasks of one queue go one at a time, in order. Not thread-safe.
 */
final class FairTasks {
  /*
   * Start-time fair queueing [1]. An account that begins starts at the present virtual time, each
   * task moves it ahead by its cost, and the account that is least ahead goes next. So an account
   * that had little waits for at most one task of each other account, not for a round of theirs.
   * (FairExecutor gives a key that ran empty its next turn after a round, in which every other key
   * may spend the cost of the largest task.) One that runs empty keeps its place until the virtual
   * time gets there: coming back at once does not make it fresh again.
   *
   * A queue that several accounts send to is in the turn of the account of its first task.
   *
   * Invariant: an account is known if and only if it is in byStart; a queue is ready if it has a
   * task and none of it runs.
   *
   * [1] P. Goyal, H. Vin, H. Cheng: Start-time fair queueing, SIGCOMM 1996.
   */

  /** A task, which stays the first of its queue until it is {@link FairTasks#done}. */
  record Task(String account, String queue, int cost, Runnable work) {}

  private static final class Account {
    final String name;
    final Queue<Deque<Task>> ready = new ArrayDeque<>();
    long start;
    long number;

    Account(String name, long start) {
      this.name = name;
      this.start = start;
    }
  }

  private final Map<String, Deque<Task>> queues = new HashMap<>();
  private final Map<String, Account> accounts = new HashMap<>();
  private final PriorityQueue<Account> byStart =
      new PriorityQueue<>(
          Comparator.<Account>comparingLong(each -> each.start)
              .thenComparingLong(each -> each.number));
  private long virtualTime;
  private long numbers;
  private int ready;

  void add(Task task) {
    Deque<Task> queue = queues.computeIfAbsent(task.queue(), first -> new ArrayDeque<>());
    queue.add(task);
    if (queue.size() == 1) {
      makeReady(queue);
    }
  }

  private void makeReady(Deque<Task> queue) {
    String name = queue.element().account();
    Account account = accounts.get(name);
    if (account == null) {
      account = new Account(name, virtualTime);
      accounts.put(name, account);
      enter(account);
    }
    account.ready.add(queue);
    ready++;
  }

  private void enter(Account account) {
    account.number = numbers++;
    byStart.add(account);
  }

  boolean hasReady() {
    return ready > 0;
  }

  /** Returns the task to run now, null if there is none. */
  @Nullable Task next() {
    while (true) {
      Account first = byStart.poll();
      if (first == null) {
        return null;
      }
      virtualTime = first.start;
      Deque<Task> queue = first.ready.poll();
      if (queue == null) {
        accounts.remove(first.name);
      } else {
        ready--;
        Task task = queue.element();
        first.start += task.cost();
        enter(first);
        forgetIfIdle();
        return task;
      }
    }
  }

  /** Drops the places of the accounts if nothing waits: then no account has to wait for another. */
  private void forgetIfIdle() {
    if (ready == 0) {
      accounts.clear();
      byStart.clear();
    }
  }

  /** Lets the next task of the queue of {@code task} run. */
  @SuppressWarnings("ReferenceEquality") // two tasks may be equal
  void done(Task task) {
    Deque<Task> queue = queues.get(task.queue());
    if (queue == null || queue.peek() != task) {
      return; // cleared since
    }
    queue.remove();
    if (queue.isEmpty()) {
      queues.remove(task.queue());
    } else {
      makeReady(queue);
    }
  }

  void clear() {
    queues.clear();
    ready = 0;
    forgetIfIdle();
  }
}
