package dev.sluice.client;

import static dev.sluice.client.Failures.assertFails;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.client.SluiceClientException.Code;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Tag("any-jdk")
@Timeout(60)
final class ProducerTest {
  @TempDir Path dir;
  private ConnectedServer at;

  @BeforeEach
  void start() throws Exception {
    at = new ConnectedServer(dir);
    at.client.createQueue("q", QueueConfig.builder().dedupeWindow(Duration.ofMinutes(10)).build());
  }

  @AfterEach
  void stop() {
    at.close();
  }

  @Test
  void send_manyThreads_allAreStoredInTheOrderOfEachThread() throws Exception {
    int threads = 8;
    int each = 500;
    List<CompletableFuture<String>> answers = new ArrayList<>();
    try (Producer producer = at.client.producer("q", ProducerConfig.defaults())) {
      List<Thread> senders =
          IntStream.range(0, threads)
              .mapToObj(
                  thread ->
                      new Thread(
                          () -> {
                            for (int i = 0; i < each; i++) {
                              var answer = producer.send(Message.of(thread + ":" + i));
                              synchronized (answers) {
                                answers.add(answer);
                              }
                            }
                          }))
              .toList();
      senders.forEach(Thread::start);
      for (Thread sender : senders) {
        sender.join();
      }
    }
    Set<String> ids = new HashSet<>();
    for (CompletableFuture<String> answer : answers) {
      assertThat(answer).isCompleted();
      ids.add(answer.join());
    }
    assertThat(ids).hasSize(threads * each);
    assertThat(at.client.queue("q").depth()).isEqualTo(ids.size());
    Map<String, Integer> next = new HashMap<>();
    for (Delivery message : takeAll(threads * each)) {
      String text = message.text();
      int colon = text.indexOf(':');
      assertThat(Integer.parseInt(text.substring(colon + 1)))
          .isEqualTo(next.merge(text.substring(0, colon), 1, Integer::sum) - 1);
    }
  }

  private List<Delivery> takeAll(int count) {
    List<Delivery> all = new ArrayList<>();
    try (MessageConsumer subscription = at.client.consume("q", count)) {
      while (all.size() < count) {
        List<Delivery> some = subscription.poll(1_000, Duration.ofSeconds(20));
        assertThat(some).as("after %d", all.size()).isNotEmpty();
        all.addAll(some);
      }
    }
    return all;
  }

  @Test
  void send_invalidMessageInABatch_failsAlone() throws Exception {
    List<CompletableFuture<String>> good = new ArrayList<>();
    List<CompletableFuture<String>> bad = new ArrayList<>();
    try (Producer producer = at.client.producer("q", ProducerConfig.defaults())) {
      for (int i = 0; i < 2_000; i++) {
        Message message = Message.of("m" + i);
        if (i % 500 == 250) {
          bad.add(producer.send(message.withDelay(Duration.ofMillis(-1))));
        } else {
          good.add(producer.send(message));
        }
      }
    }
    assertThat(good).allSatisfy(answer -> assertThat(answer).isCompleted());
    bad.forEach(answer -> assertFails(Code.INVALID_ARGUMENT, answer).contains("delay"));
    assertThat(at.client.queue("q").depth()).isEqualTo(1_996);
  }

  @Test
  void send_tooLarge_isRefusedAndNamesTheLimit() {
    try (Producer producer = at.client.producer("q", ProducerConfig.defaults())) {
      assertFails(Code.INVALID_ARGUMENT, producer.send(Message.of(new byte[16 << 20])))
          .contains("at most 16777216 bytes");
      assertThat(producer.send(Message.of(new byte[16_000_000])))
          .succeedsWithin(Duration.ofSeconds(20));
    }
  }

  @Test
  void send_largerThanTheServerAccepts_failsAndTheNextIsSent() {
    try (SluiceClient client =
            SluiceClient.builder("127.0.0.1", at.server.grpcPort())
                .maxMessageBytes(64 << 20)
                .build();
        Producer producer = client.producer("q", ProducerConfig.defaults())) {
      assertFails(Code.RESOURCE_EXHAUSTED, producer.send(Message.of(new byte[32 << 20])));
      assertThat(producer.send(Message.of("small"))).succeedsWithin(Duration.ofSeconds(20));
    }
  }

  @Test
  void send_unknownQueue_fails() {
    try (Producer producer = at.client.producer("missing", ProducerConfig.defaults())) {
      assertFails(Code.NOT_FOUND, producer.send(Message.of("x"))).contains("missing");
    }
  }

