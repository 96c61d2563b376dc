package dev.sluice.broker;

import dev.sluice.Limit;
import dev.sluice.broker.internal.runtime.LocalBroker;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import java.util.function.LongUnaryOperator;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Durable queues in a directory: fair between tenants by weight, within the limits of throttle
 * keys, with leases, retries and dead letters.
 *
 * <p>Thread-safe. Operations on messages return futures that complete when the result is as durable
 * as the queue's {@link Durability}. Operations on queues and configuration block until then, or
 * return futures if their names end in {@code Async}. Futures complete on a broker thread:
 * dependents must not block.
 *
 * <p>An enqueued message is delivered until it is acknowledged, becomes a dead letter or is purged.
 * It may be delivered more than once: when its lease ends, or when the broker stops before an
 * acknowledgement completes.
 *
 * <p>A refused operation throws, or its future fails with, {@link BrokerException}. On a full disk,
 * calls fail with {@code WAITING_FOR_SPACE} until there is space; after any other failure of the
 * store they fail with {@code STOPPED}. The results of completed calls are stored in both cases.
 *
 * <p>Implemented by Sluice only; may gain methods.
 *
 * @since 0.1
 */
public interface Broker extends AutoCloseable {
  /** The longest error that is kept with a dead letter, in characters; longer ones are cut. */
  int MAX_ERROR_LENGTH = 4_096;

  /** The longest value of a config entry, in bytes of UTF-8. */
  int MAX_CONFIG_BYTES = 1_024;

  /**
   * Opens a broker with {@link BrokerConfig#defaults}.
   *
   * @param directory where the broker stores everything; created if it does not exist
   * @return the broker
   * @throws BrokerException if the directory cannot be used, or its content is damaged
   */
  static Broker open(Path directory) {
    return open(directory, BrokerConfig.defaults());
  }

  /**
   * Opens a broker.
   *
   * @param directory where the broker stores everything; created if it does not exist
   * @param config the configuration
   * @return the broker
   * @throws BrokerException if the directory cannot be used, or its content is damaged
   */
  static Broker open(Path directory, BrokerConfig config) {
    return LocalBroker.open(directory, config);
  }

  /**
   * Creates a queue with {@link QueueConfig#defaults}, and its dead-letter queue.
   *
   * @param name a name that {@link QueueNames#requireValid} accepts
   * @throws BrokerException if the queue exists
   */
  default void createQueue(String name) {
    createQueue(name, QueueConfig.defaults());
  }

  /**
   * Creates a queue, and its dead-letter queue {@code <name>.dlq} unless that exists.
   *
   * @param name a name that {@link QueueNames#requireValid} accepts
   * @param config the configuration
   * @throws BrokerException if the queue exists, a hook does not compile, or queues and hooks take
   *     as much of the heap as they may
   */
  default void createQueue(String name, QueueConfig config) {
    createQueue(name, config, true);
  }

  /**
   * Creates a queue, and its dead-letter queue {@code <name>.dlq}.
   *
   * @param name a name that {@link QueueNames#requireValid} accepts
   * @param config the configuration
   * @param adoptDeadLetterQueue whether an existing queue {@code <name>.dlq} becomes the
   *     dead-letter queue, which is deleted with the queue; if false, the call fails with {@code
   *     DEAD_LETTER_QUEUE_EXISTS}
   * @throws BrokerException if the queue exists, a hook does not compile, or queues and hooks take
   *     as much of the heap as they may
   */
  void createQueue(String name, QueueConfig config, boolean adoptDeadLetterQueue);

  /**
   * Changes the configuration of a queue as one step, so that no concurrent change is lost.
   *
   * @param name the name of the queue
   * @param change returns the new configuration; called again after a concurrent change
   * @param revision the revision that the queue must have, from {@link #queue}; null for any
   * @return the new revision
   * @throws BrokerException if the queue does not exist or has another revision, or the change is
   *     refused
   */
  String updateQueue(String name, UnaryOperator<QueueConfig> change, @Nullable String revision);

