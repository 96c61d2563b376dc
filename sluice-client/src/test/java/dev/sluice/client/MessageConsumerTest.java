package dev.sluice.client;

import static dev.sluice.client.Failures.assertFails;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.sluice.client.SluiceClientException.Code;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Tag("any-jdk")
@Timeout(60)
final class MessageConsumerTest {
  private static final Duration LONG = Duration.ofSeconds(20);

  @TempDir Path dir;
  private ConnectedServer at;

  @BeforeEach
  void start() throws Exception {
    at = new ConnectedServer(dir);
    at.client.createQueue(
        "q", QueueConfig.builder().maxAttempts(3).retryDelay(Duration.ofMillis(10)).build());
  }

  @AfterEach
  void stop() {
    at.close();
  }

  private void enqueue(int count) {
    at.client
        .enqueueAllAsync("q", IntStream.range(0, count).mapToObj(i -> Message.of("m" + i)).toList())
        .join();
  }

  private static Delivery next(MessageConsumer subscription) {
    List<Delivery> one = subscription.poll(1, LONG);
    assertThat(one).hasSize(1);
    return one.get(0);
  }

  @Test
  void poll_returnsTheMessageAsSent() {
    String id =
        at.client.enqueue(
            "q", Message.of("hello").withFairnessKey("tenant").withWeight(3).withHeader("h", "v"));
    try (MessageConsumer subscription = at.client.consume("q", 256)) {
      Delivery message = next(subscription);
      assertThat(message.id()).isEqualTo(id);
      assertThat(message.text()).isEqualTo("hello");
      assertThat(message.payload()).isEqualTo("hello".getBytes(StandardCharsets.UTF_8));
      assertThat(message.fairnessKey()).isEqualTo("tenant");
      assertThat(message.weight()).isEqualTo(3);
      assertThat(message.headers()).containsEntry("h", "v");
      assertThat(message.attempts()).isZero();
      assertThat(message.deadLetter()).isEmpty();
      assertThat(message.leaseEndsAt()).isAfter(message.enqueuedAt());
      assertThat(message.ack()).succeedsWithin(LONG);
      assertFails(Code.NOT_FOUND, message.ack()).contains(id);
      assertThat(at.client.queue("q").depth()).isZero();
    }
  }

  @Test
  void poll_emptyQueue_returnsEmptyInTime() {
    try (MessageConsumer subscription = at.client.consume("q", 256)) {
      assertThat(subscription.poll(10, Duration.ofMillis(20))).isEmpty();
    }
  }

  @Test
  void nack_isRedeliveredAndThenDeadLettered() {
    at.client.enqueue("q", Message.of("x"));
    try (MessageConsumer subscription = at.client.consume("q", 256);
        MessageConsumer dead = at.client.consume("q.dlq", 256)) {
      for (int attempt = 0; attempt < 3; attempt++) {
        Delivery message = next(subscription);
        assertThat(message.attempts()).isEqualTo(attempt);
        assertThat(message.nack("broken")).succeedsWithin(LONG);
      }
      DeadLetter cause = next(dead).deadLetter().orElseThrow();
      assertThat(cause.queue()).isEqualTo("q");
      assertThat(cause.reason()).isEqualTo("MAX_ATTEMPTS");
      assertThat(cause.error()).isEqualTo("broken");
    }
  }

  @Test
  void release_isRedeliveredWithoutAnAttempt() {
    at.client.enqueue("q", Message.of("x"));
    try (MessageConsumer subscription = at.client.consume("q", 256)) {
      assertThat(next(subscription).release()).succeedsWithin(LONG);
      assertThat(next(subscription).attempts()).isZero();
    }
  }

  @Test
  void extend_badTime_isRefusedAndTheLeaseStays() {
    at.client.enqueue("q", Message.of("x"));
    try (MessageConsumer subscription = at.client.consume("q", 256)) {
      Delivery message = next(subscription);
      assertThat(message.extend(Duration.ofMinutes(1))).succeedsWithin(LONG);
      assertFails(Code.INVALID_ARGUMENT, message.extend(Duration.ofMillis(-5))).contains("-");
      assertThat(message.ack()).succeedsWithin(LONG);
    }
  }

  @Test
  void settle_many_areAllAnswered() {
    enqueue(5_000);
    List<CompletableFuture<Void>> answers = new ArrayList<>();
    try (MessageConsumer subscription = at.client.consume("q", 300)) {
      while (answers.size() < 5_000) {
        for (Delivery message : subscription.poll(100, LONG)) {
          answers.add(message.ack());
        }
      }
      for (CompletableFuture<Void> answer : answers) {
        assertThat(answer).succeedsWithin(LONG);
      }
    }
    assertThat(at.client.queue("q").depth()).isZero();
  }

  @Test
  void handler_throws_messageIsNacked() throws Exception {
    at.client.enqueue("q", Message.of("x"));
    CountDownLatch acked = new CountDownLatch(1);
    try (MessageConsumer subscription =
        at.client.consume(
            "q",
            10,
            1,
            message -> {
              if (message.attempts() == 0) {
                throw new IllegalStateException("first time");
              }
              var unused = message.ack().thenRun(acked::countDown);
            })) {
      assertThat(acked.await(20, TimeUnit.SECONDS)).isTrue();
      assertThat(subscription.ended()).isNotDone();
    }
  }

