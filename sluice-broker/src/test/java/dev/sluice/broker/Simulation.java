package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.broker.internal.engine.BatchEncoder;
import dev.sluice.broker.internal.engine.BrokerEngine;
import dev.sluice.broker.internal.engine.BrokerQueue;
import dev.sluice.broker.internal.engine.CommitBatch;
import dev.sluice.broker.internal.engine.Completion;
import dev.sluice.broker.internal.engine.EngineState;
import dev.sluice.broker.internal.engine.InternedPlacement;
import dev.sluice.broker.internal.engine.LimitConfigEntry;
import dev.sluice.broker.internal.engine.MessageEntry;
import dev.sluice.broker.internal.engine.PendingDelivery;
import dev.sluice.broker.internal.engine.QueueAdmin;
import dev.sluice.broker.internal.engine.Recovery;
import dev.sluice.broker.internal.engine.Schema;
import dev.sluice.broker.internal.hooks.HookEngine;
import dev.sluice.broker.internal.store.MessageEnvelope;
import dev.sluice.broker.internal.store.StoreException;
import dev.sluice.broker.internal.store.StoreTable;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The whole broker but its threads: clients, state machine and a store that fails, on one thread
 * and one clock, decided by one random number.
 */
final class Simulation implements EngineState.EngineCallbacks {
  static final List<String> QUEUES = List.of("a", "b");
  static final List<String> THROTTLES = List.of("t1", "t2");
  private static final Map<String, LimitConfigEntry> RATES =
      Map.of("t1", new LimitConfigEntry(20, 3), "t2", new LimitConfigEntry(5, 1));
  private static final long BEGIN = 1_700_000_000_000_000_000L;
  static final long MILLI = 1_000_000;
  static final long LEASE = 2_000 * MILLI;

  private final Random random;

  /** Rows of leases before those of the oldest are stored again. */
  private final int leaseRows;

  private final SimLedger ledger = new SimLedger();
  private final List<String> story = new ArrayList<>();

  // The machine.
  private long now = BEGIN;
  private long bootNanos = 5_000;
  private int boots = 1;
  private SimStore store = new SimStore();

  // The process.
  private BrokerEngine engine;
  private final Deque<CommitBatch> sealed = new ArrayDeque<>();
  private final Deque<CommitBatch> written = new ArrayDeque<>();
  private final List<EngineState.FailureHookRequest> questions = new ArrayList<>();
  private final List<CompletableFuture<List<MessageEntry>>> redrives = new ArrayList<>();
  private int syncing;
  private boolean draining;
  private boolean diskWasFull;

  private final SimAnswers answers = new SimAnswers();
  private final SimProducers producers;
  private final SimClients clients;

  Simulation(long seed) {
    this.random = new Random(seed);
    this.leaseRows = (int) (seed % 4);
    this.producers = new SimProducers(this, random, ledger, answers);
    this.clients = new SimClients(this, random, ledger, answers);
    this.engine = recover();
    for (String queue : QUEUES) {
      QueueConfig config =
          QueueConfig.builder()
              .leaseTimeout(Duration.ofNanos(LEASE))
              .durability(chance(70) ? Durability.ALWAYS : Durability.OS)
              .maxAttempts(chance(50) ? 0 : 3)
              .retryDelay(Duration.ofMillis(chance(30) ? 0 : random.nextInt(100)))
              .maxRetryDelay(Duration.ofMillis(100 + random.nextInt(300)))
              .strictOrder(chance(20))
              .maxInFlightPerKey(chance(80) ? 0 : 2)
              .dedupeWindow(Duration.ofSeconds(chance(50) ? 0 : 5))
              .build();
      engine.queueAdmin.create(queue, config, true, new CompletableFuture<>());
    }
    RATES.forEach(
        (key, rate) ->
            engine.queueAdmin.setConfig(
                LimitConfigEntry.configKey(key), rate.format(), new CompletableFuture<>()));
    settle();
    RATES.keySet().forEach(key -> ledger.opened(key, level(key), engine.state.now));
  }