  @Test
  void send_queueFull_failsForMessagesBeyondTheDepth() {
    at.client.createQueue("small", QueueConfig.builder().maxDepth(10).build());
    List<CompletableFuture<String>> answers = new ArrayList<>();
    try (Producer producer = at.client.producer("small", ProducerConfig.defaults())) {
      for (int i = 0; i < 100; i++) {
        answers.add(producer.send(Message.of("x")));
      }
    }
    assertThat(answers.stream().filter(each -> !each.isCompletedExceptionally())).hasSize(10);
    assertThat(at.client.queue("small").depth()).isEqualTo(10);
  }

  @Test
  void send_whileTheServerIsDown_holdsAtMostItsBound() throws Exception {
    try (Wire wire = new Wire(at.server.grpcPort());
        SluiceClient client = SluiceClient.connect("127.0.0.1", wire.port())) {
      wire.takeDown();
      Producer producer = client.producer("q", new ProducerConfig(2, 1_000));
      List<CompletableFuture<String>> held = new ArrayList<>();
      held.add(producer.trySend(Message.of("1")));
      held.add(producer.trySend(Message.of("2")));
      assertFails(Code.RESOURCE_EXHAUSTED, producer.trySend(Message.of("3")))
          .contains("at most 2 messages");
      CompletableFuture<String> blocked = new CompletableFuture<>();
      Thread sender = new Thread(() -> blocked.complete(producer.send(Message.of("4")).join()));
      sender.start();
      await().until(() -> sender.getState() == Thread.State.WAITING);
      assertThat(held).noneMatch(CompletableFuture::isDone);
      wire.mend();
      for (CompletableFuture<String> each : held) {
        assertThat(each).succeedsWithin(Duration.ofSeconds(20));
      }
      assertThat(blocked).succeedsWithin(Duration.ofSeconds(20));
      assertThat(at.client.queue("q").depth()).isEqualTo(3);
    }
  }

  @Test
  void trySend_beyondTheBytesBound_isRefusedExceptTheFirst() throws Exception {
    try (Wire wire = new Wire(at.server.grpcPort());
        SluiceClient client = brief(wire.port())) {
      wire.takeDown();
      Producer producer = client.producer("q", new ProducerConfig(100, 1_000));
      var held = producer.trySend(Message.of(new byte[5_000]));
      assertThat(held).isNotDone();
      assertFails(Code.RESOURCE_EXHAUSTED, producer.trySend(Message.of("more")));
    }
  }

  private static SluiceClient brief(int port) {
    return SluiceClient.builder("127.0.0.1", port).callTimeout(Duration.ofMillis(300)).build();
  }

  @Test
  void send_interrupted_throws() throws Exception {
    try (Wire wire = new Wire(at.server.grpcPort());
        SluiceClient client = brief(wire.port())) {
      wire.takeDown();
      Producer producer = client.producer("q", new ProducerConfig(1, 1_000));
      var held = producer.send(Message.of("1"));
      Thread.currentThread().interrupt();
      assertFails(Code.INTERRUPTED, () -> producer.send(Message.of("2")));
      assertThat(Thread.interrupted()).isTrue();
      assertThat(held).isNotDone();
    }
  }

  @Test
  void close_serverUnreachable_failsUnansweredCalls() throws Exception {
    try (Wire wire = new Wire(at.server.grpcPort());
        SluiceClient client = brief(wire.port())) {
      wire.takeDown();
      Producer producer = client.producer("q", ProducerConfig.defaults());
      var held = producer.send(Message.of("1"));
      producer.close();
      producer.close();
      assertFails(Code.CLOSED, held);
      assertFails(Code.CLOSED, producer.send(Message.of("2")));
    }
  }

  @Test
  void send_connectionCutAgainAndAgain_storesEachOnceByItsDedupeId() throws Exception {
    int count = 3_000;
    Map<String, CompletableFuture<String>> answers = new HashMap<>();
    try (Wire wire = new Wire(at.server.grpcPort());
        SluiceClient client = SluiceClient.connect("127.0.0.1", wire.port());
        Producer producer = client.producer("q", new ProducerConfig(200, 1 << 20))) {
      for (int i = 0; i < count; i++) {
        String name = "m" + i;
        answers.put(name, producer.send(Message.of(name).withDedupeId(name)));
        if (i % 500 == 499) {
          wire.cut();
        }
      }
      for (CompletableFuture<String> each : answers.values()) {
        each.get(20, TimeUnit.SECONDS);
      }
    }
    assertThat(at.client.queue("q").depth()).isEqualTo(count);
    for (Delivery message : takeAll(count)) {
      assertThat(answers.remove(message.text()).join()).isEqualTo(message.id());
    }
    assertThat(answers).isEmpty();
  }
}
