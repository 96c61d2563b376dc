package dev.sluice.broker.internal.runtime;

import static dev.sluice.broker.internal.util.Checks.requireBetween;
import static dev.sluice.broker.internal.util.Checks.requireDuration;
import static dev.sluice.broker.internal.util.Checks.requireKey;

import dev.sluice.Limit;
import dev.sluice.NanoClock;
import dev.sluice.broker.Broker;
import dev.sluice.broker.BrokerConfig;
import dev.sluice.broker.BrokerView;
import dev.sluice.broker.Delivery;
import dev.sluice.broker.EnqueueCaller;
import dev.sluice.broker.LeaseToken;
import dev.sluice.broker.Message;
import dev.sluice.broker.MessageConsumer;
import dev.sluice.broker.QueueConfig;
import dev.sluice.broker.QueueDefinition;
import dev.sluice.broker.QueueNames;
import dev.sluice.broker.QueueStats;
import dev.sluice.broker.internal.engine.Dispatcher;
import dev.sluice.broker.internal.engine.FailureHandler;
import dev.sluice.broker.internal.engine.LimitConfigEntry;
import dev.sluice.broker.internal.engine.Schema;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import java.util.function.LongUnaryOperator;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Checks arguments and passes calls to the present {@link BrokerRuntime}, which {@link
 * BrokerLifecycle} replaces after the disk was full.
 */
public final class LocalBroker implements Broker {
  private static final int MAX_PREFETCH = 1_000_000;
  private static final int MAX_RECEIVED = 1_000_000;
  private static final Duration MAX_RECEIVE_WAIT = Duration.ofDays(1);

  private final BrokerLifecycle lifecycle;
  private final BrokerView view;

  public LocalBroker(BrokerLifecycle lifecycle) {
    this.lifecycle = lifecycle;
    this.view = view(NanoClock.system());
  }

  public static LocalBroker open(Path directory, BrokerConfig config) {
    return new LocalBroker(BrokerLifecycle.open(directory, config));
  }

  /** Returns the runtime for the next call. */
  public BrokerRuntime runtime() {
    return lifecycle.runtime();
  }

  private EngineCalls engine() {
    return runtime().engine;
  }

  // ---- queues

  @Override
  public void createQueue(String name, QueueConfig config, boolean adoptDeadLetterQueue) {
    QueueNames.requireValid(name);
    runtime().configurator.create(name, config, adoptDeadLetterQueue);
  }

  @Override
  public String updateQueue(
      String name, UnaryOperator<QueueConfig> change, @Nullable String revision) {
    return runtime().configurator.update(name, change, revision);
  }

  @Override
  public CompletableFuture<String> updateQueueAsync(
      String name, UnaryOperator<QueueConfig> change, @Nullable String revision) {
    return runtime().configurator.updateOnce(name, change, revision);
  }

  @Override
  public void deleteQueue(String name, @Nullable String revision) {
    PendingCalls.await(deleteQueueAsync(name, revision));
  }

  @Override
  public CompletableFuture<Void> deleteQueueAsync(String name, @Nullable String revision) {
    return engine().call((machine, call) -> machine.queueAdmin.delete(name, revision, call));
  }

  @Override
  public SortedMap<String, QueueConfig> queues() {
    SortedMap<String, QueueConfig> all = new TreeMap<>();
    runtime().registry.handles().forEach((name, queue) -> all.put(name, queue.config()));
    return all;
  }

  @Override
  public Optional<QueueDefinition> queue(String name) {
    return Optional.ofNullable(runtime().registry.find(name))
        .map(queue -> new QueueDefinition(queue.config(), queue.revision()));
  }

  @Override
  public QueueStats stats(String queue) {
    return engine().query(machine -> machine.queueAdmin.stats(queue));
  }

  @Override
  public long purgeQueue(String name) {
    return PendingCalls.await(purgeQueueAsync(name));
  }

  @Override
  public CompletableFuture<Long> purgeQueueAsync(String name) {
    return engine().call((machine, call) -> machine.queueAdmin.purge(name, call));
  }

  @Override
  public BrokerView view() {
    return view;
  }

  /** Returns a view that shares no cached results with {@link #view()}. */
  public BrokerView view(NanoClock clock) {
    return new LocalBrokerView(lifecycle, clock);
  }

  // ---- messages

  @Override
  public CompletableFuture<UUID> enqueue(String queue, Message message) {
    return enqueueAll(queue, List.of(message)).thenApply(ids -> ids.get(0));
  }

  @Override
  public CompletableFuture<List<UUID>> enqueueAll(String queue, List<Message> messages) {
    return enqueueAll(queue, messages, EnqueuePipeline.ANYBODY);
  }

  @Override
  public CompletableFuture<List<UUID>> enqueueAll(
      String queue, List<Message> messages, EnqueueCaller caller) {
    return runtime().enqueuePipeline.enqueue(queue, messages, caller);
  }

  @Override
  public MessageConsumer consume(String queue, int prefetch) {
    requireBetween("prefetch", prefetch, 1, MAX_PREFETCH);
    return runtime().consumers.consume(this, queue, prefetch, null);
  }

  @Override
  public MessageConsumer consume(String queue, int prefetch, MessageConsumer.Handler handler) {
    requireBetween("prefetch", prefetch, 0, MAX_PREFETCH);
    Objects.requireNonNull(handler, "handler");
    return runtime().consumers.consume(this, queue, prefetch, handler);
  }

