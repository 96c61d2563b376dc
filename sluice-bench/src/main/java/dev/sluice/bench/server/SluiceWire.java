package dev.sluice.bench.server;

import dev.sluice.client.Delivery;
import dev.sluice.client.Message;
import dev.sluice.client.MessageConsumer;
import dev.sluice.client.Producer;
import dev.sluice.client.ProducerConfig;
import dev.sluice.client.SluiceClient;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Sluice's own client, used as applications use it. */
final class SluiceWire implements Wire {
  private final SluiceClient client;
  private final Producer producer;
  private final MessageConsumer subscription;

  SluiceWire(int port, String queue, int prefetch) {
    client = SluiceClient.connect("127.0.0.1", port);
    producer = client.producer(queue, ProducerConfig.defaults());
    subscription = client.consume(queue, prefetch);
  }

  private record Received(Delivery message) implements Taken {
    @Override
    public byte[] payload() {
      return message.payload();
    }

    @Override
    public CompletableFuture<?> ack() {
      return message.ack();
    }
  }

  @Override
  public CompletableFuture<?> send(byte[] payload) {
    return producer.send(Message.of(payload));
  }

  @Override
  public List<Taken> take(int most, Duration timeout) {
    return subscription.poll(most, timeout).stream().<Taken>map(Received::new).toList();
  }

  @Override
  public void close() {
    producer.close();
    subscription.close();
    client.close();
  }
}
