package dev.sluice.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.Limit;
import dev.sluice.server.TestServer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
final class RestartTest {
  private static final int SENDERS = 4;
  private static final int MORE = 200;

  @TempDir Path dir;

  /** By payload: those of which the server has said that they are stored. */
  private final Map<String, String> confirmed = new ConcurrentHashMap<>();

  private final Set<String> delivered = ConcurrentHashMap.newKeySet();
  private volatile boolean enough;

  @Test
  void serverRestart_losesNoConfirmedMessage() throws Exception {
    TestServer first = TestServer.start(dir, 0);
    int port = first.grpcPort();
    TestServer second = null;
    try (SluiceClient client = SluiceClient.connect("127.0.0.1", port)) {
      client.createQueue("q", QueueConfig.builder().leaseTimeout(Duration.ofSeconds(2)).build());
      client.setLimit("k", new Limit.Rate(1, 1_000));
      assertThat(client.tryAcquire("k")).isTrue();
      client.consume("q", 50, 2, this::take);
      List<Thread> senders = startSenders(client.producer("q", ProducerConfig.defaults()));
      await().until(() -> confirmed.size() >= MORE && delivered.size() >= MORE);
      first.close();
      int before = confirmed.size();
      second = TestServer.start(dir, port);
      await().atMost(Duration.ofSeconds(20)).until(() -> confirmed.size() >= before + MORE);
      enough = true;
      for (Thread sender : senders) {
        sender.join();
      }
      await().atMost(Duration.ofSeconds(20)).until(() -> client.queue("q").depth() == 0);
      assertThat(delivered).containsAll(confirmed.keySet());
      // The limit is still there, and begins empty.
      await().until(() -> client.tryAcquire("k"));
    } finally {
      if (second != null) {
        second.close();
      }
    }
  }

  private void take(Delivery message) {
    delivered.add(message.text());
    var unused = message.ack();
  }

  /** Each waits for its answer, so that one of each is under way at nearly any moment. */
  private List<Thread> startSenders(Producer producer) {
    List<Thread> senders = new ArrayList<>();
    for (int sender = 0; sender < SENDERS; sender++) {
      String name = "s" + sender + ":";
      Thread thread =
          new Thread(
              () -> {
                for (int i = 0; !enough; i++) {
                  String text = name + i;
                  confirmed.put(text, producer.send(Message.of(text)).join());
                }
              });
      senders.add(thread);
      thread.start();
    }
    return senders;
  }
}