  @Override
  public CompletableFuture<List<Delivery>> receive(
      String queue, int maxMessages, Duration maxWait, LongUnaryOperator payloadBudget) {
    requireBetween("maxMessages", maxMessages, 1, MAX_RECEIVED);
    requireDuration("maxWait", maxWait, Duration.ZERO, MAX_RECEIVE_WAIT);
    return runtime().consumers.receive(this, queue, maxMessages, maxWait, payloadBudget);
  }

  @Override
  public CompletableFuture<List<UUID>> ackAll(Collection<Delivery> deliveries) {
    if (deliveries.isEmpty()) {
      return CompletableFuture.completedFuture(List.of());
    }
    List<String> queues = deliveries.stream().map(Delivery::queue).distinct().toList();
    if (queues.size() > 1) {
      throw new IllegalArgumentException("deliveries must be of one queue: queues=" + queues);
    }
    List<Dispatcher.LeaseRef> leases = new ArrayList<>(deliveries.size());
    deliveries.forEach(each -> leases.add(new Dispatcher.LeaseRef(each.id(), each.leaseToken())));
    return ackAll(queues.get(0), leases);
  }

  @Override
  public CompletableFuture<List<UUID>> ackAll(String queue, Map<UUID, LeaseToken> leases) {
    Objects.requireNonNull(queue, "queue");
    return ackAll(queue, Dispatcher.LeaseRef.all(leases));
  }

  private CompletableFuture<List<UUID>> ackAll(String queue, List<Dispatcher.LeaseRef> leases) {
    return engine().call((machine, call) -> machine.dispatcher.ackAll(queue, leases, call));
  }

  @Override
  public CompletableFuture<Void> ack(String queue, UUID id, @Nullable LeaseToken token) {
    Dispatcher.LeaseRef lease = new Dispatcher.LeaseRef(id, token);
    return engine().call((machine, call) -> machine.dispatcher.ack(queue, lease, call));
  }

  @Override
  public CompletableFuture<Void> nack(
      String queue, UUID id, @Nullable LeaseToken token, String error, @Nullable Duration delay) {
    FailureHandler.Nack nack = FailureHandler.Nack.of(error, delay);
    Dispatcher.LeaseRef lease = new Dispatcher.LeaseRef(id, token);
    return engine().call((machine, call) -> machine.failureHandler.nack(queue, lease, nack, call));
  }

  @Override
  public CompletableFuture<Void> extend(
      String queue, UUID id, @Nullable LeaseToken token, Duration leaseTimeout) {
    requireDuration(
        "leaseTimeout", leaseTimeout, Duration.ofMillis(1), QueueConfig.MAX_LEASE_TIMEOUT);
    Dispatcher.LeaseRef lease = new Dispatcher.LeaseRef(id, token);
    long nanos = leaseTimeout.toNanos();
    return engine().call((machine, call) -> machine.dispatcher.extend(queue, lease, nanos, call));
  }

  @Override
  public CompletableFuture<Void> release(String queue, UUID id, @Nullable LeaseToken token) {
    Dispatcher.LeaseRef lease = new Dispatcher.LeaseRef(id, token);
    return engine().call((machine, call) -> machine.dispatcher.release(queue, lease, call));
  }

  @Override
  public long redrive(String deadLetterQueue, long count, boolean runHook) {
    return PendingCalls.await(redriveAsync(deadLetterQueue, count, runHook));
  }

  @Override
  public CompletableFuture<Long> redriveAsync(
      String deadLetterQueue, long count, boolean runHook, BooleanSupplier canceled) {
    requireBetween("count", count, 0, Long.MAX_VALUE);
    Objects.requireNonNull(canceled, "canceled");
    BrokerRuntime runtime = runtime();
    long max = count == 0 ? Long.MAX_VALUE : count;
    Redrive.Request request = new Redrive.Request(deadLetterQueue, max, runHook, canceled);
    return new Redrive(runtime.engine, runtime.hooks, request).start();
  }

  // ---- limits and config entries

  @Override
  public void setLimit(String name, Limit limit) {
    requireKey("throttle key", name);
    setConfig(LimitConfigEntry.configKey(name), LimitConfigEntry.of(limit).format());
  }

  @Override
  public void removeLimit(String name) {
    requireKey("throttle key", name);
    removeConfig(LimitConfigEntry.configKey(name));
  }

  @Override
  public void setConfig(String key, String value) {
    QueueConfigurator.requireConfigKey(key);
    requireBetween("bytes of value", Schema.utf8(value).length, 0, MAX_CONFIG_BYTES);
    LimitConfigEntry.requireConfig(key, value);
    runtime().configurator.changeConfig(key, value);
  }

  @Override
  public void removeConfig(String key) {
    QueueConfigurator.requireConfigKey(key);
    runtime().configurator.changeConfig(key, null);
  }

  @Override
  public Optional<String> config(String key) {
    return Optional.ofNullable(runtime().registry.config().get(key));
  }

  @Override
  public SortedMap<String, String> config() {
    return new TreeMap<>(runtime().registry.config());
  }

  @Override
  public void close() {
    lifecycle.close();
  }
}
