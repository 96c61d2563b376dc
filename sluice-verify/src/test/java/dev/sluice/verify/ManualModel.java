package dev.sluice.verify;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The sequential specification of a bucket without time: tokens, and requests that wait for them.
 *
 * <p>Keeps an account per request, in whole tokens; the real bucket has one number for all.
 */
public class ManualModel {
  static final long CAPACITY = 3;
  static final long INITIAL_TOKENS = 1;

  /** A request in line and what it has got so far. */
  private record Request(int id, long tokens, long paid) {}

  private long capacity = CAPACITY;
  private long tokens = INITIAL_TOKENS;
  private final List<Request> line = new ArrayList<>();

  /** The latest request of each thread. */
  private final Map<Integer, Integer> latest = new HashMap<>();

  private int requests;

  public boolean tryAcquire(long wanted) {
    boolean granted = wanted <= tokens;
    tokens -= granted ? wanted : 0;
    return granted;
  }

  public void consume(int thread, long wanted) {
    latest.put(thread, ++requests);
    line.add(new Request(requests, wanted, 0));
    replenish(0);
  }

  public @Nullable Boolean cancel(int thread) {
    Integer id = latest.get(thread);
    if (id == null) {
      return null;
    }
    for (Request request : line) {
      if (request.id == id) {
        line.remove(request);
        latest.remove(thread);
        replenish(request.paid);
        return true;
      }
    }
    return false;
  }

  public void replenish(long added) {
    long rest = tokens + added;
    while (!line.isEmpty() && rest > 0) {
      Request head = line.remove(0);
      long paid = Math.min(head.tokens - head.paid, rest);
      rest -= paid;
      if (head.paid + paid < head.tokens) {
        line.add(0, new Request(head.id, head.tokens, head.paid + paid));
      }
    }
    tokens = Math.min(capacity, rest);
  }

  public void reset() {
    replenish(capacity);
  }

  public void reconfigure(long newCapacity) {
    capacity = newCapacity;
    tokens = Math.min(capacity, tokens);
  }

  public long available() {
    return tokens;
  }

  /** Equal states let Lincheck skip what it has explored. */
  @Override
  public boolean equals(Object other) {
    return other instanceof ManualModel model && state().equals(model.state());
  }

  @Override
  public int hashCode() {
    return state().hashCode();
  }

  private List<Object> state() {
    return List.of(capacity, tokens, line, latest);
  }
}
