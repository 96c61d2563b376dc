package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.sluice.broker.internal.engine.PrefetchBudget;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A consumer reads a bounded number of bytes at once, at any prefetch. */
@Timeout(60)
class LargeMessagesTest {
  private static final int MEBIBYTE = 1 << 20;
  private static final int MESSAGES = 5;

  @TempDir Path dir;
  private Broker broker;

  @BeforeEach
  void open() {
    broker = Broker.open(dir);
    broker.createQueue("q", QueueConfig.defaults());
  }

  @AfterEach
  void close() {
    broker.close();
  }

  private void fill() {
    Message message = Message.of(new byte[3 * MEBIBYTE]);
    assertThat(broker.enqueueAll("q", Collections.nCopies(MESSAGES, message)).join())
        .hasSize(MESSAGES);
  }

  @Test
  void poll_ofLargeMessages_comesInParts() throws InterruptedException {
    fill();
    try (MessageConsumer consumer = broker.consume("q", 1_000)) {
      Awaitility.await().until(() -> broker.stats("q").inFlight() == MESSAGES);
      assertThat(consumer.poll(MESSAGES, Duration.ofSeconds(20))).hasSize(2);
      assertThat(consumer.poll(MESSAGES, Duration.ofSeconds(20))).hasSize(2);
      assertThat(consumer.poll(MESSAGES, Duration.ofSeconds(20))).hasSize(1);
    }
  }

  @Test
  void handler_getsMessagesWithinItsBudget_atLeastOne() throws InterruptedException {
    fill();
    BlockingQueue<Integer> calls = new LinkedBlockingQueue<>();
    CountDownLatch allWait = new CountDownLatch(1);
    MessageConsumer.Handler handler =
        new MessageConsumer.Handler() {
          private long room = 10 * MEBIBYTE;

          @Override
          public long payloadBudget(long waitingBytes) {
            try {
              assertThat(allWait.await(20, TimeUnit.SECONDS)).isTrue();
            } catch (InterruptedException closing) {
              Thread.currentThread().interrupt();
            }
            long now = room;
            room = 0;
            return now;
          }

          @Override
          public void handle(List<Delivery> deliveries) {
            calls.add(deliveries.size());
          }
        };
    try (MessageConsumer consumer = broker.consume("q", 1_000, handler)) {
      assertThat(consumer.queue()).isEqualTo("q");
      Awaitility.await().until(() -> broker.stats("q").inFlight() == MESSAGES);
      allWait.countDown();
      assertThat(calls.poll(20, TimeUnit.SECONDS)).isEqualTo(3);
      assertThat(calls.poll(20, TimeUnit.SECONDS)).isEqualTo(1);
      assertThat(calls.poll(20, TimeUnit.SECONDS)).isEqualTo(1);
    }
  }

  @Test
  void browse_ofLargeMessages_isBoundedByBytes() {
    fill();
    assertThat(peek(Integer.MAX_VALUE, 7 * MEBIBYTE)).hasSize(2);
    assertThat(peek(Integer.MAX_VALUE, 1)).hasSize(1);
    assertThat(broker.view().browse("q", null, MESSAGES, BrokerView.PreviewSize.ALL))
        .hasSize(MESSAGES);
  }

  @Test
  void browse_truncatesPayloads_andBoundsTheirSum() {
    fill();
    assertThat(peek(MEBIBYTE, 3 * MEBIBYTE)).hasSize(2);
    assertThat(peek(10, MEBIBYTE))
        .hasSize(MESSAGES)
        .allMatch(each -> each.payload().length == 10 && each.isTruncated())
        .extracting(StoredMessage::payloadSize)
        .containsOnly(3 * MEBIBYTE);
    assertThat(broker.view().browse("q", null, 1, BrokerView.PreviewSize.ALL).get(0).isTruncated())
        .isFalse();
    assertThatIllegalArgumentException()
        .isThrownBy(() -> peek(-1, 1))
        .withMessageContaining("maxPayloadBytes must be from 0 to")
        .withMessageEndingWith(", but was -1");
  }

  private List<StoredMessage> peek(int payloadBytes, long allBytes) {
    BrokerView.PreviewSize size = new BrokerView.PreviewSize(payloadBytes, allBytes);
    return broker.view().browse("q", null, MESSAGES, size);
  }

  @Test
  void prefetchBudget_isSharedByAllConsumers() {
    PrefetchBudget room = new PrefetchBudget();
    assertThat(room.tryReserve(10 * MEBIBYTE)).isTrue();
    assertThat(room.tryReserve(10 * MEBIBYTE)).isFalse();
    room.release(10 * MEBIBYTE);
    assertThat(room.tryReserve(10 * MEBIBYTE)).isTrue();
  }
}
