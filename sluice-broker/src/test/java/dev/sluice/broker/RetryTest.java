package dev.sluice.broker;

import static dev.sluice.broker.EngineFixture.SECOND;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.sluice.broker.internal.engine.ConsumerState;
import dev.sluice.broker.internal.engine.FailureHandler;
import dev.sluice.broker.internal.engine.PendingDelivery;
import dev.sluice.broker.internal.engine.RetryBackoff;
import dev.sluice.broker.internal.engine.Schema;
import dev.sluice.broker.internal.store.ByteWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** Retries and dead letters of messages that fail, on a manual clock. */
final class RetryTest {
  private static final FailureHandler.Nack NO = new FailureHandler.Nack("no", null);
  private static final String SCRIPT = "function on_failure(msg) end";

  private final SteppedBroker broker = new SteppedBroker();

  /** Fails the poison message each time until nothing comes any more; acks all others. */
  private List<Long> delaysUntilItStops(UUID poison, int most) {
    List<Long> delays = new ArrayList<>();
    long failedAt = -1;
    boolean more = true;
    while (more && delays.size() < most) {
      for (PendingDelivery handover : broker.taken()) {
        if (!handover.entry().id().equals(poison)) {
          assertThat(broker.now).as("good ones do not wait").isEqualTo(1_000 * SECOND);
          broker.ack(handover);
          continue;
        }
        if (failedAt >= 0) {
          delays.add(broker.now - failedAt);
        }
        failedAt = broker.now;
        broker.nack(handover, NO);
      }
      more = broker.toNextTimer();
    }
    return delays;
  }

  @Test
  void poisonMessage_isDeliveredMaxAttemptsTimes_withGrowingDelays_thenDeadLettered() {
    broker.create("q", QueueConfig.defaults());
    UUID poison = broker.enqueue("q", 21).get(10);
    broker.consume("q", 100);
    List<Long> delays = delaysUntilItStops(poison, 1_000);
    assertThat(delays).hasSize(QueueConfig.DEFAULT_MAX_ATTEMPTS - 1).isSorted();
    for (int i = 0; i < delays.size(); i++) {
      long bound = SECOND << i;
      assertThat(delays.get(i)).as("delay %d", i).isBetween(bound / 2, bound);
    }
    assertThat(broker.line("q").stats(List.of(), 0).totals().delivered()).isEqualTo(30);
    assertThat(broker.line("q").depth).isZero();
    broker.consume("q.dlq", 1);
    List<PendingDelivery> dead = broker.taken();
    assertThat(dead).hasSize(1);
    assertThat(dead.get(0).attempts()).isEqualTo(QueueConfig.DEFAULT_MAX_ATTEMPTS);
  }

  @Test
  void sameInputs_giveTheSameDelays_andMessagesThatFailTogetherAreRedeliveredApart() {
    Set<Long> delays = new HashSet<>();
    for (long sequence = 0; sequence < 1_000; sequence++) {
      long delay = RetryBackoff.delayNanos(QueueConfig.defaults(), sequence, 1);
      assertThat(RetryBackoff.delayNanos(QueueConfig.defaults(), sequence, 1)).isEqualTo(delay);
      delays.add(delay / 1_000_000);
    }
    // Of the 500 milliseconds between half a second and a second, most are used.
    assertThat(delays).hasSizeGreaterThan(400);
  }

  @Test
  void delay_isWithinBounds_andNeverShorterThanTheOneBefore_forAnyConfiguration() {
    long[] millis = {0, 1, 2, 3, 999, 60_000, 604_800_000};
    for (long first : millis) {
      for (long longest : Arrays.stream(millis).filter(each -> each >= first).toArray()) {
        QueueConfig config =
            QueueConfig.builder()
                .retryDelay(Duration.ofMillis(first))
                .maxRetryDelay(Duration.ofMillis(longest))
                .build();
        for (long sequence : new long[] {0, 1, 77, 1L << 41, Long.MAX_VALUE}) {
          requireGrowth(config, sequence);
        }
      }
    }
  }