  /**
   * Changes the configuration of a queue as {@link #updateQueue} does, once and without waiting
   * until that is stored.
   *
   * @param name the name of the queue
   * @param change returns the new configuration
   * @param revision the revision that the queue must have, from {@link #queue}; null for any
   * @return the new revision, once it is stored; fails with {@code REVISION_MISMATCH} after a
   *     concurrent change, even if {@code revision} is null
   * @throws BrokerException if the queue does not exist or has another revision, or the change is
   *     refused
   */
  CompletableFuture<String> updateQueueAsync(
      String name, UnaryOperator<QueueConfig> change, @Nullable String revision);

  /**
   * Deletes a queue of any revision; see {@link #deleteQueue(String, String)}.
   *
   * @param name the name of the queue
   * @throws BrokerException if the queue does not exist
   */
  default void deleteQueue(String name) {
    deleteQueue(name, null);
  }

  /**
   * Deletes a queue and its dead-letter queue with all messages; their consumers are closed.
   *
   * @param name the name of the queue
   * @param revision the revision that the queue must have, from {@link #queue}; null for any
   * @throws BrokerException if the queue does not exist, or has another revision
   */
  void deleteQueue(String name, @Nullable String revision);

  /**
   * Deletes a queue as {@link #deleteQueue(String, String)} does, without blocking. The queue that
   * has the name now is deleted, whatever happens to the name until the future completes.
   *
   * @param name the name of the queue
   * @param revision the revision that the queue must have, from {@link #queue}; null for any
   * @return completes when that is stored
   */
  CompletableFuture<Void> deleteQueueAsync(String name, @Nullable String revision);

  /**
   * Returns all queues, including dead-letter queues.
   *
   * @return configurations by name
   */
  SortedMap<String, QueueConfig> queues();

  /**
   * Returns the configuration of a queue and its revision.
   *
   * @param name the name of the queue
   * @return empty if the queue does not exist
   */
  Optional<QueueDefinition> queue(String name);

  /**
   * Returns the statistics of a queue with all fairness keys that wait. Deliveries pause while many
   * keys are collected: {@link BrokerView#queue} bounds them.
   *
   * @param queue the name of the queue
   * @return a snapshot
   * @throws BrokerException if the queue does not exist
   */
  QueueStats stats(String queue);

  /**
   * Deletes all messages of a queue that are not in flight.
   *
   * @param name the name of the queue
   * @return the number of deleted messages
   * @throws BrokerException if the queue does not exist
   */
  long purgeQueue(String name);

  /**
   * Purges as {@link #purgeQueue} does, without blocking. The queue that has the name now is
   * purged, whatever happens to the name until the future completes.
   *
   * @param name the name of the queue
   * @return the number of deleted messages, once that is stored
   */
  CompletableFuture<Long> purgeQueueAsync(String name);

  /**
   * Returns read-only access to statistics and stored messages.
   *
   * @return the view of this broker
   */
  BrokerView view();

  /**
   * Enqueues a message.
   *
   * @param queue the name of the queue
   * @param message the message
   * @return the id, once the message is stored
   * @throws IllegalArgumentException if the message is too large
   */
  CompletableFuture<UUID> enqueue(String queue, Message message);

  /**
   * Enqueues messages in order: all of them, or none if the future fails.
   *
   * <p>Does not block while {@code on_enqueue} runs. If the hooks of all messages together exceed
   * their budget, the call fails with {@code HOOK_BUDGET}.
   *
   * @param queue the name of the queue
   * @param messages the messages
   * @return the ids in the order of the messages, once they are stored
   * @throws IllegalArgumentException if a message is too large
   */
  CompletableFuture<List<UUID>> enqueueAll(String queue, List<Message> messages);

  /**
   * Enqueues messages as {@link #enqueueAll(String, List)}, on behalf of one of several callers
   * that share the hook threads.
   *
   * @param queue the name of the queue
   * @param messages the messages
   * @param caller the caller, whose share is used and which may withdraw the messages while they
   *     wait
   * @return the ids in the order of the messages, once they are stored
   * @throws IllegalArgumentException if a message is too large
   */
  CompletableFuture<List<UUID>> enqueueAll(
      String queue, List<Message> messages, EnqueueCaller caller);

