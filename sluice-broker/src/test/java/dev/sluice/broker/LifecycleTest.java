package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.broker.BrokerException.Code;
import dev.sluice.broker.internal.runtime.BrokerLifecycle;
import dev.sluice.broker.internal.runtime.LocalBroker;
import dev.sluice.broker.internal.store.Store;
import dev.sluice.broker.internal.store.StoreException;
import dev.sluice.broker.internal.store.rocks.RocksStore;
import dev.sluice.testkit.Await;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Failures of the store: the broker waits for space, or stops for good. */
@Timeout(60)
final class LifecycleTest {
  @TempDir private Path dir;

  /** The exceptions that {@code open} throws, one a call, before it succeeds. */
  private final Deque<StoreException> refusals = new ArrayDeque<>();

  private final List<FaultyStore> opened = new ArrayList<>();
  private volatile boolean space = true;
  private final List<UUID> confirmed = new ArrayList<>();

  private class FaultyOpener implements BrokerLifecycle.Opener {
    @Override
    public Store open() {
      StoreException refusal = refusals.poll();
      if (refusal != null) {
        throw refusal;
      }
      opened.add(new FaultyStore(RocksStore.open(dir)));
      return last();
    }

    @Override
    public boolean hasSpace() {
      return space;
    }
  }

  private FaultyStore last() {
    return opened.get(opened.size() - 1);
  }

  private Broker open() {
    Broker broker =
        new LocalBroker(
            BrokerLifecycle.open(
                new FaultyOpener(), BrokerConfig.builder().diskReserveBytes(0).build()));
    if (broker.queue("q").isEmpty()) {
      broker.createQueue("q");
    }
    return broker;
  }

  private static StoreException noSpace() {
    return new StoreException("write: no space", new IOException("no space"), true);
  }

  private static StoreException fault() {
    return new StoreException("sync: Input/output error", new IOException("EIO"), false);
  }

  private void confirm(Broker broker) {
    confirmed.add(broker.enqueue("q", Message.of("m")).join());
  }

  private static Code refusal(Broker broker) {
    try {
      broker.enqueue("q", Message.of("doubtful")).join();
    } catch (CompletionException refused) {
      return ((BrokerException) refused.getCause()).code();
    }
    throw new AssertionError("the message was stored");
  }

  private static void await(Broker broker, BrokerStatus status) {
    Await.until(status.toString(), () -> broker.view().status() == status);
  }

  /** Every confirmed message is in {@code broker}. */
  private void assertNothingLost(Broker broker) throws Exception {
    List<UUID> there = new ArrayList<>();
    try (MessageConsumer consumer = broker.consume("q", 1_000)) {
      while (!there.containsAll(confirmed)) {
        List<Delivery> taken = consumer.poll(1_000, Duration.ofSeconds(20));
        assertThat(taken).as("missing of %s: %s", confirmed, there).isNotEmpty();
        taken.forEach(each -> there.add(each.id()));
      }
    }
  }

  @Test
  void failedSync_stopsTheBrokerForGood_andIsNeverRetried() throws Exception {
    try (Broker broker = open()) {
      confirm(broker);
      MessageConsumer consumer = broker.consume("q.dlq", 1);
      last().failSync.set(fault());
      assertThat(refusal(broker)).isEqualTo(Code.STOPPED);
      assertThat(broker.view().failure().get(20, TimeUnit.SECONDS))
          .hasMessage("the broker has stopped: sync: Input/output error");
      assertThat(broker.view().status()).isEqualTo(BrokerStatus.STOPPED);
      assertThat(refusal(broker)).isEqualTo(Code.STOPPED);
      assertThatThrownBy(consumer::take).hasMessageContaining("Input/output error");
      assertThatThrownBy(broker.view()::ping).hasMessageContaining("Input/output error");
    }
    assertThat(opened).hasSize(1);
    assertThat(last().callsAfterFailure).hasValue(0);
    try (Broker broker = open()) {
      assertNothingLost(broker);
    }
  }

  @Test
  void failedRead_failsTheCall_andDoesNotClaimThatTheBrokerHasStopped() {
    try (Broker broker = open()) {
      confirm(broker);
      last().failScan.set(new StoreException("scan: EIO", new IOException("EIO"), false));
      assertThatThrownBy(() -> broker.view().browse("q", null, 10, BrokerView.PreviewSize.ALL))
          .isInstanceOf(BrokerException.class)
          .hasMessage("the store cannot be read: scan: EIO");
      assertThat(broker.view().status()).isEqualTo(BrokerStatus.RUNNING);
      assertThat(broker.view().browse("q", null, 10, BrokerView.PreviewSize.ALL)).hasSize(1);
    }
  }