  @Test
  void handler_slow_holdsAtMostItsPrefetch_andOthersGetTheRest() throws Exception {
    enqueue(100);
    CountDownLatch goOn = new CountDownLatch(1);
    AtomicInteger slow = new AtomicInteger();
    MessageConsumer held =
        at.client.consume(
            "q",
            3,
            1,
            message -> {
              slow.incrementAndGet();
              goOn.await();
              var unused = message.ack();
            });
    await().untilAsserted(() -> assertThat(at.client.queue("q").inFlight()).isEqualTo(3));
    try (MessageConsumer quick = at.client.consume("q", 50)) {
      int got = 0;
      while (got < 97) {
        for (Delivery message : quick.poll(50, LONG)) {
          assertThat(message.ack()).succeedsWithin(LONG);
          got++;
        }
      }
      assertThat(at.client.queue("q").depth()).isEqualTo(3);
      assertThat(slow).hasValue(1);
    }
    goOn.countDown();
    await().untilAsserted(() -> assertThat(at.client.queue("q").depth()).isZero());
    held.close();
  }

  @Test
  void close_releasesUnsettledDeliveriesAndKeepsSettledOnes() {
    enqueue(10);
    MessageConsumer subscription = at.client.consume("q", 10);
    CompletableFuture<Void> acked = next(subscription).ack();
    Delivery unsettled = next(subscription);
    subscription.close();
    assertThat(acked).isCompleted();
    assertThat(at.client.queue("q").inFlight()).isZero();
    assertThat(at.client.queue("q").depth()).isEqualTo(9);
    assertFails(Code.CLOSED, unsettled.ack());
    assertFails(Code.CLOSED, () -> subscription.poll(1, LONG));
    assertThat(subscription.ended()).isCompleted();
    subscription.close();
    try (MessageConsumer other = at.client.consume("q", 256)) {
      assertThat(next(other).text()).isEqualTo("m1");
    }
  }

  @Test
  void close_byItsHandler_ends() {
    at.client.enqueue("q", Message.of("x"));
    CompletableFuture<MessageConsumer> self = new CompletableFuture<>();
    MessageConsumer subscription =
        at.client.consume(
            "q",
            1,
            1,
            message -> {
              var unused = message.ack();
              self.join().close();
            });
    self.complete(subscription);
    assertThat(subscription.ended()).succeedsWithin(LONG);
    assertThat(at.client.queue("q").depth()).isZero();
  }

  @Test
  void subscribe_unknownQueue_failsPermanently() {
    try (MessageConsumer subscription = at.client.consume("missing", 256)) {
      assertFails(Code.NOT_FOUND, () -> subscription.poll(1, LONG)).contains("missing");
      assertFails(Code.NOT_FOUND, subscription.ended());
    }
  }

  @Test
  void subscribe_queueIsDeleted_failsPermanently() {
    enqueue(1);
    try (MessageConsumer subscription = at.client.consume("q", 256)) {
      Delivery message = next(subscription);
      at.client.deleteQueue("q");
      assertFails(Code.NOT_FOUND, subscription.ended());
      assertFails(Code.NOT_FOUND, message.ack());
    }
  }

  @Test
  void subscribe_badNumbers_areRefused() {
    assertThatThrownBy(() -> at.client.consume("q", 0))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("prefetch must be positive, but was 0");
    assertThatThrownBy(() -> at.client.consume("q", 1, 0, message -> {}))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("threads must be positive, but was 0");
    try (MessageConsumer subscription = at.client.consume("q", 1_000_000)) {
      assertFails(Code.INVALID_ARGUMENT, () -> subscription.poll(1, LONG)).contains("prefetch");
    }
    try (MessageConsumer subscription = at.client.consume("q", 256)) {
      assertThatThrownBy(() -> subscription.poll(0, LONG))
          .isInstanceOf(IllegalArgumentException.class);
    }
  }

  @Test
  void poll_connectionCutAgainAndAgain_everythingIsDelivered() throws Exception {
    int count = 2_000;
    enqueue(count);
    Set<String> seen = ConcurrentHashMap.newKeySet();
    try (Wire wire = new Wire(at.server.grpcPort());
        SluiceClient client = SluiceClient.connect("127.0.0.1", wire.port());
        MessageConsumer subscription =
            client.consume(
                "q",
                100,
                4,
                message -> {
                  seen.add(message.text());
                  var unused = message.ack();
                })) {
      for (int cut = 1; cut <= 4; cut++) {
        int enough = count / 5 * cut;
        await().until(() -> seen.size() >= enough);
        wire.cut();
      }
      await().atMost(LONG).until(() -> at.client.queue("q").depth() == 0);
      assertThat(seen).hasSize(count);
      assertThat(subscription.ended()).isNotDone();
    }
  }

  @Test
  void poll_beforeTheServerStarts_receivesOnceItIsUp() throws Exception {
    enqueue(1);
    try (Wire wire = new Wire(at.server.grpcPort());
        SluiceClient client = SluiceClient.connect("127.0.0.1", wire.port())) {
      wire.takeDown();
      MessageConsumer subscription = client.consume("q", 256);
      assertThat(subscription.poll(1, Duration.ofMillis(100))).isEmpty();
      wire.mend();
      assertThat(next(subscription).ack()).succeedsWithin(LONG);
    }
  }
}