  /**
   * Opens a consumer that is polled.
   *
   * @param queue the name of the queue
   * @param prefetch the most unsettled messages of the consumer, from 1 to 1,000,000
   * @return the consumer
   * @throws BrokerException if the queue does not exist
   */
  MessageConsumer consume(String queue, int prefetch);

  /**
   * Opens a consumer whose handler is called with messages, on a thread of the broker that it may
   * block.
   *
   * @param queue the name of the queue
   * @param prefetch the most unsettled messages of the consumer, from 1 to 1,000,000; 0 if it
   *     manages its credit by {@link MessageConsumer#addCredit}
   * @param handler called with messages, one call at a time
   * @return the consumer
   * @throws BrokerException if the queue does not exist
   */
  MessageConsumer consume(String queue, int prefetch, MessageConsumer.Handler handler);

  /**
   * Leases the messages that can be delivered now; if there are none, waits for the first one.
   *
   * @param queue the name of the queue
   * @param maxMessages the most messages to receive, from 1 to 1,000,000
   * @param maxWait how long to wait for the first message, up to a day; zero does not wait
   * @return the leased messages, possibly none; if the future is canceled, they are released
   */
  default CompletableFuture<List<Delivery>> receive(
      String queue, int maxMessages, Duration maxWait) {
    return receive(queue, maxMessages, maxWait, bytes -> bytes);
  }

  /**
   * Leases messages as {@link #receive(String, int, Duration)} does, into memory that the caller
   * accounts for.
   *
   * @param queue the name of the queue
   * @param maxMessages the most messages to receive, from 1 to 1,000,000
   * @param maxWait how long to wait for the first message, up to a day; zero does not wait
   * @param payloadBudget maps the bytes of the leased messages to the bytes to read, at least one
   *     message; may block
   * @return the leased messages, possibly none; if the future is canceled or fails, they are
   *     released
   */
  CompletableFuture<List<Delivery>> receive(
      String queue, int maxMessages, Duration maxWait, LongUnaryOperator payloadBudget);

  /**
   * Settles messages of one queue as done: they are not delivered again.
   *
   * @param deliveries the messages
   * @return the ids of those whose leases had ended, once the others are stored as done
   * @throws IllegalArgumentException if the messages are of several queues
   */
  CompletableFuture<List<UUID>> ackAll(Collection<Delivery> deliveries);

  /**
   * Settles messages of one queue as done, by their leases.
   *
   * @param queue the name of the queue
   * @param leases tokens by message
   * @return the ids of those whose leases had ended, once the others are stored as done
   */
  CompletableFuture<List<UUID>> ackAll(String queue, Map<UUID, LeaseToken> leases);

  /**
   * Settles a message as done: it is not delivered again.
   *
   * @param queue the name of the queue
   * @param id the message
   * @param token the token of its lease; null for its present lease
   * @return completes when that is stored
   */
  CompletableFuture<Void> ack(String queue, UUID id, @Nullable LeaseToken token);

  /**
   * Settles a message as failed: it is delivered again, or becomes a dead letter.
   *
   * @param queue the name of the queue
   * @param id the message
   * @param token the token of its lease; null for its present lease
   * @param error the reason; kept with a dead letter
   * @param delay the time until it can be delivered again, at most 7 days; null for the delay of
   *     the queue
   * @return completes when that is stored
   */
  CompletableFuture<Void> nack(
      String queue, UUID id, @Nullable LeaseToken token, String error, @Nullable Duration delay);

  /**
   * Sets a lease to end after {@code leaseTimeout} from now.
   *
   * @param queue the name of the queue
   * @param id the message
   * @param token the token of its lease; null for its present lease
   * @param leaseTimeout from 1 ms to {@link QueueConfig#MAX_LEASE_TIMEOUT}
   * @return completes when the lease is extended
   */
  CompletableFuture<Void> extend(
      String queue, UUID id, @Nullable LeaseToken token, Duration leaseTimeout);

