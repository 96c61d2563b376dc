package dev.sluice.broker.engine;

import dev.sluice.broker.Durability;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * What goes into the store as one, and what may happen once it is there.
 *
 * <p>Grows on the thread of the state machine until it is sealed; then only the writer changes it,
 * which notes what it cannot read.
 */
public final class CommitBatch {
  final int epoch;
  final long number;
  public final List<StateChange> changes = new ArrayList<>();

  /** Messages to hand over once their leases are written. */
  public final List<PendingDelivery> deliveries = new ArrayList<>();

  /** Throttle keys from which tokens were taken. */
  final Set<String> touchedLimits = new HashSet<>();

  /** Messages that are about to move, which the writer reads to see whether they can. */
  public final List<MessageEntry> probes = new ArrayList<>();

  /** Those of {@link #probes} that cannot be read; added by the writer. */
  public final List<MessageEntry> unreadable = new ArrayList<>();

  public final Effects whenWritten = new Effects();
  public final Effects whenSynced = new Effects();

  /** Whether somebody whose queue need not wait for the disk wants it there soon all the same. */
  public boolean syncSoon;

  /** Bytes of messages in it. */
  public long bodyBytes;

  /** Where its leases are stored; not at all if they are over when it is sealed. */
  final LeaseRow leases;

  boolean storesLeases;

  List<Level> levels = List.of();
  Meta meta = Meta.NONE;

  /** What may happen at some point. */
  public static final class Effects {
    public final List<Completion<?>> completions = new ArrayList<>();

    /** New messages that may go. */
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

  void addDelivery(PendingDelivery delivery) {
    deliveries.add(delivery);
    touchedLimits.addAll(delivery.entry().placement.spec.throttleKeys().keySet());
  }

  /** What may happen once operations on {@code line} are as durable as it asks for. */
  Effects whenDurable(BrokerQueue queue) {
    if (queue.syncs()) {
      return whenSynced;
    }
    syncSoon |= queue.config.durability() == Durability.INTERVAL;
    return whenWritten;
  }

  /** Whether somebody waits for the disk. */
  public boolean needsSync() {
    return !whenSynced.isEmpty();
  }
}
