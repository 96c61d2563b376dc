package dev.sluice.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.Limit;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A consumer that closes has spent throttle tokens for the messages that were delivered, no more.
 */
@Tag("any-jdk")
@Timeout(60)
final class ConsumerTokensTest {
  private static final int MESSAGES = 1_000;
  private static final Duration LONG = Duration.ofSeconds(20);

  @TempDir Path dir;
  private ConnectedServer at;

  @BeforeEach
  void start() throws Exception {
    at = new ConnectedServer(dir);
    at.client.createQueue("q", QueueConfig.defaults());
    at.client.admin().setThrottle("t", new Limit.Rate(0, MESSAGES));
    at.client
        .enqueueAllAsync(
            "q", Collections.nCopies(MESSAGES, Message.of("m").withThrottleKey("t", 1)))
        .join();
  }

  @AfterEach
  void stop() {
    at.close();
  }

  private double tokens() {
    return at.client.admin().throttles().get(0).tokens();
  }

  @Test
  void close_returnsTokensOfUnpolledMessages() {
    MessageConsumer subscription = at.client.consume("q", 100);
    List<Delivery> polled = subscription.poll(1, LONG);
    await().atMost(LONG).until(() -> tokens() == MESSAGES - 100);
    assertThat(polled).hasSize(1);
    subscription.close();
    assertThat(tokens()).isEqualTo(MESSAGES - 1);
    assertThat(at.client.queue("q").inFlight()).isZero();
  }

  /**
   * Each settled message makes room for another, which is on its way when the stream is drained.
   */
  @Test
  void close_whileHandlersRun_returnsTokensOfAllOtherMessages() {
    AtomicInteger handled = new AtomicInteger();
    for (int i = 1; i <= 10; i++) {
      int enough = i * MESSAGES / 20;
      try (MessageConsumer subscription =
          at.client.consume(
              "q",
              50,
              4,
              message -> {
                handled.incrementAndGet();
                var unused = message.ack();
              })) {
        await().pollDelay(Duration.ZERO).atMost(LONG).until(() -> handled.get() >= enough);
        assertThat(subscription.ended()).isNotDone();
      }
      assertThat(tokens()).isEqualTo(MESSAGES - handled.get());
      assertThat(at.client.queue("q").depth()).isEqualTo(MESSAGES - handled.get());
    }
  }

  @Test
  void close_twiceAndWhileAnotherThreadSettles_endsOnce() {
    MessageConsumer subscription = at.client.consume("q", 100);
    List<Delivery> polled = subscription.poll(10, LONG);
    CompletableFuture<Void> other = CompletableFuture.runAsync(subscription::close);
    polled.forEach(
        message -> {
          var unused = message.ack();
        });
    subscription.close();
    assertThat(other).succeedsWithin(LONG);
    assertThat(subscription.ended()).succeedsWithin(LONG);
    assertThat(tokens()).isEqualTo(MESSAGES - polled.size());
  }
}
