package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/**
 * A lease that runs out is a failure, also when the broker is killed before it could store that.
 */
final class LeaseExpiryCrashTest implements BrokerState.Outputs {
  private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

  private SimStore store = new SimStore();
  private final List<Handover> delivered = new ArrayList<>();
  private boolean hasHook;
  private long now = 1_000 * SECOND;
  private Engine engine = recover();

  private Engine recover() {
    return Recovery.recover(store, new Recovery.Start(now, now, "boot"), this, BrokerMetrics.NONE);
  }

  @Test
  void killedRightAfterItsStart_countsLeasesThatRanOutWhileItWasDown() {
    lease(1);
    now += 60 * SECOND;
    kill();
    kill();
    assertThat(attemptsOfOldest(1)).containsOnly(1);
  }

  @Test
  void killedWhileTheHookIsAsked_countsTheLeaseThatRanOut() {
    hasHook = true;
    lease(1);
    now += 60 * SECOND;
    step();
    enqueue(1);
    step();
    kill();
    hasHook = false;
    assertThat(attemptsOfOldest(1)).containsOnly(1);
  }

  @Test
  void killedAmongManyLeasesThatRunOutAtOnce_countsEachOfThem() {
    lease(2_000);
    now += 60 * SECOND;
    engine.advanceTo(now);
    engine.tick();
    commit();
    kill();
    assertThat(attemptsOfOldest(2_000)).containsOnly(1);
  }

  private void kill() {
    store = store.reopen();
    engine = recover();
  }

  private void lease(int messages) {
    QueueConfig config = QueueConfig.builder().leaseTimeout(Duration.ofSeconds(30)).build();
    engine.admin.create("q", config, true, new CompletableFuture<>());
    step();
    enqueue(messages);
    step();
    consume(messages);
    assertThat(delivered).hasSize(messages);
    delivered.clear();
  }

  private void enqueue(int messages) {
    List<Submission> all = new ArrayList<>();
    for (int i = 0; i < messages; i++) {
      Route.Spec route = new Route.Spec("k", 1, 0, Collections.emptySortedMap());
      all.add(new Submission(route, Envelope.encode(Map.of(), new byte[1]), 0, 0, null));
    }
    CompletableFuture<List<UUID>> stored = new CompletableFuture<>();
    engine.intake.enqueue("q", all, stored);
  }

  private List<Integer> attemptsOfOldest(int messages) {
    consume(messages + 1);
    return delivered.stream()
        .sorted(Comparator.comparingLong(handover -> handover.entry().sequence))
        .limit(messages)
        .map(Handover::attempts)
        .distinct()
        .toList();
  }

  private void consume(int credit) {
    Subscriber.Outlet outlet =
        new Subscriber.Outlet() {
          @Override
          public void deliver(List<Handover> batch) {
            delivered.addAll(batch);
          }

          @Override
          public void closed(BrokerException why) {}
        };
    engine.dispatch.open(
        "q", new Dispatch.Subscription(credit, false, outlet, new CompletableFuture<>()));
    for (int i = 0; i < 20; i++) {
      step();
    }
  }

  /** Does what is due, and stores it. */
  private void step() {
    engine.advanceTo(now);
    engine.tick();
    commit();
  }

  private void commit() {
    Batch batch = engine.seal(now);
    if (batch != null) {
      BatchRows.write(batch, store);
      store.sync();
      batch.handovers.forEach(handover -> handover.to().outlet.deliver(List.of(handover)));
      engine.apply(batch.whenWritten);
      engine.apply(batch.whenSynced);
    }
  }

  @Override
  public void refuse(CompletableFuture<?> future, BrokerException why) {
    throw why;
  }

  /** Its answer takes longer than the broker lives. */
  @Override
  public void askFailureHook(BrokerState.FailureQuestion question) {}

  @Override
  public boolean hasFailureHook(Line line) {
    return hasHook;
  }

  @Override
  public void queuesChanged() {}

  @Override
  public void configChanged(String key, String value) {}
}
