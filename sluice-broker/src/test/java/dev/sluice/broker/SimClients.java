package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.broker.SimLedger.Sent;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Producers and consumers of a {@link Simulation}: some stall, some die, some are late. */
final class SimClients {
  private static final List<String> KEYS = List.of("k1", "k2", "k3");

  private final Simulation simulation;
  private final Random random;
  private final SimLedger ledger;
  private final List<Client> clients = new ArrayList<>();

  /** Those who received messages by calls that are over. */
  private final List<Client> callers = new ArrayList<>();

  private final List<Poll> polls = new ArrayList<>();

  /** Everything that was ever delivered. */
  private final List<Past> all = new ArrayList<>();

  private record Past(String queue, Handover handover) {}

  /** Messages with an id by which they are known again. */
  private final List<Repeatable> repeatable = new ArrayList<>();

  private record Repeatable(Sent sent, Submission submission, long at) {}

  /** What is checked once the broker answers. */
  private final List<CompletableFuture<Void>> checks = new ArrayList<>();

  /** A consumer and the messages it has. */
  private final class Client implements Subscriber.Outlet {
    final String queue;
    @Nullable Subscriber subscriber;

    /** Whether something stands between the broker and the consumer, such as a connection. */
    final boolean remote = chance(50);

    /** What has not been sent to the consumer. */
    final List<Handover> unsent = new ArrayList<>();

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

  SimClients(Simulation simulation, Random random, SimLedger ledger) {
    this.simulation = simulation;
    this.random = random;
    this.ledger = ledger;
  }

  private boolean chance(int percent) {
    return simulation.chance(percent);
  }

  private <E> E pick(List<E> from) {
    return from.get(random.nextInt(from.size()));
  }

  private Engine engine() {
    return simulation.engine();
  }

  private void tell(String what) {
    simulation.tell(what);
  }

  /** Does something with an answer, and keeps what is wrong with it for {@link #checkAnswers}. */
  private <T> void then(CompletableFuture<T> answer, Consumer<T> action) {
    checks.add(answer.thenAccept(action));
  }

  void checkAnswers() {
    for (CompletableFuture<Void> check : checks) {
      if (check.isCompletedExceptionally()) {
        try {
          check.join();
        } catch (CompletionException failed) {
          // Refusals are answers, too.
          if (!(failed.getCause() instanceof BrokerException)) {
            throw new AssertionError(failed.getCause());
          }
        }
      }
    }
    checks.removeIf(CompletableFuture::isDone);
  }

  void disconnectAny() {
    if (!clients.isEmpty()) {
      disconnect(pick(clients));
    }
  }

  /** What reached somebody stays with them if they called for it. */
  void disconnectAll() {
    List.copyOf(clients).forEach(this::disconnect);
    List.copyOf(polls).forEach(this::cancel);
  }

  /** The broker is gone. */
  void forget() {
    clients.clear();
    callers.clear();
    polls.clear();
    checks.clear();
  }

  /** Acknowledges everything that is held. */
  void ackAll() {
    for (Client client : clients) {
      List.copyOf(client.unsent).forEach(handover -> send(client, handover));
      client.unsent.clear();
      List.copyOf(client.held).forEach(handover -> ack(client, handover));
      client.held.clear();
    }
  }

  // ---- producers

