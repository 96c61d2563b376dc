package dev.sluice.broker;

import static dev.sluice.broker.internal.util.Checks.requireBetween;

import dev.sluice.LimitStats;
import java.time.Instant;
import java.util.List;
import java.util.SortedMap;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Read-only access to the statistics and the stored messages of a broker.
 *
 * <p>Thread-safe. Every method except {@link #status} and {@link #failure} blocks until the engine
 * answers. Messages are delivered while the fairness keys of a queue are counted; the results for
 * queues with more than 5,000 keys are cached for a second.
 *
 * <p>Implemented by Sluice only; may gain methods.
 *
 * @since 0.1
 */
public interface BrokerView {
  /** The most fairness keys that one call returns. */
  int MAX_KEYS = 10_000;

  /** The most messages that one call returns. */
  int MAX_MESSAGES = 1_000;

  /**
   * Blocks until the engine answers.
   *
   * @throws BrokerException if the broker has stopped
   */
  void ping();

  /**
   * Returns whether the broker runs, waits for space, has stopped or is closed.
   *
   * @return the status at the time of the call
   */
  BrokerStatus status();

  /**
   * Completes when the broker has {@link BrokerStatus#STOPPED}: its process should then exit and be
   * started again.
   *
   * @return completes with the reason; never completes if the broker is closed first
   */
  CompletableFuture<BrokerException> failure();

  /**
   * Returns the statistics of all queues, including dead-letter queues.
   *
   * @return statistics by name, without fairness keys
   */
  SortedMap<String, QueueStats> queues();

  /**
   * Returns the statistics of a queue.
   *
   * @param name the name of the queue
   * @param maxFairnessKeys the most fairness keys to return, from 1 to {@link #MAX_KEYS}
   * @return statistics with the first waiting keys by name; with more than 5,000 keys, they may be
   *     a second old
   * @throws BrokerException if the queue does not exist
   */
  QueueSnapshot queue(String name, int maxFairnessKeys);

  /**
   * Returns statistics of the fairness keys of a queue.
   *
   * @param queue the name of the queue
   * @param order the order of the keys
   * @param max the most keys to return, from 1 to {@link #MAX_KEYS}
   * @param prefix the beginning of the keys to return; empty for all
   * @return the first keys; with more than 5,000, they may be a second old
   * @throws BrokerException if the queue does not exist
   */
  FairnessKeyPage fairnessKeys(String queue, FairnessKeyPage.Order order, int max, String prefix);

  /**
   * Reads messages without leasing them, the oldest first, including delayed and leased ones.
   *
   * @param queue the name of the queue
   * @param from the id of the first message; if it was removed, the next one comes first, or the
   *     oldest if it was a dead letter; null for the oldest
   * @param max the most messages to return, from 1 to {@link #MAX_MESSAGES}
   * @param size how much of the messages to read
   * @return the messages
   * @throws BrokerException if the queue does not exist
   */
  default List<StoredMessage> browse(String queue, @Nullable UUID from, int max, PreviewSize size) {
    return browse(queue, from, max, size, MemoryBudget.UNLIMITED);
  }

  /**
   * Reads messages as {@link #browse(String, UUID, int, PreviewSize)} does, into memory that the
   * caller accounts for.
   *
   * @param queue the name of the queue
   * @param from the id of the first message; if it was removed, the next one comes first, or the
   *     oldest if it was a dead letter; null for the oldest
   * @param max the most messages to return, from 1 to {@link #MAX_MESSAGES}
   * @param size how much of the messages to read
   * @param budget reserves memory before each message; the list ends where it refuses
   * @return the messages
   * @throws BrokerException if the queue does not exist
   */
  List<StoredMessage> browse(
      String queue, @Nullable UUID from, int max, PreviewSize size, MemoryBudget budget);

  /**
   * Returns the statistics of all limits.
   *
   * @return the limits in the order of their names
   */
  LimitsSnapshot limitStats();

  /**
   * Returns the fairness keys that wait for a limit, about in the order in which they are served;
   * without keys that have as many messages in flight as they may.
   *
   * @param limitName the throttle key
   * @param max the most fairness keys to return, from 1 to {@link #MAX_KEYS}
   * @return the first ones
   */
  List<LimitStats.Waiter> waiters(String limitName, int max);

  /**
   * The statistics of a queue with some of its fairness keys.
   *
   * @param stats the statistics
   * @param waitingKeys the number of fairness keys with waiting messages
   */
  record QueueSnapshot(QueueStats stats, long waitingKeys) {}

  /**
   * The statistics of all limits at one time.
   *
   * @param at broker time: between two snapshots at most burst + rate · time tokens are taken
   * @param limits the limits
   */
  record LimitsSnapshot(Instant at, List<LimitStats> limits) {}

  /**
   * How much of messages to read.
   *
   * @param maxPayloadBytes the most bytes of each payload; text ends with a whole character
   * @param maxTotalBytes the most bytes of all messages as they are returned; the first one may
   *     have more
   */
  record PreviewSize(int maxPayloadBytes, long maxTotalBytes) {
    /** Reads messages as a whole. */
    public static final PreviewSize ALL = new PreviewSize(Integer.MAX_VALUE, Long.MAX_VALUE);

    /** Checks that the values are not negative. */
    public PreviewSize {
      requireBetween("maxPayloadBytes", maxPayloadBytes, 0, Integer.MAX_VALUE);
      requireBetween("maxTotalBytes", maxTotalBytes, 0, Long.MAX_VALUE);
    }
  }

  /** Accounts for the memory that messages are read into. */
  interface MemoryBudget {
    /** Has no bound. */
    MemoryBudget UNLIMITED =
        new MemoryBudget() {
          @Override
          public boolean tryReserve(long bytes) {
            return true;
          }

          @Override
          public void release(long bytes) {}
        };

    /**
     * Reserves memory for a message that is about to be read.
     *
     * @param bytes the size of the message as it is stored
     * @return false if there is not enough; the message is not read then
     */
    boolean tryReserve(long bytes);

    /**
     * Releases reserved memory that a message does not need.
     *
     * @param bytes the number of bytes
     */
    void release(long bytes);
  }
}
