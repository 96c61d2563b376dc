package dev.sluice.broker.internal.engine;

import dev.sluice.broker.Durability;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * The changes that are stored together, and the effects that follow once they are stored.
 *
 * <p>Grows on the thread of the engine until it is sealed; then only the writer changes it, which
 * notes what it cannot read.
 */
public final class CommitBatch {
  final int epoch;
  final long number;
  public final List<StateChange> changes = new ArrayList<>();

  /** Messages to deliver once their leases are written. */
  public final List<PendingDelivery> deliveries = new ArrayList<>();

  /** Limits whose tokens were taken or returned. */
  final Set<String> touchedLimits = new HashSet<>();

  /** Messages that are about to move, which the writer reads to see whether they can. */
  public final List<MessageEntry> probes = new ArrayList<>();

  /** Those of {@link #probes} that cannot be read; added by the writer. */
  public final List<MessageEntry> unreadable = new ArrayList<>();

  public final Effects whenWritten = new Effects();
  public final Effects whenSynced = new Effects();

  /** Whether a queue with {@link Durability#INTERVAL} has changed. */
  public boolean syncSoon;

  /** Bytes of messages in it. */
  public long bodyBytes;

  /** Where its leases are stored; not at all if they are over when it is sealed. */
  final LeaseRow leases;

  boolean storesLeases;

  List<Level> levels = List.of();
  Meta meta = Meta.NONE;

  /** Effects that wait until a batch is written or synced. */
  public static final class Effects {
    public final List<Completion<?>> completions = new ArrayList<>();

    /** New messages that can be delivered then. */
    final List<MessageEntry> ready = new ArrayList<>();

    final List<Runnable> actions = new ArrayList<>();

    boolean isEmpty() {
      return completions.isEmpty() && ready.isEmpty() && actions.isEmpty();
    }
  }

  /**
   * Tokens of a throttle key.
   *
   * @param at broker time
   */
  public record Level(String limitName, double tokens, long at) {}

  /**
   * Counters as they are after the batch.
   *
   * @param brokerTime when the batch was sealed
   * @param bootNanos the same instant on the clock that counts since the machine started
   * @param lowWaterMark no message has a lower number
   */
  public record Meta(
      long brokerTime, long bootNanos, long nextSequence, int nextQueueId, long lowWaterMark) {
    static final Meta NONE = new Meta(0, 0, 1, 1, 1);
  }

  public CommitBatch(int epoch, long number) {
    this.epoch = epoch;
    this.number = number;
    this.leases = new LeaseRow(epoch, number);
  }

  public boolean isEmpty() {
    return changes.isEmpty()
        && deliveries.isEmpty()
        && touchedLimits.isEmpty()
        && whenWritten.isEmpty()
        && whenSynced.isEmpty();
  }

  /** Returns how much the writer has to do for it, deliveries aside, and the engine afterwards. */
  int work() {
    return changes.size() + probes.size() + whenWritten.actions.size() + whenSynced.actions.size();
  }

  void addDelivery(PendingDelivery delivery) {
    deliveries.add(delivery);
    touchedLimits.addAll(delivery.entry().placement.spec.throttleKeys().keySet());
  }

  /** Returns the effects that wait until the batch is as durable as {@code queue} requires. */
  Effects whenDurable(BrokerQueue queue) {
    if (queue.syncs()) {
      return whenSynced;
    }
    syncSoon |= queue.config.durability() == Durability.INTERVAL;
    return whenWritten;
  }

  /** Returns whether a call waits for the sync. */
  public boolean needsSync() {
    return !whenSynced.isEmpty();
  }
}
