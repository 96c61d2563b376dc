package dev.sluice.attacks;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/*
 * An open loop: calls are due at fixed instants, however long earlier calls take, and their latency
 * counts from then. A client makes one call at a time; a slow answer delays its next calls, and
 * their latency includes the delay. A call that fails counts as PENALTY_NANOS: a quick refusal is
 * not a quick answer.
 */

/** Well-behaved clients of both wires, at a modest fixed rate, and an operator. */
public final class GoodLoad implements AutoCloseable {
  /** The latency that a failed call counts as. */
  static final long PENALTY_NANOS = TimeUnit.SECONDS.toNanos(10);

  private static final long PERIOD_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
  private static final long OPERATOR_PERIOD_NANOS = TimeUnit.MILLISECONDS.toNanos(300);
  private static final long LATE_NANOS = TimeUnit.MILLISECONDS.toNanos(250);

  /** A call, by the instant when it was due; one with a problem has failed. */
  record Sample(long dueNanos, long nanos, @Nullable String problem) {}

  /** Connects anew. */
  private interface Connect {
    GoodClient connect() throws IOException;
  }

  private final List<Client> clients = new ArrayList<>();
  private final Client operator;
  private volatile boolean over;

  GoodLoad(AttackedServer server, String key) {
    for (int i = 0; i < Population.GOOD_QUEUES; i++) {
      String queue = Population.goodQueue(i);
      Connect connect =
          i % 2 == 0
              ? () -> new GoodGrpcClient(server, key, queue)
              : () -> new GoodHttpClient(server, key, queue);
      clients.add(new Client(new Round(connect), PERIOD_NANOS));
    }
    operator = new Client(new Operator(server)::call, OPERATOR_PERIOD_NANOS);
    clients.forEach(Thread::start);
    operator.start();
  }

  /** Returns the calls of clients that were due in the given interval. */
  List<Sample> samples(long fromNanos, long toNanos) {
    List<Sample> all = new ArrayList<>();
    clients.forEach(each -> each.addSamples(fromNanos, toNanos, all));
    return all;
  }

  /** Returns the calls of the operator that were due in the given interval. */
  List<Sample> operatorSamples(long fromNanos, long toNanos) {
    List<Sample> all = new ArrayList<>();
    operator.addSamples(fromNanos, toNanos, all);
    return all;
  }

  /** Returns whether every client is up to date with its calls and the last one succeeded. */
  boolean isKeepingUp() {
    return clients.stream().allMatch(Client::isKeepingUp);
  }

  /** Waits until {@link #isKeepingUp}; returns false after {@code nanos}. */
  boolean awaitKeepingUp(long nanos) throws InterruptedException {
    long end = System.nanoTime() + nanos;
    while (!isKeepingUp()) {
      if (System.nanoTime() > end) {
        return false;
      }
      Thread.sleep(10);
    }
    return true;
  }

  @Override
  public void close() {
    over = true;
    clients.forEach(Thread::interrupt);
    operator.interrupt();
  }

  /** Calls that are made one after another. */
  private interface Turns {
    void call(int turn) throws IOException;
  }

  /** The round of one client; restarts on a new connection after a failure. */
  private static final class Round implements Turns {
    private final Connect connect;
    private @Nullable GoodClient client;
    private int begun;

    Round(Connect connect) {
      this.connect = connect;
    }

    @Override
    public void call(int turn) throws IOException {
      GoodClient open = client;
      try {
        if (open == null) {
          open = connect.connect();
          client = open;
          begun = turn;
        }
        open.call(turn - begun);
      } catch (IOException failure) {
        if (open != null) {
          open.close();
        }
        client = null;
        throw failure;
      }
    }
  }

  private final class Client extends Thread {
    private final Turns turns;
    private final long periodNanos;

    // Guarded by this.
    private final List<Sample> samples = new ArrayList<>();
    private long nextNanos;
    private boolean failed;

    Client(Turns turns, long periodNanos) {
      super("good client");
      this.turns = turns;
      this.periodNanos = periodNanos;
      nextNanos = System.nanoTime() + periodNanos;
      setDaemon(true);
    }

    @Override
    public void run() {
      for (int turn = 0; !over; turn++) {
        long due = nextNanos;
        for (long early; (early = due - System.nanoTime()) > 0 && !over; ) {
          LockSupport.parkNanos(early);
        }
        record(due, problem(turn));
      }
    }

    private @Nullable String problem(int turn) {
      try {
        turns.call(turn);
        return null;
      } catch (IOException failure) {
        return String.valueOf(failure.getMessage());
      }
    }

    private synchronized void record(long due, @Nullable String problem) {
      long nanos = System.nanoTime() - due;
      failed = problem != null;
      samples.add(new Sample(due, failed ? Math.max(nanos, PENALTY_NANOS) : nanos, problem));
      nextNanos = due + periodNanos;
    }

    synchronized boolean isKeepingUp() {
      return !failed && nextNanos > System.nanoTime() - LATE_NANOS;
    }

    /** Includes calls that are due and not made yet, with their wait so far. */
    synchronized void addSamples(long from, long to, List<Sample> all) {
      for (Sample each : samples) {
        if (each.dueNanos() >= from && each.dueNanos() < to) {
          all.add(each);
        }
      }
      long now = System.nanoTime();
      for (long due = nextNanos; due < Math.min(to, now - LATE_NANOS); due += periodNanos) {
        if (due >= from) {
          all.add(new Sample(due, now - due, "not answered yet"));
        }
      }
    }
  }
}
