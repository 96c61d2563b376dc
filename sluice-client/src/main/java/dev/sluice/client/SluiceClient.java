package dev.sluice.client;

import dev.sluice.client.internal.DecisionStream;
import dev.sluice.client.internal.GrpcConnection;
import dev.sluice.proto.v1.BrowseMessagesRequest;
import dev.sluice.proto.v1.CreateQueueRequest;
import dev.sluice.proto.v1.DeleteQueueRequest;
import dev.sluice.proto.v1.EnqueueRequest;
import dev.sluice.proto.v1.GetQueueRequest;
import dev.sluice.proto.v1.LimitsGrpc;
import dev.sluice.proto.v1.ListLimitsRequest;
import dev.sluice.proto.v1.ListQueuesRequest;
import dev.sluice.proto.v1.PurgeQueueRequest;
import dev.sluice.proto.v1.QueuesGrpc;
import dev.sluice.proto.v1.ReceiveRequest;
import dev.sluice.proto.v1.RedriveRequest;
import dev.sluice.proto.v1.RemoveLimitRequest;
import dev.sluice.proto.v1.SetLimitRequest;
import dev.sluice.proto.v1.UpdateQueueRequest;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * A client of one server. For any number of threads; one is enough for a process.
 *
 * <p>Methods that return a value block until the server has answered and throw a {@link
 * SluiceClientException}; those that return a future do not block, and it fails with one. Futures
 * complete on a thread of the client that must not be held up.
 *
 * @since 0.1
 */
public final class SluiceClient implements AutoCloseable {
  private static final int DEFAULT_PREFETCH = 256;

  private final GrpcConnection connection;
  private final DecisionStream decisions;

  SluiceClient(GrpcConnection connection) {
    this.connection = connection;
    this.decisions = new DecisionStream(connection);
  }

  /**
   * A client without key and TLS. It connects when it is first used.
   *
   * @param host where the server is
   * @param port its gRPC port
   * @return the client
   */
  public static SluiceClient connect(String host, int port) {
    return builder(host, port).build();
  }

  /**
   * For everything that {@link #connect} leaves out.
   *
   * @param host where the server is
   * @param port its gRPC port
   * @return the builder
   */
  public static SluiceClientBuilder builder(String host, int port) {
    return new SluiceClientBuilder(host, port);
  }

  /**
   * Makes a queue, and its dead letter queue with it.
   *
   * @param name its name
   * @param settings how it behaves
   */
  public void createQueue(String name, QueueConfig settings) {
    connection.await(
        QueuesGrpc.getCreateQueueMethod(),
        CreateQueueRequest.newBuilder().setName(name).setConfig(settings.toWire()).build());
  }

  /**
   * Replaces all settings of a queue; to change some, see {@link #changeQueue}.
   *
   * @param name its name
   * @param settings all of them; what was not given gets the server's default
   * @return the new revision
   */
  public String updateQueue(String name, QueueConfig settings) {
    return update(
        UpdateQueueRequest.newBuilder().setName(name).setConfig(settings.toWire()).build());
  }

  /**
   * Changes the settings that were given by {@code with…}, and leaves the others as they are.
   *
   * @param name its name
   * @param changes such as {@code QueueConfig.defaults().withMaxAttempts(5)}
   * @return the new revision
   */
  public String changeQueue(String name, QueueConfig changes) {
    return changeQueue(name, changes, "");
  }

  /**
   * Changes settings as above, unless the queue has been changed since it was read.
   *
   * @param name its name
   * @param changes such as {@code QueueConfig.defaults().withMaxAttempts(5)}
   * @param revision the one from {@link QueueStatus}: if the queue has another, the call fails with
   *     {@code FAILED_PRECONDITION}; empty for any
   * @return the new revision
   */
  public String changeQueue(String name, QueueConfig changes, String revision) {
    if (!changes.hasChanges()) {
      throw new IllegalArgumentException("changes must name at least one setting: " + changes);
    }
    return update(
        UpdateQueueRequest.newBuilder()
            .setName(name)
            .setConfig(changes.toWire())
            .setUpdateMask(changes.given())
            .setRevision(revision)
            .build());
  }

  private String update(UpdateQueueRequest request) {
    return connection.await(QueuesGrpc.getUpdateQueueMethod(), request).getRevision();
  }

  /**
   * Removes a queue and all its messages.
   *
   * @param name its name
   */
  public void deleteQueue(String name) {
    connection.await(
        QueuesGrpc.getDeleteQueueMethod(), DeleteQueueRequest.newBuilder().setName(name).build());
  }

  /**
   * All queues.
   *
   * @return by name
   */
  public List<QueueSummary> queues() {
    return connection
        .await(QueuesGrpc.getListQueuesMethod(), ListQueuesRequest.getDefaultInstance())
        .getQueuesList()
        .stream()
        .map(
            queue ->
                new QueueSummary(
                    queue.getName(),
                    queue.getDepth(),
                    queue.getInFlight(),
                    queue.getConsumers(),
                    QueueTotals.of(queue.getTotals())))
        .toList();
  }

