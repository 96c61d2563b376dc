package dev.sluice.client;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.client.internal.DecisionStream;
import dev.sluice.client.internal.GrpcConnection;
import dev.sluice.client.internal.LimitProtoMapper;
import dev.sluice.client.internal.Settler;
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
import java.util.SortedMap;
import java.util.concurrent.CompletableFuture;

/**
 * A client of one server. Thread-safe; one client per process is enough.
 *
 * <p>Methods with plain results block until the server answers. Methods that return futures do not
 * block. Both fail with {@link SluiceClientException}. Futures complete on a client thread:
 * dependents must not block.
 *
 * @since 0.1
 */
public final class SluiceClient implements AutoCloseable {
  private final GrpcConnection connection;
  private final DecisionStream decisions;

  SluiceClient(GrpcConnection connection) {
    this.connection = connection;
    this.decisions = new DecisionStream(connection);
  }

  /**
   * Returns a client without API key and TLS. It connects on first use.
   *
   * @param host the server's host
   * @param port the server's gRPC port
   * @return the client
   */
  public static SluiceClient connect(String host, int port) {
    return builder(host, port).build();
  }

  /**
   * Returns a builder for a client with an API key, TLS or other options.
   *
   * @param host the server's host
   * @param port the server's gRPC port
   * @return the builder
   */
  public static SluiceClientBuilder builder(String host, int port) {
    return new SluiceClientBuilder(host, port);
  }

  /**
   * Creates a queue and its dead-letter queue.
   *
   * @param name the queue's name
   * @param config its configuration
   */
  public void createQueue(String name, QueueConfig config) {
    connection.await(
        QueuesGrpc.getCreateQueueMethod(),
        CreateQueueRequest.newBuilder().setName(name).setConfig(config.toWire()).build());
  }

  /**
   * Replaces all settings of a queue; {@link #updateQueue} changes some.
   *
   * @param name the queue's name
   * @param config the new configuration; settings that it was not given get the server's default
   * @return the new revision
   */
  public String replaceQueue(String name, QueueConfig config) {
    return update(UpdateQueueRequest.newBuilder().setName(name).setConfig(config.toWire()));
  }

  /**
   * Changes the settings that {@code changes} was given, and leaves the others as they are.
   *
   * @param name the queue's name
   * @param changes such as {@code QueueConfig.builder().maxAttempts(5).build()}
   * @param revision of {@link QueueStatus}; the call fails with {@code FAILED_PRECONDITION} if the
   *     queue has another one. Empty updates any revision
   * @return the new revision
   * @throws IllegalArgumentException if {@code changes} has no setting
   */
  public String updateQueue(String name, QueueConfig changes, String revision) {
    if (!changes.hasChanges()) {
      throw new IllegalArgumentException("changes must have at least one setting: " + changes);
    }
    return update(
        UpdateQueueRequest.newBuilder()
            .setName(name)
            .setConfig(changes.toWire())
            .setUpdateMask(changes.given())
            .setRevision(revision));
  }

  private String update(UpdateQueueRequest.Builder request) {
    return connection.await(QueuesGrpc.getUpdateQueueMethod(), request.build()).getRevision();
  }

  /**
   * Deletes a queue and all its messages.
   *
   * @param name the queue's name
   */
  public void deleteQueue(String name) {
    connection.await(
        QueuesGrpc.getDeleteQueueMethod(), DeleteQueueRequest.newBuilder().setName(name).build());
  }

  /**
   * Returns all queues.
   *
   * @return ordered by name
   */
  public List<QueueSummary> queues() {
    return connection
        .await(QueuesGrpc.getListQueuesMethod(), ListQueuesRequest.getDefaultInstance())
        .getQueuesList()
        .stream()
        .map(QueueSummary::of)
        .toList();
  }

  /**
   * Returns the configuration and the statistics of a queue.
   *
   * @param name the queue's name
   * @return its status
   */
  public QueueStatus queue(String name) {
    return QueueStatus.of(
        name,
        connection.await(
            QueuesGrpc.getGetQueueMethod(), GetQueueRequest.newBuilder().setName(name).build()));
  }

  /**
   * Deletes all messages of a queue that are not in flight.
   *
   * @param name the queue's name
   * @return the number of deleted messages
   */
  public long purgeQueue(String name) {
    return connection
        .await(
            QueuesGrpc.getPurgeQueueMethod(), PurgeQueueRequest.newBuilder().setName(name).build())
        .getPurged();
  }

