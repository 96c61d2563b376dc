package dev.sluice.broker.internal.accounting;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The fairness keys of a queue. One that has no messages is remembered for a while, so that what it
 * was given can be told from one look to the next, though it may have nothing most of the time.
 */
public final class FairnessKeyTable {
  /** How many keys without messages one queue remembers. */
  public static final int MAX_IDLE = 1_000;

  private final IdleKeyLru ofAllQueues;
  private final Map<String, FairnessKeyCounters> byKey = new HashMap<>();
  private final List<FairnessKeyCounters> all = new ArrayList<>();
  private @Nullable FairnessKeyCounters oldestIdle;
  private @Nullable FairnessKeyCounters newestIdle;
  private int idle;

  /** {@code ofAllQueues} are the idle keys of all queues together. */
  public FairnessKeyTable(IdleKeyLru ofAllQueues) {
    this.ofAllQueues = ofAllQueues;
  }

  /** That of the key, which is about to {@link #enter}. */
  public FairnessKeyCounters of(String key) {
    return byKey.computeIfAbsent(key, this::add);
  }

  private FairnessKeyCounters add(String key) {
    FairnessKeyCounters count = new FairnessKeyCounters(key, this);
    count.place = all.size();
    all.add(count);
    return count;
  }

  /** The last one takes its place. */
  private void remove(FairnessKeyCounters count) {
    byKey.remove(count.key);
    FairnessKeyCounters last = all.remove(all.size() - 1);
    if (last != count) {
      last.place = count.place;
      all.set(last.place, last);
    }
  }

  /** The key has one more message. */
  public void enter(FairnessKeyCounters count, int weight, long now) {
    if (count.messages++ == 0) {
      count.servedAt = now;
      if (count.idle) {
        unlink(count);
      }
    }
    count.weight = weight;
  }

  /** The key has one message less. */
  public void leave(FairnessKeyCounters count) {
    if (--count.messages > 0) {
      return;
    }
    count.idle = true;
    count.before = newestIdle;
    if (newestIdle == null) {
      oldestIdle = count;
    } else {
      newestIdle.after = count;
    }
    newestIdle = count;
    idle++;
    FairnessKeyCounters oldest = oldestIdle;
    if (idle > MAX_IDLE && oldest != null) {
      forget(oldest);
    }
    ofAllQueues.add(count);
  }

  /** Forgets an idle key. */
  void forget(FairnessKeyCounters count) {
    unlink(count);
    remove(count);
  }

  /** Forgets all idle keys, because the queue was deleted. */
  public void forgetAll() {
    for (FairnessKeyCounters next = oldestIdle; next != null; next = oldestIdle) {
      forget(next);
    }
  }

  private void unlink(FairnessKeyCounters count) {
    if (count.before == null) {
      oldestIdle = count.after;
    } else {
      count.before.after = count.after;
    }
    if (count.after == null) {
      newestIdle = count.before;
    } else {
      count.after.before = count.before;
    }
    count.before = null;
    count.after = null;
    count.idle = false;
    idle--;
    ofAllQueues.remove(count);
  }

  public long messagesOf(String key) {
    FairnessKeyCounters count = byKey.get(key);
    return count == null ? 0 : count.messages;
  }

  /** Keys that have messages. */
  public int size() {
    return byKey.size() - idle;
  }

  /** Those that are remembered, too: a copy, which is quick to make of a list. */
  public FairnessKeyCounters[] all() {
    return all.toArray(FairnessKeyCounters[]::new);
  }
}
