package dev.sluice.broker.internal.runtime;

import dev.sluice.broker.Broker;
import dev.sluice.broker.BrokerView;
import dev.sluice.broker.Delivery;
import dev.sluice.broker.StoredMessage;
import dev.sluice.broker.internal.engine.CommitBatch;
import dev.sluice.broker.internal.engine.MessageEntry;
import dev.sluice.broker.internal.engine.PendingDelivery;
import dev.sluice.broker.internal.engine.Schema;
import dev.sluice.broker.internal.store.MessageEnvelope;
import dev.sluice.broker.internal.store.Store;
import dev.sluice.broker.internal.store.StoreException;
import dev.sluice.broker.internal.store.StoreTable;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** Reads messages from the store, on the threads of callers. */
final class MessageReader {
  /** Fewer messages are not worth a scan. */
  private static final int MIN_SCAN = 32;

  /** So many unreadable messages are kept without checking whether they were removed. */
  private static final int MIN_UNREADABLE = 1_000;

  private final Store store;

  /** Messages whose last reading failed. */
  private final Set<MessageEntry> unreadable = ConcurrentHashMap.newKeySet();

  /** The size at which removed messages leave {@link #unreadable}: twice the size after that. */
  private volatile int cleanAt = MIN_UNREADABLE;

  MessageReader(Store store) {
    this.store = store;
  }

  /**
   * Messages as they were read.
   *
   * @param deliveries those that are still there
   * @param unreadable those that the store could not read
   * @param failure why the last one of these could not be read; null if there is none
   */
  record Found(
      List<Delivery> deliveries,
      List<PendingDelivery> unreadable,
      @Nullable StoreException failure) {}

  /** Reads messages; one that cannot be read does not keep the others from being read. */
  Found read(Broker broker, List<PendingDelivery> leased) {
    List<MessageEntry> entries = new ArrayList<>();
    for (PendingDelivery each : leased) {
      if (each.body() == null) {
        entries.add(each.entry());
      }
    }
    Bodies bodies = bodies(entries);
    List<Delivery> deliveries = new ArrayList<>(leased.size());
    for (PendingDelivery each : leased) {
      byte[] body = each.body() == null ? bodies.read.get(each.entry()) : each.body();
      if (body != null) {
        deliveries.add(new LeasedDelivery(broker, each, MessageEnvelope.decode(body)));
      }
    }
    if (bodies.failure == null) {
      return new Found(deliveries, List.of(), null);
    }
    List<PendingDelivery> failed = new ArrayList<>(leased);
    failed.removeIf(each -> each.body() != null || !unreadable.contains(each.entry()));
    return new Found(deliveries, failed, bodies.failure);
  }

  /** Returns whether the last reading of {@code entry} failed. */
  boolean isUnreadable(MessageEntry entry) {
    return unreadable.contains(entry);
  }

  private record Bodies(Map<MessageEntry, byte[]> read, @Nullable StoreException failure) {}

  private Bodies bodies(List<MessageEntry> entries) {
    try {
      Map<MessageEntry, byte[]> all = areNeighbors(entries) ? scan(entries) : get(entries);
      if (!unreadable.isEmpty()) {
        entries.forEach(unreadable::remove);
      }
      return new Bodies(all, null);
    } catch (StoreException some) {
      return oneByOne(entries, some);
    }
  }

  private Bodies oneByOne(List<MessageEntry> entries, StoreException some) {
    Map<MessageEntry, byte[]> bodies = new HashMap<>();
    StoreException failure = some;
    for (MessageEntry entry : entries) {
      try {
        byte[] body = body(entry);
        if (body != null) {
          bodies.put(entry, body);
        }
      } catch (StoreException why) {
        failure = why;
      }
    }
    return new Bodies(bodies, failure);
  }

  private byte @Nullable [] body(MessageEntry entry) {
    try {
      byte[] body = store.get(StoreTable.MESSAGE, Schema.messageKey(entry));
      unreadable.remove(entry);
      return body;
    } catch (StoreException why) {
      failed(entry);
      throw why;
    }
  }

  private void failed(MessageEntry entry) {
    unreadable.add(entry);
    if (unreadable.size() >= cleanAt) {
      unreadable.removeIf(each -> each.stage == MessageEntry.Stage.GONE);
      cleanAt = Math.max(MIN_UNREADABLE, 2 * unreadable.size());
    }
  }