  private static void requireGrowth(QueueConfig config, long sequence) {
    double bound = config.retryDelay().toNanos();
    double most = config.maxRetryDelay().toNanos();
    long before = 0;
    for (int attempts = 1; attempts < 100; attempts++) {
      long delay = RetryBackoff.delayNanos(config, sequence, attempts);
      assertThat((double) delay).isBetween(Math.floor(bound / 2), bound);
      if (bound < most) {
        assertThat(delay).isGreaterThanOrEqualTo(before);
      }
      before = delay;
      bound = Math.min(2 * bound, most);
    }
    assertThat(RetryBackoff.delayNanos(config, sequence, Integer.MAX_VALUE))
        .isLessThanOrEqualTo(config.maxRetryDelay().toNanos());
  }

  @Test
  void maxAttemptsZero_isNoLimit() {
    broker.create("q", QueueConfig.builder().maxAttempts(0).build());
    UUID id = broker.enqueue("q", 1).get(0);
    broker.consume("q", 1);
    List<Long> delays = delaysUntilItStops(id, 50);
    assertThat(delays).hasSize(50);
    assertThat(delays.get(49)).isBetween(150 * SECOND, 300 * SECOND);
    assertThat(broker.line("q.dlq").depth).isZero();
  }

  @Test
  void releasesAndDisconnects_areNoAttempts_andNotDelayed() {
    broker.create("q", QueueConfig.builder().maxAttempts(2).build());
    broker.enqueue("q", 1);
    for (int i = 0; i < 20; i++) {
      ConsumerState subscriber = broker.consume("q", 1);
      PendingDelivery first = broker.taken().get(0);
      assertThat(first.attempts()).isZero();
      broker.release(first);
      assertThat(broker.taken()).hasSize(1);
      broker.close(subscriber);
    }
    assertThat(broker.line("q").failed).isZero();
    assertThat(broker.line("q").depth).isEqualTo(1);
  }

  @Test
  void expiredLease_isAnAttempt_andDelayed() {
    broker.create("q", QueueConfig.builder().maxAttempts(2).build());
    broker.enqueue("q", 1);
    broker.consume("q", 1);
    assertThat(broker.taken()).hasSize(1);
    assertThat(broker.toNextTimer()).isTrue();
    assertThat(broker.taken()).isEmpty();
    assertThat(broker.line("q").delayed).isEqualTo(1);
    assertThat(broker.toNextTimer()).isTrue();
    assertThat(broker.taken()).extracting(PendingDelivery::attempts).containsExactly(1);
    assertThat(broker.toNextTimer()).isTrue();
    assertThat(broker.line("q.dlq").depth).isEqualTo(1);
  }

  @Test
  void delayOfANack_overridesThatOfTheQueue_alsoWithAScript() {
    broker.create("q", QueueConfig.defaults());
    broker.create("scripted", QueueConfig.builder().onFailure(SCRIPT).build());
    for (String queue : List.of("q", "scripted")) {
      broker.enqueue(queue, 1);
      broker.consume(queue, 1);
      for (long seconds : new long[] {40, 0, 3}) {
        PendingDelivery handover = broker.taken().get(0);
        broker.nack(handover, new FailureHandler.Nack("no", Duration.ofSeconds(seconds)));
        long from = broker.now;
        if (seconds > 0) {
          assertThat(broker.taken()).isEmpty();
          broker.toNextTimer();
        }
        assertThat(broker.now - from).isEqualTo(seconds * SECOND);
      }
      broker.ack(broker.taken().get(0));
    }
  }

  @Test
  void delayOfANack_doesNotPreventADeadLetter() {
    broker.create("q", QueueConfig.builder().maxAttempts(1).build());
    broker.enqueue("q", 1);
    broker.consume("q", 1);
    broker.nack(broker.taken().get(0), new FailureHandler.Nack("no", Duration.ofHours(1)));
    assertThat(broker.line("q.dlq").depth).isEqualTo(1);
  }