  /**
   * Returns the oldest messages of a queue without leasing them.
   *
   * @param queue the queue's name
   * @param maxMessages 1 to 1,000
   * @return the messages, oldest first
   */
  public List<StoredMessage> browse(String queue, int maxMessages) {
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
   * @param deadLetterQueue its name ends with {@code .dlq}
   * @param count the most messages to move; 0 moves all
   * @param runHook whether the queue's {@code on_enqueue} hook runs again
   * @return the number of moved messages
   */
  public long redrive(String deadLetterQueue, long count, boolean runHook) {
    return connection
        .await(
            QueuesGrpc.getRedriveMethod(),
            RedriveRequest.newBuilder()
                .setDeadLetterQueue(deadLetterQueue)
                .setCount(count)
                .setRunHook(runHook)
                .build())
        .getRedriven();
  }

  /**
   * Enqueues one message and blocks until it is stored. A {@link #producer} is much faster for many
   * messages.
   *
   * @param queue the queue's name
   * @param message the message
   * @return its id, once the message is as durable as the queue's configuration says
   */
  public String enqueue(String queue, Message message) {
    return connection.await(enqueueAsync(queue, message));
  }

  /**
   * Enqueues one message.
   *
   * @param queue the queue's name
   * @param message the message
   * @return its id, once the message is as durable as the queue's configuration says
   */
  public CompletableFuture<String> enqueueAsync(String queue, Message message) {
    return enqueueAllAsync(queue, List.of(message)).thenApply(ids -> ids.get(0));
  }

  /**
   * Enqueues messages and blocks until they are stored: all of them, or none.
   *
   * @param queue the queue's name
   * @param messages the messages
   * @return their ids, in order
   */
  public List<String> enqueueAll(String queue, List<Message> messages) {
    return connection.await(enqueueAllAsync(queue, messages));
  }

  /**
   * Enqueues messages: all of them are stored, or none.
   *
   * @param queue the queue's name
   * @param messages the messages
   * @return their ids, in order
   */
  public CompletableFuture<List<String>> enqueueAllAsync(String queue, List<Message> messages) {
    EnqueueRequest.Builder request = EnqueueRequest.newBuilder().setQueue(queue);
    messages.forEach(message -> request.addMessages(message.toWire()));
    return connection
        .call(QueuesGrpc.getEnqueueMethod(), request.build())
        .thenApply(response -> List.copyOf(response.getIdsList()));
  }

  /**
   * Leases the messages that can be delivered now, or waits for the first one. They stay leased
   * until they are settled or their leases end. A {@link #consume consumer} is much faster for many
   * messages.
   *
   * @param queue the queue's name
   * @param maxMessages 1 to 1,000
   * @param maxWait the longest time to wait for the first message, at most 30 seconds
   * @return the messages; empty if none came in time
   */
  public List<Delivery> receive(String queue, int maxMessages, Duration maxWait) {
    return connection.await(
        receiveAsync(queue, maxMessages, maxWait), connection.callTimeout().plus(maxWait.abs()));
  }

  /**
   * Leases messages like {@link #receive}, without blocking.
   *
   * @param queue the queue's name
   * @param maxMessages 1 to 1,000
   * @param maxWait the longest time to wait for the first message, at most 30 seconds
   * @return the messages; empty if none came in time
   */
  public CompletableFuture<List<Delivery>> receiveAsync(
      String queue, int maxMessages, Duration maxWait) {
    requirePositive("maxMessages", maxMessages);
    Settler settler = LeaseHandle.byCalls(connection, queue);
    return connection
        .call(
            QueuesGrpc.getReceiveMethod(),
            ReceiveRequest.newBuilder()
                .setQueue(queue)
                .setMaxMessages(maxMessages)
                .setWaitMs(maxWait.toMillis())
                .build(),
            connection.callTimeout().plus(maxWait.abs()))
        .thenApply(
            response ->
                response.getDeliveriesList().stream()
                    .map(delivery -> new Delivery(queue, delivery, settler))
                    .toList());
  }

  /**
   * Returns a handle that settles a message which this or another client received.
   *
   * @param queue the queue's name
   * @param id the message's id
   * @param leaseToken of {@link Delivery#leaseToken}; empty for the message's present lease
   * @return the handle
   */
  public LeaseHandle leaseHandle(String queue, String id, String leaseToken) {
    return new LeaseHandle(LeaseHandle.byCalls(connection, queue), id, leaseToken);
  }

  /**
   * Opens a producer, which sends many messages to one queue.
   *
   * @param queue the queue's name
   * @param config the bounds of its buffer
   * @return the producer; closing this client closes it
   */
  public Producer producer(String queue, ProducerConfig config) {
    Producer producer = new Producer(connection, queue, config);
    connection.opened(producer);
    producer.connect();
    return producer;
  }

  /**
   * Opens a consumer whose messages the caller takes with {@link MessageConsumer#poll}.
   *
   * @param queue the queue's name
   * @param prefetch the most unsettled messages; they are held in memory
   * @return the consumer; closing this client closes it
   */
  public MessageConsumer consume(String queue, int prefetch) {
    MessageConsumer consumer = new MessageConsumer(connection, queue, prefetch);
    connection.opened(consumer);
    consumer.connect();
    return consumer;
  }

  /**
   * Opens a consumer that passes every message of a queue to a handler.
   *
   * @param queue the queue's name
   * @param prefetch the most unsettled messages; they are held in memory
   * @param threads the number of threads that call the handler
   * @param handler processes and settles messages
   * @return the consumer; closing this client closes it
   */
  public MessageConsumer consume(
      String queue, int prefetch, int threads, MessageConsumer.Handler handler) {
    requirePositive("threads", threads);
    MessageConsumer consumer = consume(queue, prefetch);
    consumer.handle(handler, threads);
    return consumer;
  }

  /**
   * Sets the limit of a name, or of all names with a prefix: {@code tenant:*}.
   *
   * @param name the limit's name
   * @param limit a limit that refills evenly or denies everything
   * @throws IllegalArgumentException if the limit refills in whole periods or by hand
   */
  public void setLimit(String name, Limit limit) {
    connection.await(
        LimitsGrpc.getSetLimitMethod(),
        SetLimitRequest.newBuilder().setLimit(LimitProtoMapper.toWire(name, limit)).build());
  }

  /**
   * Removes a limit and its buckets.
   *
   * @param name the limit's name
   */
  public void removeLimit(String name) {
    connection.await(
        LimitsGrpc.getRemoveLimitMethod(), RemoveLimitRequest.newBuilder().setName(name).build());
  }

  /**
   * Returns all limits by name, each as a {@link Limit.Rate}.
   *
   * @return an immutable map
   */
  public SortedMap<String, Limit> limits() {
    return LimitProtoMapper.limits(
        connection.await(LimitsGrpc.getListLimitsMethod(), ListLimitsRequest.getDefaultInstance()));
  }

  /**
   * Takes one token of a limit if it is available now.
   *
   * @param name the limit's name
   * @return true if the token was taken
   */
  public boolean tryAcquire(String name) {
    return decide(Map.of(name, 1L)).isGranted();
  }

  /**
   * Takes the tokens of all limits, or none, and blocks until the server answers. Requests of many
   * threads share batches.
   *
   * @param costs tokens by limit name, at least 1 each; up to 64 names
   * @return the decision; after {@code UNAVAILABLE} the tokens may or may not have been taken
   */
  public Decision decide(Map<String, Long> costs) {
    return connection.await(decideAsync(costs));
  }

  /**
   * Takes the tokens of all limits, or none.
   *
   * @param costs tokens by limit name, at least 1 each; up to 64 names
   * @return the decision; after {@code UNAVAILABLE} the tokens may or may not have been taken
   */
  public CompletableFuture<Decision> decideAsync(Map<String, Long> costs) {
    return decisions.decide(costs, false);
  }

  /**
   * Returns the decision that {@link #decide} would make, without taking tokens.
   *
   * @param costs tokens by limit name, at least 1 each; up to 64 names
   * @return the decision
   */
  public Decision peek(Map<String, Long> costs) {
    return connection.await(peekAsync(costs));
  }

  /**
   * Returns the decision that {@link #decideAsync} would make, without taking tokens.
   *
   * @param costs tokens by limit name, at least 1 each; up to 64 names
   * @return the decision
   */
  public CompletableFuture<Decision> peekAsync(Map<String, Long> costs) {
    return decisions.decide(costs, true);
  }

  /**
   * Returns the administration of this client's server: config entries, throttles, API keys.
   *
   * @return a view over this client's connection
   */
  public AdminClient admin() {
    return new AdminClient(connection);
  }

  /**
   * Returns the governor of this client's server: token budgets of LLM models.
   *
   * @return a view over this client's connection
   */
  public GovernorClient governor() {
    return new GovernorClient(connection);
  }

  private static void requirePositive(String name, int value) {
    if (value <= 0) {
      throw new IllegalArgumentException("%s must be positive, but was %d".formatted(name, value));
    }
  }

  /**
   * Closes the producers and consumers of this client, then the connection. Futures of waiting
   * token requests fail with {@code CLOSED}; the server removes their abandoned tickets.
   */
  @Override
  public void close() {
    connection.close();
  }
}
