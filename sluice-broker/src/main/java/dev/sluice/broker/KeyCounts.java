package dev.sluice.broker;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The fairness keys of a queue. One that has no messages is remembered for a while, so that what it
 * was given can be told from one look to the next, though it may have nothing most of the time.
 */
final class KeyCounts {
  /** How many keys without messages one queue remembers. */
  static final int MAX_IDLE = 1_000;

  private final IdleKeys ofAllQueues;
  private final Map<String, KeyCount> byKey = new HashMap<>();
  private final List<KeyCount> all = new ArrayList<>();
  private @Nullable KeyCount oldestIdle;
  private @Nullable KeyCount newestIdle;
  private int idle;

  /** {@code ofAllQueues} are the idle keys of all queues together. */
  KeyCounts(IdleKeys ofAllQueues) {
    this.ofAllQueues = ofAllQueues;
  }

  /** That of the key, which is about to {@link #enter}. */
  KeyCount of(String key) {
    return byKey.computeIfAbsent(key, this::add);
  }

  private KeyCount add(String key) {
    KeyCount count = new KeyCount(key, this);
    count.place = all.size();
    all.add(count);
    return count;
  }

  /** The last one takes its place. */
  private void remove(KeyCount count) {
    byKey.remove(count.key);
    KeyCount last = all.remove(all.size() - 1);
    if (last != count) {
      last.place = count.place;
      all.set(last.place, last);
    }
  }

  /** The key has one more message. */
  void enter(KeyCount count, int weight, long now) {
    if (count.messages++ == 0) {
      count.servedAt = now;
      if (count.idle) {
        unlink(count);
      }
    }
    count.weight = weight;
  }

  /** The key has one message less. */
  void leave(KeyCount count) {
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
    KeyCount oldest = oldestIdle;
    if (idle > MAX_IDLE && oldest != null) {
      forget(oldest);
    }
    ofAllQueues.add(count);
  }

  /** Forgets an idle key. */
  void forget(KeyCount count) {
    unlink(count);
    remove(count);
  }

  /** Forgets all idle keys, because the queue is gone. */
  void forgetAll() {
    for (KeyCount next = oldestIdle; next != null; next = oldestIdle) {
      forget(next);
    }
  }

  private void unlink(KeyCount count) {
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

  long messagesOf(String key) {
    KeyCount count = byKey.get(key);
    return count == null ? 0 : count.messages;
  }

  /** Keys that have messages. */
  int size() {
    return byKey.size() - idle;
  }

  /** Those that are remembered, too: a copy, which is quick to make of a list. */
  KeyCount[] all() {
    return all.toArray(KeyCount[]::new);
  }
}
