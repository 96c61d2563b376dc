package dev.sluice.broker;

import static dev.sluice.broker.store.Checks.requireBetween;
import static dev.sluice.broker.store.Checks.requireDuration;
import static dev.sluice.broker.store.Checks.requireKey;

import dev.sluice.LimitStats;
import dev.sluice.NanoClock;
import dev.sluice.broker.engine.Dispatcher;
import dev.sluice.broker.engine.FailureHandler;
import dev.sluice.broker.engine.LimitConfigEntry;
import dev.sluice.broker.runtime.BrokerLifecycle;
import dev.sluice.broker.runtime.BrokerRuntime;
import dev.sluice.broker.runtime.PendingCalls;
import dev.sluice.broker.runtime.Redrive;
import dev.sluice.broker.store.Schema;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongUnaryOperator;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Durable queues in a directory: fair between tenants by weight, within the limits of throttle
 * keys, with leases, retries and dead letters.
 *
 * <p>Thread-safe. What concerns messages is answered by futures, once it is as durable as the queue
 * asks for ({@link Durability}); what concerns queues and configuration waits for that. Futures are
 * completed on a thread of the broker: what is chained to them must not block.
 *
 * <p>What is acknowledged is never lost: an enqueued message is delivered until it is acknowledged,
 * becomes a dead letter or is purged. It may be delivered more than once: when its lease ends, or
 * when the broker stops before an acknowledgement is answered.
 *
 * <p>On a full disk, calls fail with {@code WAITING_FOR_SPACE} until there is space; after any
 * other failure of the store, with {@code STOPPED} for good. Answered calls are stored in both
 * cases.
 *
 * @since 0.1
 */
public final class Broker implements AutoCloseable {
  /** The longest error that is kept with a dead letter, in characters; longer ones are cut. */
  public static final int MAX_ERROR_LENGTH = 4_096;

  /** The longest value of the configuration, in bytes of UTF-8. */
  public static final int MAX_CONFIG_BYTES = 1_024;

  private final BrokerLifecycle life;
  private final BrokerView view;

  Broker(BrokerLifecycle life) {
    this.life = life;
    this.view = view(NanoClock.system());
  }

  BrokerRuntime machinery() {
    return life.machinery();
  }

  /**
   * Opens a broker with {@link BrokerConfig#defaults}.
   *
   * @param directory where it keeps everything; made if it does not exist
   * @return the broker
   * @throws BrokerException if the directory cannot be used, or what it holds is damaged
   */
  public static Broker open(Path directory) {
    return open(directory, BrokerConfig.defaults());
  }

  /**
   * Opens a broker.
   *
   * @param directory where it keeps everything; made if it does not exist
   * @param config how it behaves
   * @return the broker
   * @throws BrokerException if the directory cannot be used, or what it holds is damaged
   */
  public static Broker open(Path directory, BrokerConfig config) {
    return new Broker(BrokerLifecycle.open(directory, config));
  }

  /**
   * Makes a queue of {@link QueueConfig#defaults}, and one for its dead letters.
   *
   * @param name 1 to 128 letters, digits and {@code . _ - : /}; not {@code .} or {@code ..}
   */
  public void createQueue(String name) {
    createQueue(name, QueueConfig.defaults());
  }

  /**
   * Makes a queue, and one for its dead letters, {@code <name>.dlq}.
   *
   * @param name 1 to 128 letters, digits and {@code . _ - : /}; not {@code .} or {@code ..}
   * @param config how it behaves
   * @throws BrokerException if it exists, a script does not compile, or queues and scripts take as
   *     much of the heap as they may
   */
  public void createQueue(String name, QueueConfig config) {
    createQueue(name, config, true);
  }

  /**
   * Creates a queue; {@code mayAdopt} decides about a queue {@code <name>.dlq} that exists.
   *
   * @param name as above
   * @param config how it behaves
   * @param mayAdopt whether an existing {@code <name>.dlq} becomes the dead-letter queue, which is
   *     deleted with the queue; if false, the call fails with {@code DEAD_LETTER_QUEUE_EXISTS}
   */
  public void createQueue(String name, QueueConfig config, boolean mayAdopt) {
    QueueNames.requireValid(name);
    machinery()
        .<Void>configure(
            config, (engine, call) -> engine.admin.create(name, config, mayAdopt, call));
  }