  /**
   * One queue.
   *
   * @param name its name
   * @return how it is
   */
  public QueueStatus queue(String name) {
    return QueueStatus.of(
        name,
        connection.await(
            QueuesGrpc.getGetQueueMethod(), GetQueueRequest.newBuilder().setName(name).build()));
  }

  /**
   * Removes the messages that are not leased.
   *
   * @param name the queue
   * @return how many there were
   */
  public long purgeQueue(String name) {
    return connection
        .await(
            QueuesGrpc.getPurgeQueueMethod(), PurgeQueueRequest.newBuilder().setName(name).build())
        .getPurged();
  }

  /**
   * The oldest messages, without leasing them.
   *
   * @param queue the queue
   * @param maxMessages 1 to 1,000
   * @return oldest first
   */
  public List<StoredMessage> peek(String queue, int maxMessages) {
    requirePositive("maxMessages", maxMessages);
    return connection
        .await(
            QueuesGrpc.getBrowseMessagesMethod(),
            BrowseMessagesRequest.newBuilder().setQueue(queue).setMaxMessages(maxMessages).build())
        .getMessagesList()
        .stream()
        .map(StoredMessage::new)
        .toList();
  }

  /**
   * Moves dead letters back to their queue.
   *
   * @param deadLetterQueue ends with {@code .dlq}
   * @param count the most to move; 0 means all
   * @param runScript whether the queue's {@code on_enqueue} is asked again
   * @return how many were moved
   */
  public long redrive(String deadLetterQueue, long count, boolean runScript) {
    return connection
        .await(
            QueuesGrpc.getRedriveMethod(),
            RedriveRequest.newBuilder()
                .setDeadLetterQueue(deadLetterQueue)
                .setCount(count)
                .setRunHook(runScript)
                .build())
        .getRedriven();
  }

  /**
   * Sends a message by itself and waits; for many, a {@link #producer} is much faster.
   *
   * @param queue the queue
   * @param message the message
   * @return its id; the message is as durable as the queue asks for
   */
  public String enqueue(String queue, Message message) {
    return connection.await(enqueueAsync(queue, List.of(message))).get(0);
  }

  /**
   * Sends messages: all of them are stored, or none.
   *
   * @param queue the queue
   * @param messages the messages
   * @return their ids, in order
   */
  public CompletableFuture<List<String>> enqueueAsync(String queue, List<Message> messages) {
    EnqueueRequest.Builder request = EnqueueRequest.newBuilder().setQueue(queue);
    messages.forEach(message -> request.addMessages(message.toWire()));
    return connection
        .call(QueuesGrpc.getEnqueueMethod(), request.build())
        .thenApply(answer -> List.copyOf(answer.getIdsList()));
  }

  /**
   * Leases the messages that can be delivered now; if there are none, waits for the first one. They
   * stay leased after the call until they are settled or their leases end. For many messages, a
   * {@link #subscribe subscription} is much faster.
   *
   * @param queue the queue
   * @param maxMessages 1 to 1,000
   * @param wait how long to wait for the first one, at most 30 seconds; zero does not wait
   * @return none if none came in time
   */
  public CompletableFuture<List<Delivery>> receiveAsync(
      String queue, int maxMessages, Duration wait) {
    requirePositive("maxMessages", maxMessages);
    Delivery.Settlements settlements = LeaseHandle.byCalls(connection, queue);
    return connection
        .call(
            QueuesGrpc.getReceiveMethod(),
            ReceiveRequest.newBuilder()
                .setQueue(queue)
                .setMaxMessages(maxMessages)
                .setWaitMs(wait.toMillis())
                .build(),
            connection.callTimeout().plus(wait.abs()))
        .thenApply(
            answer ->
                answer.getDeliveriesList().stream()
                    .map(delivery -> new Delivery(delivery, settlements))
                    .toList());
  }

  /**
   * As {@link #receiveAsync}, blocking.
   *
   * @param queue the queue
   * @param maxMessages 1 to 1,000
   * @param wait how long to wait for the first one, at most 30 seconds; zero does not wait
   * @return none if none came in time
   */
  public List<Delivery> receive(String queue, int maxMessages, Duration wait) {
    return connection.await(
        receiveAsync(queue, maxMessages, wait), connection.callTimeout().plus(wait.abs()));
  }

  /**
   * A message that was received, by whomever.
   *
   * @param queue the queue
   * @param id the message's id
   * @param lease as it was delivered; empty: whichever lease there is
   * @return settles it
   */
  public LeaseHandle lease(String queue, String id, String lease) {
    return new LeaseHandle(LeaseHandle.byCalls(connection, queue), id, lease);
  }