  @Test
  void nackOutOfRange_isRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> FailureHandler.Nack.of("no", Duration.ofDays(8)))
        .withMessage("delay must be from PT0S to PT168H, but was PT192H");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> FailureHandler.Nack.of("no", Duration.ofMillis(-1)));
    assertThatIllegalArgumentException()
        .isThrownBy(
            () ->
                QueueConfig.builder()
                    .retryDelay(Duration.ofSeconds(2))
                    .maxRetryDelay(Duration.ofSeconds(1))
                    .build())
        .withMessage(
            "retryDelay must be at most maxRetryDelay: retryDelay=PT2S, maxRetryDelay=PT1S");
  }

  @Test
  void queueWithAScript_hasNoLimitByDefault_andRetriesAsTheScriptSays() {
    QueueConfig config = QueueConfig.builder().onFailure(SCRIPT).build();
    assertThat(config.maxAttempts()).isZero();
    assertThat(QueueConfig.builder().maxAttempts(3).onFailure(SCRIPT).build().maxAttempts())
        .isEqualTo(3);
    broker.create("q", config);
    broker.enqueue("q", 1);
    broker.consume("q", 1);
    for (int i = 0; i < 30; i++) {
      broker.nack(broker.taken().get(0), NO);
    }
    assertThat(broker.taken()).extracting(PendingDelivery::attempts).containsExactly(30);
    assertThat(broker.now).isEqualTo(1_000 * SECOND);
  }

  @Test
  void withoutADeadLetterQueue_theMessageStays_andIsTriedAgainWithDelays() {
    broker.create("q", QueueConfig.builder().maxAttempts(2).build());
    UUID id = broker.enqueue("q", 1).get(0);
    broker.delete("q.dlq");
    broker.consume("q", 1);
    List<Long> delays = delaysUntilItStops(id, 12);
    assertThat(delays).hasSize(12);
    assertThat(delays.subList(0, 9)).isSorted();
    assertThat(delays).allMatch(each -> each >= SECOND / 2);
    assertThat(broker.line("q").depth).isEqualTo(1);
  }

  @Test
  void deadLetterThatFails_staysInItsQueue_withDelays() {
    broker.create("q", QueueConfig.builder().maxAttempts(1).build());
    broker.enqueue("q", 1);
    broker.consume("q", 1);
    broker.nack(broker.taken().get(0), NO);
    broker.consume("q.dlq", 1);
    broker.nack(broker.taken().get(0), NO);
    assertThat(broker.taken()).isEmpty();
    assertThat(broker.toNextTimer()).isTrue();
    assertThat(broker.taken()).extracting(PendingDelivery::attempts).containsExactly(2);
    assertThat(broker.line("q.dlq").config.maxAttempts()).isZero();
    assertThat(broker.line("q.dlq").config.retryDelay()).isEqualTo(Duration.ofSeconds(1));
  }

  @Test
  void delay_survivesAKill() {
    broker.create("q", QueueConfig.defaults());
    broker.enqueue("q", 1);
    broker.consume("q", 1);
    broker.nack(broker.taken().get(0), new FailureHandler.Nack("no", Duration.ofMinutes(1)));
    long from = broker.now;
    broker.now += SECOND;
    broker.kill();
    broker.consume("q", 1);
    assertThat(broker.taken()).isEmpty();
    broker.toNextTimer();
    assertThat(broker.now - from).isEqualTo(60 * SECOND);
    assertThat(broker.taken()).extracting(PendingDelivery::attempts).containsExactly(1);
  }

  @Test
  void rowOfVersion1_keepsItsBehavior_andRowOfVersion2_hasEverything() {
    QueueConfig config =
        QueueConfig.builder()
            .maxAttempts(0)
            .retryDelay(Duration.ofMillis(7))
            .maxRetryDelay(Duration.ofMillis(9))
            .maxDepth(5)
            .build();
    byte[] row = Schema.queueRow("q", config, 300);
    assertThat(Schema.queueRow(row)).isEqualTo(new Schema.QueueRow("q", config, 300));
    byte[] old =
        new ByteWriter(64)
            .text("q")
            .int64(30 * SECOND)
            .text("ALWAYS")
            .text("") // on_enqueue
            .text("") // on_failure
            .varint(0) // attempts
            .int8(0) // strict order
            .varint(5) // depth
            .varint(0)
            .varint(0)
            .int64(0)
            .int64(0)
            .toBytes();
    Schema.QueueRow read = Schema.queueRow(old);
    assertThat(read.revisionNumber()).isEqualTo(1);
    assertThat(read.config().maxAttempts()).isZero();
    assertThat(read.config().maxDepth()).isEqualTo(5);
    assertThat(read.config().retryDelay()).isZero();
  }
}