  private double level(String throttleKey) {
    return engine.state.scheduler.limitStats(throttleKey).orElseThrow().level();
  }

  /** Disconnects all clients and checks that exactly the tokens of sent messages are spent. */
  private void noTokenIsLost() {
    clients.disconnectAll();
    settle();
    RATES.forEach(
        (key, rate) ->
            ledger.noTokenIsLost(key, rate, level(key), engine.state.now, engine.state.epoch));
  }

  /** The events so far, for the analysis of a seed that fails. */
  List<String> story() {
    return story;
  }

  void tell(String what) {
    story.add((now - BEGIN) / MILLI + " ms: " + what);
  }

  BrokerEngine engine() {
    return engine;
  }

  long now() {
    return now;
  }

  boolean chance(int percent) {
    return random.nextInt(100) < percent;
  }

  private BrokerEngine recover() {
    Recovery.Start start = new Recovery.Start(now, bootNanos, "boot" + boots);
    BrokerEngine recovered = Recovery.recover(store, start, this, BrokerMetrics.NONE);
    recovered.state.leaseLog.limitRows(leaseRows);
    return recovered;
  }

  void run(int steps) {
    for (int i = 0; i < steps; i++) {
      step();
      answers.check();
      engine
          .state
          .queues
          .values()
          .forEach(queue -> EngineInvariants.consistent(engine.state, queue));
      EngineInvariants.heapIsThatOfQueues(engine.state);
    }
    drain();
    answers.check();
    ledger.nothingIsLost();
    ledger.ratesHold(RATES);
  }

  private void step() {
    switch (random.nextInt(26)) {
      case 0, 1, 2, 3 -> producers.enqueue();
      case 4, 5 -> pass(random.nextInt(50) * MILLI);
      case 6 -> pass(chance(20) ? LEASE : random.nextInt(1_000_000));
      case 7 -> clients.connect();
      case 8, 9, 10 -> clients.settleOne();
      case 11 -> disturb();
      case 12, 13 -> seal();
      case 14, 15 -> write();
      case 16 -> beginSync();
      case 17 -> endSync();
      case 19 -> clients.ackLate();
      case 20 -> producers.sendAgain();
      case 21 -> clients.poll();
      case 22, 23 -> clients.sendOne();
      case 24 -> clients.drainAny();
      case 18 -> {
        verdict();
        finishRedrives();
      }
      default -> tick();
    }
  }

  // ---- the broker's threads

  private void pass(long nanos) {
    now += nanos;
    bootNanos += nanos;
    engine.advanceTo(now);
    tick();
  }

  private void tick() {
    int before = engine.state.batch.deliveries.size();
    long next = engine.tick();
    List<PendingDelivery> all = engine.state.batch.deliveries;
    for (PendingDelivery handover : all.subList(before, all.size())) {
      MessageEnvelope envelope = Objects.requireNonNull(body(handover), "its payload is stored");
      EngineInvariants.withinMaxInFlight(engine.state, handover.entry());
      withinAttempts(handover);
      tell("lease " + SimClients.number(envelope) + ": " + handover.lease());
      ledger.leased(ledger.message(SimClients.number(envelope)), handover);
    }
    if (next > engine.state.now) {
      EngineInvariants.noReadyMessageWaits(engine.state);
    }
  }

  @Nullable MessageEnvelope body(PendingDelivery handover) {
    byte[] body = store.get(StoreTable.MESSAGE, Schema.messageKey(handover.entry()));
    return body == null ? null : MessageEnvelope.decode(body);
  }

  private void seal() {
    CommitBatch batch = engine.seal(bootNanos);
    if (batch != null) {
      sealed.add(batch);
    }
  }