  /**
   * Returns a message untouched to its place in the queue, with the tokens of its throttle keys.
   *
   * @param queue the name of the queue
   * @param id the message
   * @param token the token of its lease; null for its present lease
   * @return completes when other consumers can have the message
   */
  CompletableFuture<Void> release(String queue, UUID id, @Nullable LeaseToken token);

  /**
   * Moves dead letters back to the queue they came from, the oldest first, with 0 attempts.
   *
   * @param deadLetterQueue a queue whose name ends in {@link QueueNames#DEAD_LETTER_SUFFIX}
   * @param count the most messages to move; 0 for all that wait now
   * @param runHook whether {@code on_enqueue} assigns their fairness keys anew
   * @return the number of moved messages
   * @throws BrokerException if there is no such queue, or the source queue was deleted or is full
   */
  long redrive(String deadLetterQueue, long count, boolean runHook);

  /**
   * Redrives as {@link #redrive} does, without blocking.
   *
   * @param deadLetterQueue a queue whose name ends in {@link QueueNames#DEAD_LETTER_SUFFIX}
   * @param count the most messages to move; 0 for all that wait now
   * @param runHook whether {@code on_enqueue} assigns their fairness keys anew
   * @return the number of moved messages, once they are stored; canceling it ends the redrive soon
   */
  default CompletableFuture<Long> redriveAsync(
      String deadLetterQueue, long count, boolean runHook) {
    return redriveAsync(deadLetterQueue, count, runHook, () -> false);
  }

  /**
   * Redrives as {@link #redriveAsync(String, long, boolean)} does, for a caller that must know when
   * a canceled redrive has ended.
   *
   * @param deadLetterQueue a queue whose name ends in {@link QueueNames#DEAD_LETTER_SUFFIX}
   * @param count the most messages to move; 0 for all that wait now
   * @param runHook whether {@code on_enqueue} assigns their fairness keys anew
   * @param canceled asked between portions of messages, on threads of the broker; must neither
   *     block nor throw. Once it returns true, the redrive ends after at most one more portion.
   * @return the number of moved messages, once they are stored and the redrive does no more work
   */
  CompletableFuture<Long> redriveAsync(
      String deadLetterQueue, long count, boolean runHook, BooleanSupplier canceled);

  /**
   * Sets a limit, which all queues share, at once and after a restart.
   *
   * @param name the throttle key; not {@code .} or {@code ..}
   * @param limit the limit; a {@link Limit.Balanced} is stored as tokens per second, rounded down
   *     to 15 digits
   * @throws IllegalArgumentException if the limit is {@link Limit.Strict} or {@link Limit.Manual},
   *     or the scheduler cannot represent it
   */
  void setLimit(String name, Limit limit);

  /**
   * Removes a limit: messages with this throttle key pass.
   *
   * @param name the throttle key
   */
  void removeLimit(String name);

  /**
   * Sets a config entry, which hooks can read. The key {@code throttle.<name>} sets the limit of
   * that name: {@code "<tokens per second>,<burst>"}.
   *
   * @param key 1 to 256 bytes; neither it nor the name is {@code .} or {@code ..}
   * @param value up to {@link #MAX_CONFIG_BYTES} bytes
   * @throws IllegalArgumentException if either is too long, or the value is no limit where it must
   *     be one
   */
  void setConfig(String key, String value);

  /**
   * Removes a config entry; with a key {@code throttle.<name>}, removes the limit of that name.
   *
   * @param key the key
   */
  void removeConfig(String key);

  /**
   * Returns the value of a config entry.
   *
   * @param key the key
   * @return empty if there is none
   */
  Optional<String> config(String key);

  /**
   * Returns all config entries.
   *
   * @return a snapshot, values by key
   */
  SortedMap<String, String> config();

  /**
   * Waits until accepted calls are stored, and closes the directory. Calls whose hooks take more
   * than 5 s fail. Idempotent.
   */
  @Override
  void close();
}