  @Test
  void noSpace_storeIsReopenedEachTime_onceThereIsSpace() throws Exception {
    try (Broker broker = open()) {
      confirm(broker);
      space = false;
      last().failWrite.set(noSpace());
      assertThat(refusal(broker)).isEqualTo(Code.WAITING_FOR_SPACE);
      assertThat(broker.view().status()).isEqualTo(BrokerStatus.WAITING_FOR_SPACE);
      assertThat(refusal(broker)).isEqualTo(Code.WAITING_FOR_SPACE);
      assertThat(opened).hasSize(1);
      refusals.add(noSpace());
      refusals.add(noSpace());
      space = true;
      await(broker, BrokerStatus.RUNNING);
      confirm(broker);
      // A second time, reported by a sync.
      last().failSync.set(noSpace());
      assertThat(refusal(broker)).isEqualTo(Code.WAITING_FOR_SPACE);
      await(broker, BrokerStatus.RUNNING);
      confirm(broker);
      assertThat(opened).hasSize(3);
      assertThat(broker.view().failure()).isNotDone();
      assertNothingLost(broker);
    }
  }

  @Test
  void leaseFromBeforeTheReopening_canBeSettledAfterIt() throws Exception {
    try (Broker broker = open()) {
      confirm(broker);
      Delivery held = broker.consume("q", 1).take();
      last().failWrite.set(noSpace());
      assertThat(refusal(broker)).isEqualTo(Code.WAITING_FOR_SPACE);
      await(broker, BrokerStatus.RUNNING);
      held.ack().get(20, TimeUnit.SECONDS);
      assertThat(broker.view().browse("q", null, 10, BrokerView.PreviewSize.ALL))
          .noneMatch(each -> each.id().equals(held.id()));
    }
  }

  @Test
  void storeThatCannotBeReopened_stopsTheBroker() throws Exception {
    try (Broker broker = open()) {
      confirm(broker);
      refusals.add(new StoreException("open: Corruption"));
      last().failWrite.set(noSpace());
      assertThat(refusal(broker)).isIn(Code.WAITING_FOR_SPACE, Code.STOPPED);
      assertThat(broker.view().failure().get(20, TimeUnit.SECONDS))
          .hasMessage("the broker has stopped: open: Corruption");
      assertThat(broker.view().status()).isEqualTo(BrokerStatus.STOPPED);
      assertThat(refusal(broker)).isEqualTo(Code.STOPPED);
    }
  }

  @Test
  void close_whileWaitingForSpace_endsTheWait_andReleasesTheStore() throws Exception {
    Broker broker = open();
    confirm(broker);
    space = false;
    last().failWrite.set(noSpace());
    assertThat(refusal(broker)).isEqualTo(Code.WAITING_FOR_SPACE);
    broker.close();
    assertThat(broker.view().status()).isEqualTo(BrokerStatus.CLOSED);
    space = true;
    try (Broker next = open()) {
      assertNothingLost(next);
    }
    assertThat(broker.view().status()).isEqualTo(BrokerStatus.CLOSED);
  }

  /** The disk is so full that not even the restart can be recorded. */
  @Test
  void failedOpening_leavesNoThreads() throws Exception {
    ThreadGroup threads = new ThreadGroup("opening");
    CompletableFuture<Throwable> failure = new CompletableFuture<>();
    BrokerLifecycle.Opener opener =
        new FaultyOpener() {
          @Override
          public Store open() {
            super.open();
            last().failWrite.set(noSpace());
            return last();
          }
        };
    BrokerConfig config = BrokerConfig.builder().hookThreads(4).build();
    Thread caller =
        new Thread(
            threads,
            () -> {
              try {
                BrokerLifecycle.open(opener, config).close();
                failure.complete(new AssertionError("was opened"));
              } catch (RuntimeException full) {
                failure.complete(full);
              }
            });
    caller.start();
    assertThat(failure.get(20, TimeUnit.SECONDS)).hasMessageContaining("no space");
    caller.join();
    assertThat(threads.activeCount()).isZero();
  }
}