  private void write() {
    CommitBatch batch = sealed.poll();
    if (batch != null) {
      BatchEncoder.write(batch, store);
      written.add(batch);
      for (PendingDelivery handover : batch.deliveries) {
        handover.consumer().target.deliver(List.of(handover));
      }
      batch.whenWritten.completions.forEach(Completion::complete);
      engine.apply(batch.whenWritten);
    }
  }

  private void beginSync() {
    if (syncing == 0) {
      store.beginSync();
      syncing = written.size();
    }
  }

  private void endSync() {
    if (syncing > 0) {
      store.endSync();
      for (; syncing > 0; syncing--) {
        CommitBatch batch = written.remove();
        batch.whenSynced.completions.forEach(Completion::complete);
        engine.apply(batch.whenSynced);
      }
    }
  }

  /** Everything that is under way ends well. */
  private void settle() {
    do {
      while (!questions.isEmpty()) {
        verdict();
      }
      finishRedrives();
      engine.advanceTo(now);
      tick();
      seal();
      while (!sealed.isEmpty()) {
        write();
      }
      endSync();
      beginSync();
      endSync();
    } while (!questions.isEmpty() || !redrives.isEmpty() || !engine.state.batch.isEmpty());
  }

  // ---- what the state machine asks for

  @Override
  public void reject(CompletableFuture<?> future, BrokerException why) {
    future.completeExceptionally(why);
  }

  @Override
  public void runFailureHook(EngineState.FailureHookRequest question) {
    questions.add(question);
  }

  @Override
  public boolean hasFailureHook(BrokerQueue line) {
    return !draining && line.name.equals("a");
  }

  @Override
  public void queuesChanged() {}

  @Override
  public void configChanged(String key, @Nullable String value) {}

  private void verdict() {
    if (!questions.isEmpty()) {
      EngineState.FailureHookRequest question = questions.remove(random.nextInt(questions.size()));
      HookEngine.FailureResult verdict =
          chance(20) && !draining
              ? new HookEngine.MoveToDeadLetters()
              : new HookEngine.Retry(chance(50) ? 0 : random.nextInt(500));
      engine.failureHandler.applyHookResult(question, verdict);
      if (verdict instanceof HookEngine.Retry retry) {
        Duration named = question.nack().delay();
        long delay = named == null ? retry.delayMillis() * MILLI : named.toNanos();
        ledger.notBefore(question.entry(), engine.state.now + delay);
      }
    }
  }

  // ---- what goes wrong

  private void disturb() {
    switch (random.nextInt(9)) {
      case 0 -> crash();
      case 1 -> kill();
      case 2 -> failSync();
      case 3 -> failWrite();
      case 4 -> restart();
      case 5 -> fillDisk();
      case 6 -> redrive();
      default -> clients.disconnectAny();
    }
  }

  private void fillDisk() {
    engine.state.diskSpaceLeft = chance(30) ? 0 : Long.MAX_VALUE;
    diskWasFull |= engine.state.diskSpaceLeft == 0;
  }

  /** The machine stops: what was not synced may be lost. */
  private void crash() {
    boots++;
    bootNanos = random.nextInt(1_000);
    boolean lossy = engine.state.queues.values().stream().anyMatch(line -> !line.syncs());
    start(store.crash(random));
    ledger.leasesMayBeLost();
    if (lossy) {
      ledger.mayHaveLost(queue -> !engine.state.queues.get(queue).syncs());
    }
  }

  private void kill() {
    start(store.reopen());
  }

  private void failSync() {
    if (syncing == 0) {
      store.failNextSync();
      beginSync();
      try {
        endSync();
      } catch (StoreException expected) {
        syncing = 0;
      }
      crash();
    }
  }

  private void failWrite() {
    store.failNextWrite();
    seal();
    try {
      write();
    } catch (StoreException expected) {
      // The broker stops.
    }
    crash();
  }

