package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.broker.internal.engine.Dispatcher;
import dev.sluice.broker.internal.engine.PendingDelivery;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The age of the oldest ready message of a queue. */
final class QueueAgeTest extends EngineFixture {
  @BeforeEach
  void createQueue() {
    QueueConfig config = QueueConfig.builder().leaseTimeout(Duration.ofSeconds(30)).build();
    engine.queueAdmin.create("q", config, true, new CompletableFuture<>());
    step();
  }

  @Test
  void emptyQueue_hasNoAge() {
    assertThat(age()).isZero();
  }

  @Test
  void age_isThatOfTheOldestReadyMessage() {
    enqueue(2);
    pass(60);
    enqueue(1);
    pass(5);
    assertThat(age()).isEqualTo(Duration.ofSeconds(65));
    consume(2);
    assertThat(age()).isEqualTo(Duration.ofSeconds(5));
    consume(1);
    assertThat(age()).isZero();
  }

  @Test
  void delayedMessage_countsFromTheEndOfItsDelay() {
    enqueue(1, 100 * SECOND);
    pass(90);
    assertThat(age()).isZero();
    pass(10);
    pass(7);
    assertThat(age()).isEqualTo(Duration.ofSeconds(7));
  }

  @Test
  void releasedMessage_isAsOldAsBefore() {
    enqueue(1);
    pass(10);
    consume(1);
    pass(10);
    PendingDelivery taken = delivered.get(0);
    engine.dispatcher.release(
        "q", new Dispatcher.LeaseRef(taken.entry().id(), null), new CompletableFuture<>());
    step();
    assertThat(age()).isEqualTo(Duration.ofSeconds(20));
  }

  @Test
  void age_survivesARestart() {
    enqueue(2);
    pass(10);
    consume(1);
    kill();
    pass(10);
    assertThat(age()).isEqualTo(Duration.ofSeconds(20));
    consume(1);
    assertThat(age()).isZero();
  }

  private void pass(int seconds) {
    step();
    now += seconds * SECOND;
    step();
  }

  private Duration age() {
    return engine.queueAdmin.stats("q").oldestReady();
  }
}