  /**
   * Configuration, throttles and API keys.
   *
   * @return of this client's server, by its connection
   */
  public AdminClient administration() {
    return new AdminClient(connection);
  }

  /**
   * Token budgets of models.
   *
   * @return of this client's server, by its connection
   */
  public GovernorClient governor() {
    return new GovernorClient(connection);
  }

  /**
   * Sends many messages to one queue, with the usual bounds of memory.
   *
   * @param queue the queue
   * @return to be closed, at the latest with this client
   */
  public Producer producer(String queue) {
    return producer(queue, ProducerConfig.defaults());
  }

  /**
   * Sends many messages to one queue.
   *
   * @param queue the queue
   * @param settings how much it may hold
   * @return to be closed, at the latest with this client
   */
  public Producer producer(String queue, ProducerConfig settings) {
    Producer producer = new Producer(connection, queue, settings);
    connection.opened(producer);
    producer.connect();
    return producer;
  }

  /**
   * Takes messages of a queue by {@link MessageConsumer#poll}, with up to 256 not settled.
   *
   * @param queue the queue
   * @return to be closed, at the latest with this client
   */
  public MessageConsumer subscribe(String queue) {
    return subscribe(queue, DEFAULT_PREFETCH);
  }

  /**
   * Takes messages of a queue by {@link MessageConsumer#poll}.
   *
   * @param queue the queue
   * @param prefetch how many may be delivered and not settled; they are held in memory
   * @return to be closed, at the latest with this client
   */
  public MessageConsumer subscribe(String queue, int prefetch) {
    MessageConsumer subscription = new MessageConsumer(connection, queue, prefetch);
    connection.opened(subscription);
    subscription.connect();
    return subscription;
  }

  /**
   * Hands every message of a queue to a handler.
   *
   * @param queue the queue
   * @param prefetch how many may be delivered and not settled; they are held in memory
   * @param threads how many messages are handled at a time
   * @param handler takes messages and settles them
   * @return to be closed, at the latest with this client
   */
  public MessageConsumer subscribe(
      String queue, int prefetch, int threads, MessageConsumer.Handler handler) {
    requirePositive("threads", threads);
    MessageConsumer subscription = subscribe(queue, prefetch);
    subscription.handle(handler, threads);
    return subscription;
  }

  /**
   * Sets the limit of a key, or of all keys that begin alike.
   *
   * @param limit the limit
   */
  public void setLimit(Limit limit) {
    connection.await(
        LimitsGrpc.getSetLimitMethod(),
        SetLimitRequest.newBuilder()
            .setLimit(
                dev.sluice.proto.v1.Limit.newBuilder()
                    .setName(limit.key())
                    .setRatePerSecond(limit.ratePerSecond())
                    .setBurst(limit.burst()))
            .build());
  }

  /**
   * Removes a limit; what was consumed is forgotten.
   *
   * @param key its key
   */
  public void removeLimit(String key) {
    connection.await(
        LimitsGrpc.getRemoveLimitMethod(), RemoveLimitRequest.newBuilder().setName(key).build());
  }

  /**
   * All limits.
   *
   * @return by key
   */
  public List<Limit> limits() {
    return connection
        .await(LimitsGrpc.getListLimitsMethod(), ListLimitsRequest.getDefaultInstance())
        .getLimitsList()
        .stream()
        .map(limit -> new Limit(limit.getName(), limit.getRatePerSecond(), limit.getBurst()))
        .toList();
  }

  /**
   * Takes the tokens of all keys, or none. Requests of many threads go together.
   *
   * @param costs tokens to take of each key, at least 1; up to 64 keys
   * @return {@code UNAVAILABLE} leaves open whether tokens were taken; it is not asked again
   */
  public CompletableFuture<LimitDecision> decide(Map<String, Long> costs) {
    return decisions.decide(costs, false);
  }

  /**
   * Says what {@link #decide} would, and takes nothing.
   *
   * @param costs as for {@link #decide}
   * @return what would be decided
   */
  public CompletableFuture<LimitDecision> preview(Map<String, Long> costs) {
    return decisions.decide(costs, true);
  }

  /**
   * Takes a token of a key, and waits for the answer, not for the token.
   *
   * @param key the key
   * @return what was decided
   */
  public LimitDecision tryAcquire(String key) {
    return connection.await(decide(Map.of(key, 1L)));
  }

  private static void requirePositive(String name, int value) {
    if (value <= 0) {
      throw new IllegalArgumentException("%s must be positive: %s=%d".formatted(name, name, value));
    }
  }

  /**
   * Closes its producers and subscriptions, each as it says, then the connection. Those who wait
   * for tokens are told, and leave the line once the server misses them.
   */
  @Override
  public void close() {
    connection.close();
  }
}