  /** Notes which of the messages that are about to move can be read. */
  void updateUnreadable(CommitBatch batch) {
    if (!unreadable.isEmpty()) {
      batch.probes.forEach(unreadable::remove);
    }
    batch.unreadable.forEach(this::failed);
  }

  /** Whether they lie so close together that going along is quicker than looking each up. */
  private static boolean areNeighbors(List<MessageEntry> entries) {
    if (entries.size() < MIN_SCAN) {
      return false;
    }
    MessageEntry first = entries.get(0);
    MessageEntry before = first;
    for (MessageEntry entry : entries) {
      if (entry.queue != first.queue || entry.sequence < before.sequence) {
        return false;
      }
      before = entry;
    }
    return before.sequence - first.sequence < 2L * entries.size();
  }

  private Map<MessageEntry, byte[]> scan(List<MessageEntry> entries) {
    Map<MessageEntry, byte[]> bodies = new HashMap<>();
    MessageEntry last = entries.get(entries.size() - 1);
    Iterator<MessageEntry> wanted = entries.iterator();
    MessageEntry[] next = {wanted.next()};
    store.scan(
        StoreTable.MESSAGE,
        Schema.messageKey(next[0]),
        Schema.messageKey(last.queue.id, last.sequence + 1),
        (key, value) -> {
          long sequence = Schema.sequence(key);
          while (next[0].sequence < sequence && wanted.hasNext()) {
            next[0] = wanted.next();
          }
          if (next[0].sequence == sequence) {
            bodies.put(next[0], value);
          }
          return true;
        });
    return bodies;
  }

  private Map<MessageEntry, byte[]> get(List<MessageEntry> entries) {
    Map<MessageEntry, byte[]> bodies = new HashMap<>();
    if (!entries.isEmpty()) {
      List<byte[]> keys = new ArrayList<>(entries.size());
      entries.forEach(entry -> keys.add(Schema.messageKey(entry)));
      List<byte @Nullable []> read = store.getAll(StoreTable.MESSAGE, keys);
      for (int i = 0; i < keys.size(); i++) {
        byte[] body = read.get(i);
        if (body != null) {
          bodies.put(entries.get(i), body);
        }
      }
    }
    return bodies;
  }

  @Nullable MessageEnvelope read(MessageEntry entry) {
    byte[] body = body(entry);
    return body == null ? null : MessageEnvelope.decode(body);
  }

  /** Returns stored messages from {@code sequence} on. */
  List<StoredMessage> browse(
      QueueRegistry.QueueHandle queue,
      long sequence,
      int max,
      BrokerView.PreviewSize size,
      BrokerView.MemoryBudget budget) {
    List<StoredMessage> found = new ArrayList<>();
    long[] left = {size.maxTotalBytes()};
    store.scan(
        StoreTable.STATE,
        Schema.messageKey(queue.id(), sequence),
        Schema.messageKey(queue.id(), Long.MAX_VALUE),
        (key, value) -> {
          Schema.StateRow row = Schema.stateRow(value);
          if (!budget.tryReserve(row.bytes())) {
            return false;
          }
          byte[] body = store.get(StoreTable.MESSAGE, key);
          if (body == null) {
            budget.release(row.bytes());
          } else {
            MessageEnvelope envelope = MessageEnvelope.decode(body);
            byte[] shown = PayloadPreview.cut(envelope.payload(), size.maxPayloadBytes());
            long bytes = (long) body.length - envelope.payload().length + shown.length;
            left[0] -= bytes;
            if (left[0] < 0 && !found.isEmpty()) {
              budget.release(row.bytes());
              return false;
            }
            budget.release(row.bytes() - bytes);
            found.add(message(row.id(key), row, envelope, shown));
          }
          return found.size() < max;
        });
    return found;
  }

  private static StoredMessage message(
      UUID id, Schema.StateRow state, MessageEnvelope envelope, byte[] shown) {
    return new StoredMessage(
        id,
        state.route().fairnessKey(),
        Collections.unmodifiableSet(state.route().throttleKeys().keySet()),
        state.attempts(),
        Instant.ofEpochSecond(0, state.availableAt()),
        Instant.ofEpochSecond(0, envelope.enqueuedAt()),
        envelope.headers(),
        shown,
        envelope.payload().length,
        Optional.ofNullable(envelope.deadLetter()));
  }
}