  void enqueue() {
    String queue = pick(Simulation.QUEUES);
    List<Submission> submissions = new ArrayList<>();
    List<Sent> messages = new ArrayList<>();
    for (int i = chance(80) ? 1 : random.nextInt(5); i > 0; i--) {
      SortedMap<String, Long> throttles = new TreeMap<>();
      for (String throttle : Simulation.THROTTLES) {
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
      long delay = chance(90) ? 0 : random.nextInt(300) * Simulation.MILLI;
      long timeToLive = chance(95) ? 0 : random.nextInt(3_000) * Simulation.MILLI + 1;
      boolean strict = engine().state.lines.get(queue).config.strictOrder();
      Sent sent = ledger.send(queue, route, strict, delay == 0 && timeToLive == 0);
      byte[] payload = ByteBuffer.allocate(4).putInt(sent.number).array();
      String dedupeId = chance(90) ? null : "d" + sent.number;
      submissions.add(
          new Submission(
              route, Envelope.encode(Map.of(), payload), delay, timeToLive, dedupeId, false));
      messages.add(sent);
      tell("enqueue " + sent + ", delay " + delay + ", lives " + timeToLive);
    }
    CompletableFuture<List<UUID>> future = new CompletableFuture<>();
    then(future, ids -> confirm(messages, ids));
    engine().advanceTo(simulation.now());
    engine().intake.enqueue(queue, submissions, future);
    if (future.isCompletedExceptionally()) {
      messages.forEach(ledger::unordered);
    }
    for (int i = 0; i < messages.size(); i++) {
      if (submissions.get(i).dedupeId() != null) {
        repeatable.add(new Repeatable(messages.get(i), submissions.get(i), simulation.now()));
      }
    }
  }

  private void confirm(List<Sent> messages, List<UUID> ids) {
    for (int i = 0; i < messages.size(); i++) {
      ledger.confirmed(messages.get(i), ids.get(i));
    }
  }

  /** A producer that lost the answer; a queue that remembers ids must not take it twice. */
  void sendAgain() {
    if (repeatable.isEmpty()) {
      return;
    }
    Repeatable chosen = pick(repeatable);
    Line line = engine().state.lines.get(chosen.sent.queue);
    boolean remembered =
        line.syncs()
            && chosen.sent.confirmed
            && simulation.now() - chosen.at < line.config.dedupeWindow().toNanos();
    if (remembered) {
      long before = line.depth;
      engine().advanceTo(simulation.now());
      CompletableFuture<List<UUID>> future = new CompletableFuture<>();
      then(future, ids -> ledger.confirmed(chosen.sent, ids.get(0)));
      engine().intake.enqueue(line.name, List.of(chosen.submission), future);
      assertThat(line.depth).as("taken twice: %s", chosen).isEqualTo(before);
    }
  }

  // ---- consumers

  void connect() {
    if (clients.size() < 4) {
      String queue = pick(Simulation.QUEUES);
      consume(chance(15) ? queue + DeadLetter.SUFFIX : queue, 1 + random.nextInt(4));
    }
  }

  void consume(String queue, int credit) {
    Client client = new Client(queue);
    clients.add(client);
    CompletableFuture<Subscriber> future = new CompletableFuture<>();
    then(
        future,
        subscriber -> {
          client.subscriber = subscriber;
          if (!clients.contains(client)) {
            engine().dispatch.close(subscriber, null);
          }
        });
    engine().dispatch.open(queue, new Dispatch.Subscription(credit, true, client, future));
  }

  private void received(Client client, Handover handover) {
    if (!clients.contains(client) || simulation.body(handover) == null) {
      return;
    }
    boolean taken = client.remote ? handover.lease().claim() : handover.lease().receive();
    if (!taken) {
      // Its lease has ended on the way: it leaves the mailbox unseen, and makes room.
      engine().dispatch.give(handover.to(), 1);
    } else if (client.remote) {
      client.unsent.add(handover);
    } else {
      delivered(client, handover);
    }
  }

  /** A connection sends one of the messages that it has got. */
  void sendOne() {
    List<Client> busy = clients.stream().filter(client -> !client.unsent.isEmpty()).toList();
    if (!busy.isEmpty()) {
      Client client = pick(busy);
      send(client, client.unsent.remove(0));
    }
  }

  private void send(Client client, Handover handover) {
    if (simulation.body(handover) != null && handover.lease().send()) {
      delivered(client, handover);
    }
  }

  private void delivered(Client client, Handover handover) {
    int number = number(Objects.requireNonNull(simulation.body(handover)));
    tell("deliver " + number + ": " + handover);
    ledger.delivered(number, handover, simulation.now());
    long lease = handover.entry().line.config.leaseTimeout().toNanos();
    ledger.took(handover, handover.until() - lease);
    client.held.add(handover);
    all.add(new Past(client.queue, handover));
  }

  // ---- calls that receive

  void poll() {
    String queue = pick(Simulation.QUEUES);
    CompletableFuture<Void> future = new CompletableFuture<>();
    Poll poll = new Poll(future, new BodyRoom());
    polls.add(poll);
    Client caller = new Client(queue);
    callers.add(caller);
    then(future, done -> answered(poll, caller));
    engine().advanceTo(simulation.now());
    long wait = chance(50) ? 0 : random.nextInt(100) * Simulation.MILLI;
    tell("poll " + queue + ", waits " + wait);
    engine().dispatch.polls.open(queue, 1 + random.nextInt(4), wait, poll);
    if (chance(10)) {
      cancel(poll);
    }
  }

  /** Some of the messages are sent; then the call breaks off, or all of them were. */
  private void answered(Poll poll, Client caller) {
    int most = chance(70) ? Integer.MAX_VALUE : random.nextInt(3);
    List<Handover> taken = poll.take();
    taken.stream().limit(most).forEach(handover -> send(caller, handover));
    if (taken.size() > most) {
      cancel(poll);
    }
    polls.remove(poll);
  }

  private void cancel(Poll poll) {
    poll.take();
    engine().dispatch.polls.cancel(poll);
    polls.remove(poll);
  }

  /** An untouched message is back where it was. */
  private void isBack(Handover handover) {
    if (handover.attempts() == 0 && mayHold(handover) && handover.until() > engine().state.now) {
      Envelope envelope = simulation.body(handover);
      if (envelope != null) {
        ledger.message(number(envelope)).inLine = true;
      }
    }
  }

  static int number(Envelope envelope) {
    return ByteBuffer.wrap(envelope.payload()).getInt();
  }

  /** A consumer does something with one of its messages, or stalls. */
  void settleOne() {
    List<Client> busy = new ArrayList<>(clients);
    busy.addAll(callers);
    busy.removeIf(client -> client.held.isEmpty());
    if (busy.isEmpty()) {
      return;
    }
    Client client = pick(busy);
    Handover handover = pick(client.held);
    engine().advanceTo(simulation.now());
    switch (random.nextInt(10)) {
      case 0, 1, 2, 3, 4 -> ack(client, handover);
      case 5, 6 -> nack(client, handover);
      case 7 -> extend(client, handover);
      case 8 -> release(client, handover);
      default -> client.held.remove(handover); // forgets it
    }
  }

  /** Somebody acknowledges a message that it had long ago. */
  void ackLate() {
    if (!all.isEmpty()) {
      Past past = all.get(Math.max(0, all.size() - 1 - random.nextInt(30)));
      ack(new Client(past.queue), past.handover);
    }
  }

  /** One who may hold the lease may name the message alone, as clients of fila do. */
  private Dispatch.Claim claim(Handover handover) {
    boolean byId = mayHold(handover) && chance(20);
    return new Dispatch.Claim(handover.entry().id(), byId ? null : handover.token());
  }

  /** Whether the broker may accept something under this lease. */
  private boolean mayHold(Handover handover) {
    SimLedger.Held newest = ledger.lease(handover.entry().id());
    return newest == null
        || (newest.token().equals(handover.token())
            && !ledger.isOutdated(handover)
            && !ledger.isEnded(handover.token()));
  }

  private void ack(Client client, Handover handover) {
    tell("ack " + handover.token());
    Envelope envelope = simulation.body(handover);
    boolean mayHold = mayHold(handover);
    CompletableFuture<List<UUID>> future = new CompletableFuture<>();
    engine().dispatch.ackAll(client.queue, List.of(claim(handover)), future);
    Sent message = envelope == null ? null : ledger.message(number(envelope));
    then(
        future,
        refused -> {
          if (refused.isEmpty() && message != null) {
            assertThat(mayHold).as("stale ack accepted: %s", handover).isTrue();
            message.done = true;
          }
        });
    boolean gone = engine().state.index.get(handover.entry().sequence) == null;
    if (gone && message != null) {
      message.doubtful = true;
    }
    ledger.ended(handover.token());
    if (chance(80)) {
      client.held.remove(handover); // else it acks twice
    }
  }

  private void nack(Client client, Handover handover) {
    tell("nack " + handover.token());
    boolean mayHold = mayHold(handover);
    CompletableFuture<Void> future = new CompletableFuture<>();
    Duration delay = chance(70) ? null : Duration.ofMillis(random.nextInt(500));
    engine().failures.nack(client.queue, claim(handover), new Failures.Nack("no", delay), future);
    if (!future.isCompletedExceptionally() && !simulation.hasFailureHook(handover.entry().line)) {
      long least = delay == null ? leastDelay(handover) : delay.toNanos();
      ledger.notBefore(handover.entry(), engine().state.now + least);
    }
    then(future, done -> assertThat(mayHold).as("stale nack accepted: %s", handover).isTrue());
    ledger.ended(handover.token());
    client.held.remove(handover);
  }

  /** Half of the first delay, doubled with each failure, and at most half of the longest one. */
  private static long leastDelay(Handover handover) {
    QueueConfig config = handover.entry().line.config;
    double doubled = config.retryDelay().toNanos() * Math.pow(2, handover.attempts());
    return (long) Math.min(doubled, (double) config.maxRetryDelay().toNanos()) / 2;
  }

  private void extend(Client client, Handover handover) {
    boolean mayHold = mayHold(handover);
    long until = simulation.now() + Simulation.LEASE;
    CompletableFuture<Void> future = new CompletableFuture<>();
    engine().dispatch.extend(client.queue, claim(handover), Simulation.LEASE, future);
    then(
        future,
        done -> {
          assertThat(mayHold).as("stale extend accepted: %s", handover).isTrue();
          ledger.extended(handover, until);
        });
  }

  private void release(Client client, Handover handover) {
    tell("release " + handover.token());
    isBack(handover);
    CompletableFuture<Void> future = new CompletableFuture<>();
    engine().dispatch.release(client.queue, claim(handover), future);
    if (!future.isCompletedExceptionally() && handover.token().epoch() == engine().state.epoch) {
      ledger.released(handover);
    }
    ledger.ended(handover.token());
    client.held.remove(handover);
  }

  private void disconnect(Client client) {
    clients.remove(client);
    if (client.subscriber != null && chance(30)) {
      detach(client, client.subscriber);
      return;
    }
    tell("disconnect " + client.subscriber);
    client.held.forEach(this::isBack);
    client.held.forEach(handover -> ledger.ended(handover.token()));
    if (client.subscriber != null) {
      client.subscriber.leases().forEach(lease -> ledger.ended(lease.token));
      engine().dispatch.close(client.subscriber, null);
    }
  }

  /** What was sent to the consumer it can settle by calls, until its time is over. */
  private void detach(Client client, Subscriber subscriber) {
    tell("detach " + subscriber);
    Client caller = new Client(client.queue);
    caller.held.addAll(client.held);
    callers.add(caller);
    client.unsent.forEach(this::isBack);
    engine().dispatch.detach(subscriber);
    for (Handover handover : client.unsent) {
      assertThat(handover.lease().send()).as("sent after all: %s", handover).isFalse();
      ledger.ended(handover.token());
    }
    Set<LeaseToken> sent = new HashSet<>();
    all.forEach(past -> sent.add(past.handover.token()));
    for (Lease lease : subscriber.leases()) {
      assertThat(sent).as("stays leased though it was never sent").contains(lease.token);
    }
  }
}
