package dev.sluice.bench.server;

import io.nats.client.Connection;
import io.nats.client.ConsumeOptions;
import io.nats.client.JetStream;
import io.nats.client.Message;
import io.nats.client.MessageConsumer;
import io.nats.client.Nats;
import io.nats.client.Options;
import io.nats.client.api.AckPolicy;
import io.nats.client.api.ConsumerConfiguration;
import io.nats.client.api.RetentionPolicy;
import io.nats.client.api.StorageType;
import io.nats.client.api.StreamConfiguration;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A work queue in JetStream: file storage, asynchronous publishing, a pull consumer whose requests
 * overlap. Its acknowledgements are not confirmed, so that one counts as soon as it is sent.
 */
final class NatsWire implements Wire {
  private static final String CONSUMER = "workers";

  private final Connection connection;
  private final JetStream stream;
  private final String subject;
  private final MessageConsumer consumer;
  private final BlockingQueue<Message> delivered = new LinkedBlockingQueue<>();

  NatsWire(int port, String queue, int prefetch) throws Exception {
    connection = connect(port);
    stream = connection.jetStream();
    subject = queue;
    consumer =
        connection
            .getStreamContext(queue)
            .getConsumerContext(CONSUMER)
            .consume(
                ConsumeOptions.builder().batchSize(prefetch).thresholdPercent(50).build(),
                delivered::add);
  }

  static Connection connect(int port) throws Exception {
    return Nats.connect(
        Options.builder()
            .server("nats://127.0.0.1:" + port)
            .maxMessagesInOutgoingQueue(100_000)
            .build());
  }

  /** A queue of so many messages that are delivered and not acknowledged. */
  static void create(Connection connection, String queue, int unacknowledged) throws Exception {
    connection
        .jetStreamManagement()
        .addStream(
            StreamConfiguration.builder()
                .name(queue)
                .subjects(queue)
                .storageType(StorageType.File)
                .retentionPolicy(RetentionPolicy.WorkQueue)
                .build());
    connection
        .getStreamContext(queue)
        .createOrUpdateConsumer(
            ConsumerConfiguration.builder()
                .durable(CONSUMER)
                .ackPolicy(AckPolicy.Explicit)
                .ackWait(Duration.ofSeconds(60))
                .maxAckPending(unacknowledged)
                .build());
  }

  private record Received(Message message) implements Taken {
    @Override
    public byte[] payload() {
      return message.getData();
    }

    @Override
    public CompletableFuture<?> ack() {
      message.ack();
      return CompletableFuture.completedFuture(null);
    }
  }

  @Override
  public CompletableFuture<?> send(byte[] payload) {
    return stream.publishAsync(subject, payload);
  }

  @Override
  public List<Taken> take(int most, Duration timeout) throws InterruptedException {
    List<Taken> taken = new ArrayList<>();
    Message first = delivered.poll(timeout.toNanos(), TimeUnit.NANOSECONDS);
    if (first != null) {
      taken.add(new Received(first));
      List<Message> others = new ArrayList<>();
      delivered.drainTo(others, most - 1);
      others.forEach(each -> taken.add(new Received(each)));
    }
    return taken;
  }

  @Override
  public void close() {
    consumer.stop();
    try {
      connection.flush(Duration.ofSeconds(5));
      connection.close();
    } catch (TimeoutException late) {
      throw new IllegalStateException("the server does not answer", late);
    } catch (InterruptedException now) {
      Thread.currentThread().interrupt();
    }
  }
}
