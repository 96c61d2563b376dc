package dev.sluice.redis.internal.limits;

import dev.sluice.redis.internal.connection.FleetConnection;
import dev.sluice.redis.internal.connection.ScriptCall;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Asks Redis for tokens of single buckets: who comes while enough answers about the same bucket are
 * on their way goes with the others in the next call.
 *
 * <p>Redis decides about each in turn, as if they had come one by one. A bucket that many want at
 * once costs a call for all of them and not for each.
 */
final class DecisionBatcher {
  /** A call stays short for Redis. */
  private static final int MOST = 128;

  /**
   * Calls about one bucket on their way at once, but for full ones: Redis has one to do while
   * another travels.
   */
  private static final int AT_ONCE = 4;

  private static final int FIRST_AT = 2;
  private static final long GRANTED = 1;

  private final FleetConnection link;
  private final Map<String, DecisionBatcher.BucketQueue> lines = new ConcurrentHashMap<>();

  DecisionBatcher(FleetConnection link) {
    this.link = link;
  }

  /** One who waits for the next call. */
  private record Waiter(BucketDemand demand, ScriptCall call) {
    boolean fitsTo(Waiter first) {
      return demand.version() == first.demand.version()
          && demand.quota().isSame(first.demand.quota());
    }
  }

  /** Answers as {@link LimitScript#DECIDE} does. */
  CompletableFuture<List<Object>> call(BucketDemand demand) {
    while (true) {
      DecisionBatcher.BucketQueue line =
          lines.computeIfAbsent(demand.place(), DecisionBatcher.BucketQueue::new);
      CompletableFuture<List<Object>> answer = line.call(demand);
      if (answer != null) {
        return answer;
      }
    }
  }

  /** Those who want tokens of one bucket, while somebody is asked for. */
  private final class BucketQueue {
    private final String place;
    private final String[] keys;

    // Guarded by this.
    private final Deque<Waiter> waiters = new ArrayDeque<>();
    private int onTheirWay;
    private boolean ended;

    BucketQueue(String place) {
      this.place = place;
      this.keys = new String[] {place};
    }

    /** Null if the line has ended meanwhile. */
    @Nullable CompletableFuture<List<Object>> call(BucketDemand demand) {
      @Nullable ScriptCall call;
      boolean full = false;
      synchronized (this) {
        if (ended) {
          return null;
        }
        if (onTheirWay < AT_ONCE) {
          onTheirWay++;
          call = null;
        } else {
          call = link.expect();
          waiters.add(new Waiter(demand, call));
          // Over a slow wire these would wait for answers for nothing: nobody else can join them.
          full = waiters.size() >= MOST;
          onTheirWay += full ? 1 : 0;
        }
      }
      if (call == null) {
        return alone(demand);
      }
      link.watch(call); // may tell somebody, who may do anything
      if (full) {
        next();
      }
      return call;
    }

    @SuppressWarnings("FutureReturnValueIgnored") // whoever joined is told by the next call
    private CompletableFuture<List<Object>> alone(BucketDemand demand) {
      String[] arguments = {
        "take",
        Long.toString(demand.version()),
        Long.toString(demand.tokens()),
        demand.quota().params()
      };
      CompletableFuture<List<Object>> answer = link.call(LimitScript.DECIDE, keys, arguments);
      answer.whenComplete((reply, failure) -> next());
      return answer;
    }

    private void next() {
      // Not by calling itself: while Redis is away every call ends at once.
      for (List<Waiter> together = take(); !together.isEmpty(); together = take()) {
        List<Waiter> all = together;
        CompletableFuture<List<Object>> answer =
            link.call(LimitScript.DECIDE_BATCH, keys, arguments(together));
        if (!answer.isDone()) {
          var unused =
              answer.whenComplete(
                  (reply, failure) -> {
                    next();
                    tellAll(all, reply, failure);
                  });
          return;
        }
        var unused = answer.whenComplete((reply, failure) -> tellAll(all, reply, failure));
      }
    }

    /** Those who go together; none ends a call, and the last one the line. */
    private synchronized List<Waiter> take() {
      List<Waiter> together = new ArrayList<>();
      while (!waiters.isEmpty() && together.size() < MOST) {
        Waiter waiter = waiters.peek();
        if (!together.isEmpty() && !waiter.fitsTo(together.get(0))) {
          return together;
        }
        waiters.poll();
        if (!waiter.call().isDone()) {
          together.add(waiter);
        }
      }
      if (together.isEmpty() && --onTheirWay == 0) {
        ended = true;
        lines.remove(place, this);
      }
      return together;
    }

    private String[] arguments(List<Waiter> together) {
      String[] arguments = new String[FIRST_AT + together.size()];
      arguments[0] = Long.toString(together.get(0).demand().version());
      arguments[1] = together.get(0).demand().quota().params();
      for (int i = 0; i < together.size(); i++) {
        arguments[FIRST_AT + i] = Long.toString(together.get(i).demand().tokens());
      }
      return arguments;
    }
  }

  private void tellAll(List<Waiter> together, List<Object> reply, @Nullable Throwable failure) {
    for (int i = 0; i < together.size(); i++) {
      tell(together.get(i).call(), i, reply, failure);
    }
  }

  private static void tell(
      ScriptCall call, int index, List<Object> reply, @Nullable Throwable failure) {
    if (failure != null) {
      call.completeExceptionally(failure);
      return;
    }
    long outcome = ScriptCall.number(reply, FIRST_AT + 2 * index);
    long figure = ScriptCall.number(reply, FIRST_AT + 2 * index + 1);
    boolean granted = outcome == GRANTED;
    call.complete(
        List.of(outcome, granted ? figure : 1L, granted ? 0L : figure, reply.get(0), reply.get(1)));
  }
}
