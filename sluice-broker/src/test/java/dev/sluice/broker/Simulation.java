package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.broker.SimLedger.Sent;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The whole broker but its threads: clients, state machine and a store that fails, on one thread
 * and one clock, decided by one random number.
 */
final class Simulation implements BrokerState.Outputs {
  private static final List<String> QUEUES = List.of("a", "b");
  private static final List<String> KEYS = List.of("k1", "k2", "k3");
  private static final List<String> THROTTLES = List.of("t1", "t2");
  private static final Map<String, ThrottleRate> RATES =
      Map.of("t1", new ThrottleRate(20, 3), "t2", new ThrottleRate(5, 1));
  private static final long BEGIN = 1_700_000_000_000_000_000L;
  private static final long MILLI = 1_000_000;
  private static final long LEASE = 2_000 * MILLI;

  private final Random random;
  private final SimLedger ledger = new SimLedger();
  private final List<String> story = new ArrayList<>();

  // The machine.
  private long now = BEGIN;
  private long bootNanos = 5_000;
  private int boots = 1;
  private SimStore store = new SimStore();

  // The process.
  private Engine engine;
  private final Deque<Batch> sealed = new ArrayDeque<>();
  private final Deque<Batch> written = new ArrayDeque<>();
  private final List<BrokerState.FailureQuestion> questions = new ArrayList<>();
  private int syncing;
  private boolean draining;

  // The clients.
  private final List<Client> clients = new ArrayList<>();

  /** A consumer and the messages it has. */
  private final class Client implements Subscriber.Outlet {
    final String queue;
    @Nullable Subscriber subscriber;
    final List<Handover> held = new ArrayList<>();

    Client(String queue) {
      this.queue = queue;
    }

    @Override
    public void deliver(List<Handover> batch) {
      for (Handover handover : batch) {
        received(this, handover);
      }
    }

    @Override
    public void closed(BrokerException why) {
      clients.remove(this);
    }
  }

  Simulation(long seed) {
    this.random = new Random(seed);
    this.engine = recover();
    for (String queue : QUEUES) {
      QueueConfig config =
          QueueConfig.builder()
              .leaseTimeout(java.time.Duration.ofNanos(LEASE))
              .durability(chance(70) ? Durability.ALWAYS : Durability.OS)
              .maxAttempts(chance(50) ? 0 : 3)
              .strictOrder(chance(20))
              .dedupeWindow(java.time.Duration.ofSeconds(chance(50) ? 0 : 5))
              .build();
      engine.admin.create(queue, config, new CompletableFuture<>());
    }
    RATES.forEach(
        (key, rate) ->
            engine.admin.setConfig(
                ThrottleRate.configKey(key), rate.format(), new CompletableFuture<>()));
    settle();
  }

  /** What happened, for whoever looks at a seed that fails. */
  List<String> story() {
    return story;
  }

  private void tell(String what, Object... about) {
    story.add((now - BEGIN) / MILLI + " ms: " + what.formatted(about));
  }

  private boolean chance(int percent) {
    return random.nextInt(100) < percent;
  }

  private <E> E pick(List<E> from) {
    return from.get(random.nextInt(from.size()));
  }

  private Engine recover() {
    return Recovery.recover(
        store, new Recovery.Start(now, bootNanos, "boot" + boots), this, BrokerMetrics.NONE);
  }

  void run(int steps) {
    for (int i = 0; i < steps; i++) {
      step();
      engine.state.lines.values().forEach(this::consistent);
    }
    drain();
    ledger.nothingIsLost();
    ledger.ratesHold(RATES);
  }

