package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.broker.internal.engine.Dispatcher;
import dev.sluice.broker.internal.engine.InternedPlacement;
import dev.sluice.broker.internal.engine.PendingDelivery;
import dev.sluice.broker.internal.engine.PendingReceive;
import dev.sluice.broker.internal.engine.PrefetchBudget;
import dev.sluice.broker.internal.engine.PreparedMessage;
import dev.sluice.broker.internal.store.MessageEnvelope;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Polls as the state machine sees them. */
final class PollsTest {
  private final SteppedBroker broker = new SteppedBroker();

  private void throttle(String key, String rate) {
    broker.engine.queueAdmin.setConfig("throttle." + key, rate, new CompletableFuture<>());
    broker.step();
  }

  private void enqueue(String queue, int messages, String throttleKey) {
    SortedMap<String, Long> throttles = new TreeMap<>(Map.of(throttleKey, 1L));
    List<PreparedMessage> all = new ArrayList<>();
    for (int i = 0; i < messages; i++) {
      InternedPlacement.Spec route = new InternedPlacement.Spec("k" + i % 10, 1, 0, throttles);
      all.add(
          new PreparedMessage(
              route, MessageEnvelope.encode(Map.of(), new byte[1]), 0, 0, null, false));
    }
    broker.engine.enqueueHandler.enqueue(queue, all, new CompletableFuture<>());
    broker.step();
  }

  private PendingReceive poll(String queue, long waitNanos) {
    PendingReceive poll = new PendingReceive(new CompletableFuture<>(), new PrefetchBudget());
    broker.engine.dispatcher.receives.open(queue, 2, waitNanos, poll);
    return poll;
  }

  /** How many rounds of the scheduler it takes to answer {@code poll}. */
  private int rounds(PendingReceive poll) {
    int rounds = 0;
    while (!poll.future.isDone() && rounds < 1_000) {
      broker.engine.tick();
      broker.commit();
      rounds++;
    }
    return rounds;
  }

  /** A backlog that goes through a throttle key, which the scheduler is never done with. */
  private void beginBacklog() {
    broker.create("busy", QueueConfig.defaults());
    throttle("fast", "1,1");
    enqueue("busy", 50_000, "fast");
    PendingReceive outlet = new PendingReceive(new CompletableFuture<>(), new PrefetchBudget());
    broker.engine.dispatcher.open(
        "busy",
        new Dispatcher.ConsumerRegistration(1_000_000, false, outlet, new CompletableFuture<>()));
    broker.step();
    throttle("fast", "1000000,1000000");
    broker.now += EngineFixture.SECOND;
    broker.engine.advanceTo(broker.now);
  }

  @Test
  void pollWithoutWaiting_isAnsweredInOneRound_whileOtherQueuesAreBusy() {
    broker.create("idle", QueueConfig.defaults());
    broker.create("blocked", QueueConfig.defaults());
    throttle("never", "0,0");
    enqueue("blocked", 1, "never");
    beginBacklog();
    assertThat(rounds(poll("idle", 0))).isEqualTo(1);
    assertThat(rounds(poll("blocked", 0))).isEqualTo(1);
    assertThat(broker.line("busy").leased).isLessThan(40_000);
  }

  /** Its message waits for the same throttle key as the backlog, and has its turn. */
  @Test
  void pollWithoutWaiting_getsADeliverableMessage_whileOtherQueuesAreBusy() {
    broker.create("quiet", QueueConfig.defaults());
    enqueue("quiet", 2, "fast");
    beginBacklog();
    PendingReceive poll = poll("quiet", 0);
    assertThat(rounds(poll)).isLessThan(5);
    assertThat(poll.take()).hasSize(2);
    assertThat(broker.line("busy").leased).isLessThan(40_000);
  }

  /** A caller of a broker that closes is told so, and gets no messages. */
  @Test
  void answeredPollThatWasNotSent_leavesNoLeaseBehind_whenTheBrokerCloses() {
    broker.create("q", QueueConfig.defaults());
    throttle("key", "0.0001,5");
    enqueue("q", 2, "key");
    PendingReceive poll = poll("q", 0);
    assertThat(rounds(poll)).isEqualTo(1);
    List<PendingDelivery> received = poll.take();
    assertThat(received).hasSize(2);
    assertThat(received.get(0).lease().send()).isTrue();
    broker.engine.dispatcher.stop();
    broker.step();
    assertThat(received.get(1).lease().send()).isFalse();
    broker.kill();
    assertThat(broker.line("q").leased).isEqualTo(1);
    broker.engine.state.scheduler.advanceTo(broker.now);
    double level = broker.engine.state.scheduler.limitStats("key").orElseThrow().level();
    assertThat(level).isBetween(3.9, 4.0);
  }
}