  /**
   * Changes the configuration of a queue as one step, so that no concurrent change is lost.
   *
   * @param name the queue
   * @param change returns the new configuration; called again if another change comes first
   * @param revision the revision that the queue must have, from {@link #queue}; null for any
   * @return the new revision
   * @throws BrokerException if it does not exist, has another revision, or the change is refused
   */
  public String updateQueue(
      String name, UnaryOperator<QueueConfig> change, @Nullable String revision) {
    return machinery().update(name, change, revision);
  }

  /** Deletes a queue of any revision; see {@link #deleteQueue(String, String)}. */
  public void deleteQueue(String name) {
    deleteQueue(name, null);
  }

  /**
   * Deletes a queue, its dead letters, and everything in both; their consumers are closed.
   *
   * @param name the queue
   * @param revision the revision that the queue must have, from {@link #queue}; null for any
   * @throws BrokerException if it does not exist, or has another revision
   */
  public void deleteQueue(String name, @Nullable String revision) {
    PendingCalls.await(
        machinery().<Void>call((engine, call) -> engine.admin.delete(name, revision, call)));
  }

  /**
   * All queues, with those of dead letters.
   *
   * @return configuration by name
   */
  public SortedMap<String, QueueConfig> queues() {
    SortedMap<String, QueueConfig> all = new TreeMap<>();
    machinery().scripts.views().forEach((name, view) -> all.put(name, view.config()));
    return all;
  }

  /**
   * Returns the configuration of a queue and its revision.
   *
   * @param name the queue
   * @return empty if it does not exist
   */
  public Optional<QueueDefinition> queue(String name) {
    return Optional.ofNullable(machinery().scripts.find(name))
        .map(view -> new QueueDefinition(view.config(), view.revision()));
  }

  /**
   * How a queue stands, with all keys of which something waits. With many of them deliveries wait
   * for the answer: {@link BrokerView#queue} tells of some.
   *
   * @param name the queue
   * @return a snapshot
   * @throws BrokerException if it does not exist
   */
  public QueueStats stats(String name) {
    return machinery().ask(engine -> engine.admin.stats(name));
  }

  /**
   * Deletes every message of a queue that no consumer has.
   *
   * @param name the queue
   * @return how many
   * @throws BrokerException if it does not exist
   */
  public long purgeQueue(String name) {
    return PendingCalls.await(
        machinery().<Long>call((engine, call) -> engine.admin.purge(name, call)));
  }

  /**
   * How it stands, for those who look on.
   *
   * @return a view
   */
  public BrokerView view() {
    return view;
  }

  /** One that shares nothing with {@link #view()}. */
  BrokerView view(NanoClock clock) {
    return new BrokerView(life, clock);
  }

  /**
   * Enqueues a message.
   *
   * @param queue the queue
   * @param message the message
   * @return its id, once it is stored
   * @throws IllegalArgumentException if the message is too large
   */
  public CompletableFuture<UUID> enqueue(String queue, Message message) {
    return enqueueAll(queue, List.of(message)).thenApply(ids -> ids.get(0));
  }

  /**
   * Enqueues messages in order, all or, if it fails, none.
   *
   * <p>Does not block while {@code on_enqueue} runs. If the scripts of all messages together exceed
   * their budget, the call fails with {@code HOOK_BUDGET}.
   *
   * @param queue the queue
   * @param messages the messages
   * @return their ids, once they are stored
   * @throws IllegalArgumentException if a message is too large
   */
  public CompletableFuture<List<UUID>> enqueueAll(String queue, List<Message> messages) {
    return machinery().enqueuer.enqueue(queue, messages);
  }

  /**
   * Takes messages from a queue by asking for them.
   *
   * @param queue the queue
   * @param prefetch how many messages the consumer may have that are not settled, from 1 to
   *     1,000,000
   * @return the consumer
   * @throws BrokerException if the queue does not exist
   */
  public MessageConsumer consume(String queue, int prefetch) {
    requireBetween("prefetch", prefetch, 1, 1_000_000);
    return machinery().consume(this, queue, prefetch, null);
  }

  /**
   * Takes messages from a queue by being called, on a thread of the broker, which it may block.
   *
   * @param queue the queue
   * @param prefetch how many messages the consumer may have that are not settled, from 1 to
   *     1,000,000; 0 if it says so itself by {@link MessageConsumer#addCredit}
   * @param handler called with messages, one call at a time
   * @return the consumer
   * @throws BrokerException if the queue does not exist
   */
  public MessageConsumer consume(String queue, int prefetch, MessageConsumer.Handler handler) {
    requireBetween("prefetch", prefetch, 0, 1_000_000);
    return machinery().consume(this, queue, prefetch, Objects.requireNonNull(handler, "handler"));
  }