  private void step() {
    switch (random.nextInt(20)) {
      case 0, 1, 2, 3 -> enqueue();
      case 4, 5 -> pass(random.nextInt(50) * MILLI);
      case 6 -> pass(chance(20) ? LEASE : random.nextInt(1_000_000));
      case 7 -> connect();
      case 8, 9, 10 -> settleOne();
      case 11 -> disturb();
      case 12, 13 -> seal();
      case 14, 15 -> write();
      case 16 -> beginSync();
      case 17 -> endSync();
      case 18 -> verdict();
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
    int before = engine.state.batch.handovers.size();
    long next = engine.tick();
    List<Handover> all = engine.state.batch.handovers;
    for (Handover handover : all.subList(before, all.size())) {
      Envelope envelope = Objects.requireNonNull(body(handover), "its payload is stored");
      ledger.leased(ledger.message(number(envelope)), handover);
    }
    if (next > engine.state.now) {
      nobodyIsHeldUp();
    }
  }

  /** What names no throttle key, and whose consumers have credit, does not wait. */
  private void nobodyIsHeldUp() {
    List<Entry> pending =
        engine.state.index.find(1_000, entry -> entry.stage == Entry.Stage.PENDING);
    for (Entry entry : pending) {
      boolean free = entry.route.spec.throttles().isEmpty() && !entry.line.config.strictOrder();
      assertThat(free && entry.line.queue.credit() > 0).as("held up: %s", entry).isFalse();
    }
  }

  private void seal() {
    Batch batch = engine.seal(bootNanos);
    if (batch != null) {
      sealed.add(batch);
    }
  }

  private void write() {
    Batch batch = sealed.poll();
    if (batch != null) {
      store.write(BatchRows.of(batch, store));
      written.add(batch);
      for (Handover handover : batch.handovers) {
        Line line = handover.entry().line;
        ledger.took(handover, handover.until() - line.config.leaseTimeout().toNanos());
        handover.to().outlet.deliver(List.of(handover));
      }
      batch.whenWritten.answers.forEach(Answer::give);
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
        Batch batch = written.remove();
        batch.whenSynced.answers.forEach(Answer::give);
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
      engine.advanceTo(now);
      tick();
      seal();
      while (!sealed.isEmpty()) {
        write();
      }
      endSync();
      beginSync();
      endSync();
    } while (!questions.isEmpty() || !engine.state.batch.isEmpty());
  }

  // ---- what the state machine asks for

  @Override
  public void refuse(CompletableFuture<?> future, BrokerException why) {
    future.completeExceptionally(why);
  }

  @Override
  public void askFailureHook(BrokerState.FailureQuestion question) {
    questions.add(question);
  }

  @Override
  public boolean hasFailureHook(Line line) {
    return !draining && line.name.equals("a");
  }

  @Override
  public void configurationChanged() {}

  private void verdict() {
    if (!questions.isEmpty()) {
      BrokerState.FailureQuestion question = questions.remove(random.nextInt(questions.size()));
      HookEngine.Verdict verdict =
          chance(20) && !draining
              ? new HookEngine.GiveUp()
              : new HookEngine.Retry(chance(50) ? 0 : random.nextInt(500));
      engine.failures.verdict(question, verdict);
    }
  }

  // ---- producers

  private void enqueue() {
    String queue = pick(QUEUES);
    List<Submission> submissions = new ArrayList<>();
    List<Sent> messages = new ArrayList<>();
    for (int i = chance(80) ? 1 : random.nextInt(5); i > 0; i--) {
      SortedMap<String, Long> throttles = new TreeMap<>();
      for (String throttle : THROTTLES) {
        if (chance(25)) {
          throttles.put(throttle, 1L);
        }
      }
      Route.Spec route =
          new Route.Spec(
              pick(KEYS),
              1 + random.nextInt(3),
              chance(90) ? 0 : 1,
              Collections.unmodifiableSortedMap(throttles));
      // One weight a route, so that routes tell which messages keep their order.
      route = new Route.Spec(route.key(), 1, route.priority(), route.throttles());
      long delay = chance(90) ? 0 : random.nextInt(300) * MILLI;
      long timeToLive = chance(95) ? 0 : random.nextInt(3_000) * MILLI + 1;
      Sent sent = ledger.send(queue, route, delay == 0 && timeToLive == 0);
      byte[] payload = ByteBuffer.allocate(4).putInt(sent.number).array();
      String dedupeId = chance(90) ? null : "d" + sent.number;
      submissions.add(
          new Submission(route, Envelope.encode(Map.of(), payload), delay, timeToLive, dedupeId));
      messages.add(sent);
      tell("enqueue %s, delay %d, lives %d", sent, delay / MILLI, timeToLive / MILLI);
    }
    CompletableFuture<List<UUID>> future = new CompletableFuture<>();
    future.whenComplete(
        (ids, refused) ->
            messages.forEach(
                message -> {
                  message.confirmed |= refused == null;
                  if (refused != null) {
                    ledger.unordered(message);
                  }
                }));
    engine.advanceTo(now);
    engine.intake.enqueue(queue, submissions, future);
    if (chance(30)) {
      retryWithTheSameIds(queue, submissions);
    }
  }

  /** A producer that lost the answer; a queue that remembers ids must not take it twice. */
  private void retryWithTheSameIds(String queue, List<Submission> submissions) {
    Line line = engine.state.lines.get(queue);
    boolean remembers = line != null && !line.config.dedupeWindow().isZero();
    if (remembers && submissions.stream().allMatch(each -> each.dedupeId() != null)) {
      long before = line.depth;
      engine.intake.enqueue(queue, submissions, new CompletableFuture<>());
      assertThat(line.depth).isEqualTo(before);
    }
  }

  // ---- consumers

  private void connect() {
    if (clients.size() < 4) {
      String queue = pick(QUEUES);
      consume(chance(15) ? queue + DeadLetter.SUFFIX : queue, 1 + random.nextInt(4));
    }
  }

  private void consume(String queue, int credit) {
    Client client = new Client(queue);
    clients.add(client);
    CompletableFuture<Subscriber> future = new CompletableFuture<>();
    future.thenAccept(subscriber -> client.subscriber = subscriber);
    engine.dispatch.open(queue, new Dispatch.Subscription(credit, true, client, future));
  }

  private void received(Client client, Handover handover) {
    Envelope envelope = body(handover);
    if (!clients.contains(client) || envelope == null) {
      return;
    }
    tell("deliver %d: %s", number(envelope), handover);
    ledger.delivered(number(envelope), handover, now);
    client.held.add(handover);
  }

  private @Nullable Envelope body(Handover handover) {
    byte[] body = store.get(Table.MESSAGE, Schema.messageKey(handover.entry()));
    return body == null ? null : Envelope.decode(body);
  }

  /** An untouched message is back where it was. */
  private void isBack(Handover handover) {
    if (handover.attempts() == 0 && mayHold(handover) && handover.until() > engine.state.now) {
      Envelope envelope = body(handover);
      if (envelope != null) {
        ledger.message(number(envelope)).inLine = true;
      }
    }
  }

  private static int number(Envelope envelope) {
    return ByteBuffer.wrap(envelope.payload()).getInt();
  }

  /** A consumer does something with one of its messages, or stalls. */
  private void settleOne() {
    List<Client> busy = clients.stream().filter(client -> !client.held.isEmpty()).toList();
    if (busy.isEmpty()) {
      return;
    }
    Client client = pick(busy);
    Handover handover = pick(client.held);
    engine.advanceTo(now);
    switch (random.nextInt(10)) {
      case 0, 1, 2, 3, 4 -> ack(client, handover);
      case 5, 6 -> nack(client, handover);
      case 7 -> extend(client, handover);
      case 8 -> release(client, handover);
      default -> client.held.remove(handover); // forgets it
    }
  }

  private Dispatch.Claim claim(Handover handover) {
    return new Dispatch.Claim(handover.entry().id(), handover.token());
  }

  /** Whether the broker may accept something under this lease. */
  private boolean mayHold(Handover handover) {
    SimLedger.Held newest = ledger.lease(handover.entry().id());
    return newest != null
        && newest.token().equals(handover.token())
        && !ledger.isEnded(handover.token());
  }

  private void ack(Client client, Handover handover) {
    tell("ack %s", handover.token());
    Envelope envelope = body(handover);
    boolean mayHold = mayHold(handover);
    CompletableFuture<List<UUID>> future = new CompletableFuture<>();
    engine.dispatch.ackAll(client.queue, List.of(claim(handover)), future);
    Sent message = envelope == null ? null : ledger.message(number(envelope));
    future.thenAccept(
        refused -> {
          if (refused.isEmpty()) {
            assertThat(mayHold).as("stale ack accepted: %s", handover).isTrue();
            message.done = true;
          }
        });
    boolean gone = handover.entry().stage == Entry.Stage.GONE;
    if (gone && message != null) {
      message.doubtful = true;
    }
    ledger.ended(handover.token());
    if (chance(80)) {
      client.held.remove(handover); // else it acks twice
    }
  }

  private void nack(Client client, Handover handover) {
    tell("nack %s", handover.token());
    boolean mayHold = mayHold(handover);
    CompletableFuture<Void> future = new CompletableFuture<>();
    engine.failures.nack(client.queue, claim(handover), "no", future);
    future.thenAccept(done -> assertThat(mayHold).as("stale nack accepted: %s", handover).isTrue());
    ledger.ended(handover.token());
    client.held.remove(handover);
  }

  private void extend(Client client, Handover handover) {
    boolean mayHold = mayHold(handover);
    long until = now + LEASE;
    CompletableFuture<Void> future = new CompletableFuture<>();
    engine.dispatch.extend(client.queue, claim(handover), LEASE, future);
    future.thenRun(
        () -> {
          assertThat(mayHold).as("stale extend accepted: %s", handover).isTrue();
          ledger.extended(handover, until);
        });
  }

  private void release(Client client, Handover handover) {
    tell("release %s", handover.token());
    isBack(handover);
    engine.dispatch.release(client.queue, claim(handover), new CompletableFuture<>());
    ledger.ended(handover.token());
    client.held.remove(handover);
  }

  private void disconnect(Client client) {
    tell("disconnect %s", client.subscriber);
    clients.remove(client);
    client.held.forEach(this::isBack);
    client.held.forEach(handover -> ledger.ended(handover.token()));
    if (client.subscriber != null) {
      client.subscriber.leases().forEach(lease -> ledger.ended(lease.token));
      engine.dispatch.close(client.subscriber, null);
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
      case 5 -> engine.state.diskLow = chance(30);
      case 6 -> redrive();
      default -> {
        if (!clients.isEmpty()) {
          disconnect(pick(clients));
        }
      }
    }
  }

  /** The machine stops: what was not synced may be lost. */
  private void crash() {
    boots++;
    bootNanos = random.nextInt(1_000);
    boolean lossy = engine.state.lines.values().stream().anyMatch(line -> !line.syncs());
    start(store.crash(random));
    ledger.leasesMayBeLost();
    if (lossy) {
      ledger.mayHaveLost(queue -> !engine.state.lines.get(queue).syncs());
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
    List.copyOf(clients).forEach(this::disconnect);
    settle();
    SortedMap<String, String> before = contents();
    start(store.reopen());
    SortedMap<String, String> after = contents();
    assertThat(after.keySet()).isEqualTo(before.keySet());
    after.forEach((name, text) -> assertThat(text).as(name).isEqualTo(before.get(name)));
  }

  private void start(SimStore survivor) {
    tell("start, boot %d", boots);
    store = survivor;
    sealed.clear();
    written.clear();
    questions.clear();
    clients.clear();
    syncing = 0;
    pause();
    engine = recover();
    ledger.restarted();
  }

  private void pause() {
    long nanos = random.nextInt(100) * MILLI;
    now += nanos;
    bootNanos += nanos;
  }

  private SortedMap<String, String> contents() {
    SortedMap<String, String> all = new TreeMap<>();
    for (Entry entry : engine.state.index.find(Integer.MAX_VALUE, any -> true)) {
      boolean leased = entry.stage == Entry.Stage.LEASED;
      all.put(
          entry.line.name + "#" + entry.sequence,
          entry.route.spec + " " + entry.attempts + " " + entry.expiresAt + (leased ? " L" : ""));
    }
    return all;
  }

  private void redrive() {
    String deadLetters = pick(QUEUES) + DeadLetter.SUFFIX;
    CompletableFuture<List<Entry>> claimed = new CompletableFuture<>();
    engine.admin.claimDeadLetters(deadLetters, 1 + random.nextInt(3), true, claimed);
    claimed.thenAccept(
        entries ->
            engine.admin.redrive(
                entries,
                entries.stream().map(entry -> entry.route.spec).toList(),
                new CompletableFuture<>()));
  }

  private void consistent(Line line) {
    Map<Entry.Stage, Long> stages = new HashMap<>();
    long depth = 0;
    for (Entry entry : engine.state.index.find(Integer.MAX_VALUE, each -> each.line == line)) {
      stages.merge(entry.stage, 1L, Long::sum);
      depth++;
    }
    assertThat(line.depth).isEqualTo(depth);
    assertThat(line.leased).isEqualTo(stages.getOrDefault(Entry.Stage.LEASED, 0L));
    assertThat(line.delayed).isEqualTo(stages.getOrDefault(Entry.Stage.DELAYED, 0L));
    assertThat(stages).doesNotContainKey(Entry.Stage.GONE);
  }

  // ---- the end

  /** Everything is consumed and acknowledged, until nothing is left anywhere. */
  private void drain() {
    draining = true;
    engine.state.diskLow = false;
    List.copyOf(clients).forEach(this::disconnect);
    for (String queue : QUEUES) {
      consume(queue, 10);
      consume(queue + DeadLetter.SUFFIX, 10);
    }
    for (int i = 0; i < 10_000 && engine.state.index.size() > 0; i++) {
      settle();
      for (Client client : clients) {
        List.copyOf(client.held).forEach(handover -> ack(client, handover));
        client.held.clear();
      }
      pass(100 * MILLI);
    }
    settle();
    pass(20 * LEASE);
    settle();
    pass(20 * LEASE);
    settle();
    for (Table table : List.of(Table.MESSAGE, Table.STATE, Table.LEASE, Table.DEDUPE)) {
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