  /** Everything is stored: after a restart the queues hold the same. */
  private void restart() {
    noTokenIsLost();
    SortedMap<String, String> before = contents();
    start(store.reopen());
    SortedMap<String, String> after = contents();
    assertThat(after.keySet()).isEqualTo(before.keySet());
    after.forEach((name, text) -> assertThat(text).as(name).isEqualTo(before.get(name)));
  }

  private void start(SimStore survivor) {
    tell("start, boot " + boots);
    store = survivor;
    sealed.clear();
    written.clear();
    questions.clear();
    redrives.clear();
    clients.forget();
    answers.forget();
    syncing = 0;
    pause();
    engine = recover();
    ledger.restarted(engine.state.index);
    RATES.keySet().forEach(key -> ledger.opened(key, level(key), engine.state.now));
  }

  private void pause() {
    long nanos = random.nextInt(100) * MILLI;
    now += nanos;
    bootNanos += nanos;
  }

  private SortedMap<String, String> contents() {
    SortedMap<String, String> all = new TreeMap<>();
    for (MessageEntry entry : engine.state.index.find(any -> true)) {
      String leased = entry.stage == MessageEntry.Stage.LEASED ? "leased" : "";
      String what =
          "%s %s %d %d %s"
              .formatted(entry.id(), entry.placement.spec, entry.attempts, entry.expiresAt, leased);
      all.put(entry.queue.name + "#" + entry.sequence, what);
    }
    return all;
  }

  private void redrive() {
    String deadLetters = QUEUES.get(random.nextInt(QUEUES.size())) + QueueNames.DEAD_LETTER_SUFFIX;
    CompletableFuture<List<MessageEntry>> claimed = new CompletableFuture<>();
    engine.queueAdmin.claimDeadLetters(
        new QueueAdmin.DeadLetterClaim(
            deadLetters, 1 + random.nextInt(3), 0, Long.MAX_VALUE, () -> false),
        claimed);
    redrives.add(claimed);
  }

  /** An operator goes on with what it has claimed. */
  private void finishRedrives() {
    for (CompletableFuture<List<MessageEntry>> claimed : redrives) {
      if (claimed.isDone() && !claimed.isCompletedExceptionally()) {
        List<MessageEntry> entries = claimed.join();
        List<InternedPlacement.Spec> routes =
            entries.stream().map(entry -> entry.placement.spec).toList();
        engine.queueAdmin.redrive(entries, routes, new CompletableFuture<>());
      }
    }
    redrives.removeIf(CompletableFuture::isDone);
  }

  /** Checks that no message is delivered beyond its attempts, unless the disk was full. */
  private void withinAttempts(PendingDelivery handover) {
    int most = handover.entry().queue.config.maxAttempts();
    boolean tooMany = most > 0 && handover.attempts() >= most && !diskWasFull;
    assertThat(tooMany).as("too many attempts: %s", handover).isFalse();
  }

  // ---- the end

  /** Everything is consumed and acknowledged, until nothing is left anywhere. */
  private void drain() {
    draining = true;
    engine.state.diskSpaceLeft = Long.MAX_VALUE;
    noTokenIsLost();
    for (String queue : QUEUES) {
      clients.consume(queue, 10);
      clients.consume(queue + QueueNames.DEAD_LETTER_SUFFIX, 10);
    }
    for (int i = 0; i < 10_000 && engine.state.index.size() > 0; i++) {
      settle();
      clients.ackAll();
      pass(100 * MILLI);
    }
    settle();
    pass(20 * LEASE);
    settle();
    pass(20 * LEASE);
    settle();
    for (StoreTable table :
        List.of(StoreTable.MESSAGE, StoreTable.STATE, StoreTable.LEASE, StoreTable.DEDUPE)) {
      store.scan(
          table,
          new byte[0],
          Schema.END,
          (key, value) -> {
            throw new AssertionError("left behind in " + table);
          });
    }
  }

  int deliveries() {
    return ledger.deliveries;
  }
}