  /**
   * Leases the messages that can be delivered now; if there are none, waits for the first one.
   *
   * @param queue the name of the queue
   * @param maxMessages the most messages to receive, from 1 to 1,000,000
   * @param maxWait how long to wait for the first message, up to a day; zero does not wait
   * @return the leased messages, possibly none; if the future is canceled, they are released
   */
  public CompletableFuture<List<Delivery>> receive(
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
  public CompletableFuture<List<Delivery>> receive(
      String queue, int maxMessages, Duration maxWait, LongUnaryOperator payloadBudget) {
    requireBetween("maxMessages", maxMessages, 1, 1_000_000);
    requireDuration("maxWait", maxWait, Duration.ZERO, Duration.ofDays(1));
    return machinery().receive(this, queue, maxMessages, maxWait, payloadBudget);
  }

  /**
   * Acknowledges messages of one queue: they will not be delivered again.
   *
   * @param deliveries the messages
   * @return the ids of those whose lease had ended, once the others are stored as done
   * @throws IllegalArgumentException if they are of several queues
   */
  public CompletableFuture<List<UUID>> ackAll(Collection<Delivery> deliveries) {
    if (deliveries.isEmpty()) {
      return CompletableFuture.completedFuture(List.of());
    }
    List<String> queues = deliveries.stream().map(Delivery::queue).distinct().toList();
    if (queues.size() > 1) {
      throw new IllegalArgumentException("deliveries must be of one queue: queues=" + queues);
    }
    return machinery().ackAll(queues.get(0), Delivery.claims(deliveries));
  }

  /**
   * Acknowledges messages of one queue by their leases: they will not be delivered again.
   *
   * @param queue the queue
   * @param leases tokens by message
   * @return the ids of those whose lease had ended, once the others are stored as done
   */
  public CompletableFuture<List<UUID>> ackAll(String queue, Map<UUID, LeaseToken> leases) {
    Objects.requireNonNull(queue, "queue");
    return machinery().ackAll(queue, Dispatcher.LeaseRef.all(leases));
  }

  /**
   * Acknowledges a message.
   *
   * @param queue the queue
   * @param id the message
   * @param token of its lease; null for whatever lease it has
   * @return completed once it is stored as done
   */
  public CompletableFuture<Void> ack(String queue, UUID id, @Nullable LeaseToken token) {
    Dispatcher.LeaseRef claim = new Dispatcher.LeaseRef(id, token);
    return machinery()
        .ackAll(queue, List.of(claim))
        .thenAccept(
            refused -> {
              if (!refused.isEmpty()) {
                throw Dispatcher.notLeased(queue, claim);
              }
            });
  }

  /**
   * Says that a message could not be handled.
   *
   * @param queue the queue
   * @param id the message
   * @param token of its lease; null for whatever lease it has
   * @param error what went wrong
   * @param delay before it is tried again, at most 7 days; null for the delay of the queue
   * @return completed once what becomes of it is stored
   */
  public CompletableFuture<Void> nack(
      String queue, UUID id, @Nullable LeaseToken token, String error, @Nullable Duration delay) {
    FailureHandler.Nack nack = FailureHandler.Nack.of(error, delay);
    Dispatcher.LeaseRef claim = new Dispatcher.LeaseRef(id, token);
    return machinery().call((engine, call) -> engine.failures.nack(queue, claim, nack, call));
  }

  /**
   * Gives the holder of a message more time, or less.
   *
   * @param queue the queue
   * @param id the message
   * @param token of its lease; null for whatever lease it has
   * @param time from now on, from 1 ms to {@link QueueConfig#MAX_LEASE_TIMEOUT}
   * @return completed once the lease is extended
   */
  public CompletableFuture<Void> extend(
      String queue, UUID id, @Nullable LeaseToken token, Duration time) {
    requireDuration("time", time, Duration.ofMillis(1), QueueConfig.MAX_LEASE_TIMEOUT);
    Dispatcher.LeaseRef claim = new Dispatcher.LeaseRef(id, token);
    return machinery()
        .call((engine, call) -> engine.dispatch.extend(queue, claim, time.toNanos(), call));
  }

  /**
   * Gives a message back untouched, with the tokens of its throttle keys.
   *
   * @param queue the queue
   * @param id the message
   * @param token of its lease; null for whatever lease it has
   * @return completed once others can have it
   */
  public CompletableFuture<Void> release(String queue, UUID id, @Nullable LeaseToken token) {
    Dispatcher.LeaseRef claim = new Dispatcher.LeaseRef(id, token);
    return machinery().call((engine, call) -> engine.dispatch.release(queue, claim, call));
  }

  /**
   * Sends dead letters back to the queue they came from, the oldest first, as if new: their
   * attempts are forgotten.
   *
   * @param deadLetterQueue a queue whose name ends in {@code .dlq}
   * @param count how many at the most; 0 for all that wait now
   * @param runScript whether {@code on_enqueue} says anew where they go
   * @return how many went
   * @throws BrokerException if there is no such queue or the one they came from is gone or full
   */
  public long redrive(String deadLetterQueue, long count, boolean runScript) {
    return PendingCalls.await(redriveAsync(deadLetterQueue, count, runScript));
  }

  /**
   * Redrives as {@link #redrive} does, without blocking.
   *
   * @param deadLetterQueue a queue whose name ends in {@code .dlq}
   * @param count how many at the most; 0 for all that wait now
   * @param runScript whether {@code on_enqueue} says anew where they go
   * @return how many went, once they are stored; cancelling it ends the redrive soon
   */
  public CompletableFuture<Long> redriveAsync(
      String deadLetterQueue, long count, boolean runScript) {
    requireBetween("count", count, 0, Long.MAX_VALUE);
    return new Redrive(machinery(), deadLetterQueue, count == 0 ? Long.MAX_VALUE : count, runScript)
        .start();
  }

  // ---- configuration and rates

  /**
   * Sets a value that scripts can read. A key {@code throttle.<k>} is the rate of throttle key k:
   * {@code "<tokens per second>,<burst>"}.
   *
   * @param key 1 to 256 bytes; neither it nor k is {@code .} or {@code ..}
   * @param value up to {@link #MAX_CONFIG_BYTES} bytes
   * @throws IllegalArgumentException if either is too long, or the value is no rate where it must
   *     be one
   */
  public void setConfig(String key, String value) {
    BrokerRuntime.requireConfigKey(key);
    requireBetween("bytes of value", Schema.utf8(value).length, 0, MAX_CONFIG_BYTES);
    LimitConfigEntry.requireConfig(key, value);
    machinery().changeConfig(key, value);
  }

  /**
   * Takes a value away, and with a key {@code throttle.<k>} the rate of throttle key k.
   *
   * @param key the key
   */
  public void removeConfig(String key) {
    BrokerRuntime.requireConfigKey(key);
    machinery().changeConfig(key, null);
  }

  /**
   * A value of the configuration.
   *
   * @param key the key
   * @return empty if there is none
   */
  public Optional<String> config(String key) {
    return Optional.ofNullable(machinery().scripts.config().get(key));
  }

  /** Returns the whole configuration, as values by key. */
  public SortedMap<String, String> config() {
    return new TreeMap<>(machinery().scripts.config());
  }

  /**
   * Gives a throttle key a rate, or another one; all queues share it, at once and after a restart.
   *
   * @param throttleKey the key; not {@code .} or {@code ..}
   * @param perSecond messages per second, fractions allowed
   * @param burst how many at once
   */
  public void setThrottle(String throttleKey, double perSecond, double burst) {
    requireKey("throttle key", throttleKey);
    setConfig(
        LimitConfigEntry.configKey(throttleKey), new LimitConfigEntry(perSecond, burst).format());
  }

  /**
   * Takes a throttle key's rate away: it holds up nobody.
   *
   * @param throttleKey the key
   */
  public void removeThrottle(String throttleKey) {
    requireKey("throttle key", throttleKey);
    removeConfig(LimitConfigEntry.configKey(throttleKey));
  }

  /** Returns a snapshot of every throttle key with a rate. */
  public List<LimitStats> throttles() {
    return machinery().ask(engine -> engine.state.scheduler.limitStats(engine.state.now));
  }

  /** Stops once all calls are stored; those whose scripts take over 5 s fail. Idempotent. */
  @Override
  public void close() {
    life.close();
  }
}
