package dev.sluice.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.server.ServerMain;
import dev.sluice.server.TestServer;
import dev.sluice.testkit.ServerProcess;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A server that is told to end at full speed keeps what it has said. */
@Tag("any-jdk")
@Timeout(180)
final class SigtermTest {
  private static final int SENDERS = 4;
  private static final int ENOUGH = 500;

  /**
   * The server lets calls end for ten seconds at the most; a busy machine needs more to get there.
   */
  @TempDir private Path dir;

  private final Set<String> confirmed = ConcurrentHashMap.newKeySet();
  private final Set<String> acked = ConcurrentHashMap.newKeySet();

  /** Delivered, and the answer to their ack never came. */
  private final Set<String> unsure = ConcurrentHashMap.newKeySet();

  private volatile boolean over;

  @Test
  void sigterm_underLoad_losesNoMessageAndRedeliversNoAckedOne() throws Exception {
    List<Thread> senders;
    try (ServerProcess server = ServerMain.start(dir);
        SluiceClient client =
            SluiceClient.builder("127.0.0.1", server.grpcPort())
                .callTimeout(Duration.ofSeconds(20))
                .build()) {
      client.createQueue("q", QueueConfig.builder().leaseTimeout(Duration.ofSeconds(5)).build());
      client.consume("q", 20, 2, this::take);
      senders = send(client.producer("q", ProducerConfig.defaults()));
      await()
          .atMost(Duration.ofMinutes(1))
          .until(() -> acked.size() >= ENOUGH && confirmed.size() > acked.size());
      server.process().destroy();
      assertThat(server.exitCode()).isIn(0, 128 + 15);
      over = true;
    }
    for (Thread sender : senders) {
      sender.join();
    }
    Set<String> left = new HashSet<>();
    try (TestServer server = TestServer.start(dir.resolve("data"));
        SluiceClient client = SluiceClient.connect("127.0.0.1", server.grpcPort())) {
      client.consume(
          "q",
          1_000,
          1,
          message -> {
            left.add(message.text());
            message.ack().join();
          });
      await().atMost(Duration.ofMinutes(1)).until(() -> client.queue("q").depth() == 0);
    }
    Set<String> missing = new HashSet<>(confirmed);
    missing.removeAll(acked);
    missing.removeAll(left);
    missing.removeAll(unsure);
    assertThat(missing).isEmpty();
    Set<String> back = new HashSet<>(left);
    back.retainAll(acked);
    assertThat(back).isEmpty();
  }

  private void take(Delivery message) {
    String text = message.text();
    try {
      message.ack().join();
      acked.add(text);
    } catch (RuntimeException unanswered) {
      unsure.add(text);
    }
  }

  private List<Thread> send(Producer producer) {
    List<Thread> senders = new ArrayList<>();
    for (int sender = 0; sender < SENDERS; sender++) {
      String name = "s" + sender + ":";
      Thread thread = new Thread(() -> sendUntilOver(producer, name));
      senders.add(thread);
      thread.start();
    }
    return senders;
  }

  private void sendUntilOver(Producer producer, String name) {
    for (int i = 0; !over; i++) {
      String text = name + i;
      try {
        producer.send(Message.of(text)).thenRun(() -> confirmed.add(text)).join();
      } catch (RuntimeException ended) {
        return;
      }
    }
  }
}
