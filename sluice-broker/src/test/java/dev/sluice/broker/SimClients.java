package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.broker.SimLedger.Sent;
import dev.sluice.broker.internal.engine.BrokerEngine;
import dev.sluice.broker.internal.engine.ConsumerState;
import dev.sluice.broker.internal.engine.Dispatcher;
import dev.sluice.broker.internal.engine.FailureHandler;
import dev.sluice.broker.internal.engine.Lease;
import dev.sluice.broker.internal.engine.PendingDelivery;
import dev.sluice.broker.internal.engine.PendingReceive;
import dev.sluice.broker.internal.engine.PrefetchBudget;
import dev.sluice.broker.internal.store.MessageEnvelope;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Consumers of a {@link Simulation}: some stall, some die, some settle too late. */
final class SimClients {
  private final Simulation simulation;
  private final Random random;
  private final SimLedger ledger;
  private final List<Client> clients = new ArrayList<>();

  /** Callers that received messages by a poll. */
  private final List<Client> callers = new ArrayList<>();

  private final List<PendingReceive> polls = new ArrayList<>();

  /** Everything that was ever delivered. */
  private final List<Past> all = new ArrayList<>();

  private record Past(String queue, PendingDelivery handover) {}

  private final SimAnswers answers;

  /** A consumer and the messages it has. */
  private final class Client implements ConsumerState.DeliveryTarget {
    final String queue;
    @Nullable ConsumerState subscriber;

    /** Whether a connection forwards the messages from the broker to the consumer. */
    final boolean remote = chance(50);

    /** Messages that the connection has not sent to the consumer. */
    final List<PendingDelivery> unsent = new ArrayList<>();

    final List<PendingDelivery> held = new ArrayList<>();

    /** Whether the broker has said that it delivers nothing more. */
    boolean drained;

    Client(String queue) {
      this.queue = queue;
    }

    @Override
    public void deliver(List<PendingDelivery> batch) {
      for (PendingDelivery handover : batch) {
        received(this, handover);
      }
    }

    @Override
    public void closed(BrokerException why) {
      clients.remove(this);
    }
  }

  SimClients(Simulation simulation, Random random, SimLedger ledger, SimAnswers answers) {
    this.simulation = simulation;
    this.random = random;
    this.ledger = ledger;
    this.answers = answers;
  }

  private boolean chance(int percent) {
    return simulation.chance(percent);
  }

  private <E> E pick(List<E> from) {
    return from.get(random.nextInt(from.size()));
  }

  private BrokerEngine engine() {
    return simulation.engine();
  }

  private void tell(String what) {
    simulation.tell(what);
  }

  void disconnectAny() {
    if (!clients.isEmpty()) {
      disconnect(pick(clients));
    }
  }

  /** Disconnects all consumers and cancels all polls. Callers keep the messages they were sent. */
  void disconnectAll() {
    List.copyOf(clients).forEach(this::disconnect);
    List.copyOf(polls).forEach(this::cancel);
  }

  /** Forgets all clients, because the broker has been killed. */
  void forget() {
    clients.clear();
    callers.clear();
    polls.clear();
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

  // ---- consumers

  void connect() {
    if (clients.size() < 4) {
      String queue = pick(Simulation.QUEUES);
      consume(chance(15) ? queue + QueueNames.DEAD_LETTER_SUFFIX : queue, 1 + random.nextInt(4));
    }
  }

  void consume(String queue, int credit) {
    Client client = new Client(queue);
    clients.add(client);
    CompletableFuture<ConsumerState> future = new CompletableFuture<>();
    answers.then(
        future,
        subscriber -> {
          client.subscriber = subscriber;
          if (!clients.contains(client)) {
            engine().dispatcher.close(subscriber, null);
          }
        });
    engine()
        .dispatcher
        .open(queue, new Dispatcher.ConsumerRegistration(credit, true, client, future));
  }

  private void received(Client client, PendingDelivery handover) {
    if (!clients.contains(client) || simulation.body(handover) == null) {
      return;
    }
    boolean taken = client.remote ? handover.lease().claim() : handover.lease().receive();
    assertThat(taken && client.drained).as("delivered after the drain: %s", handover).isFalse();
    if (!taken) {
      // Its lease has ended on the way: it leaves the mailbox unseen, and makes room.
      engine().dispatcher.addCredit(handover.consumer(), 1);
    } else if (client.remote) {
      client.unsent.add(handover);
    } else {
      delivered(client, handover);
    }
  }

  /** A connection sends one of its messages to its consumer. */
  void sendOne() {
    List<Client> busy = clients.stream().filter(client -> !client.unsent.isEmpty()).toList();
    if (!busy.isEmpty()) {
      Client client = pick(busy);
      send(client, client.unsent.remove(0));
    }
  }

  private void send(Client client, PendingDelivery handover) {
    if (simulation.body(handover) != null && handover.lease().send()) {
      delivered(client, handover);
    }
  }

  private void delivered(Client client, PendingDelivery handover) {
    int number = number(Objects.requireNonNull(simulation.body(handover)));
    tell("deliver " + number + ": " + handover);
    ledger.delivered(number, handover, simulation.now());
    long lease = handover.entry().queue.config.leaseTimeout().toNanos();
    ledger.took(handover, handover.until() - lease);
    client.held.add(handover);
    all.add(new Past(client.queue, handover));
  }

  // ---- polls

  void poll() {
    String queue = pick(Simulation.QUEUES);
    CompletableFuture<Void> future = new CompletableFuture<>();
    PendingReceive poll = new PendingReceive(future, new PrefetchBudget());
    polls.add(poll);
    Client caller = new Client(queue);
    callers.add(caller);
    answers.then(future, done -> answered(poll, caller));
    engine().advanceTo(simulation.now());
    long wait = chance(50) ? 0 : random.nextInt(100) * Simulation.MILLI;
    tell("poll " + queue + ", waits " + wait);
    engine().dispatcher.receives.open(queue, 1 + random.nextInt(4), wait, poll);
    if (chance(10)) {
      cancel(poll);
    }
  }

  /** Sends all messages to the caller, or some of them and then cancels the poll. */
  private void answered(PendingReceive poll, Client caller) {
    int most = chance(70) ? Integer.MAX_VALUE : random.nextInt(3);
    List<PendingDelivery> taken = poll.take();
    taken.stream().limit(most).forEach(handover -> send(caller, handover));
    if (taken.size() > most) {
      cancel(poll);
    }
    polls.remove(poll);
  }

  private void cancel(PendingReceive poll) {
    poll.take();
    engine().dispatcher.receives.cancel(poll);
    polls.remove(poll);
  }

  /** An untouched message is back where it was. */
  private void isBack(PendingDelivery handover) {
    if (mayHold(handover) && handover.until() > engine().state.now) {
      MessageEnvelope envelope = simulation.body(handover);
      if (envelope != null) {
        ledger.givenBack(ledger.message(number(envelope)), handover);
      }
    }
  }

  static int number(MessageEnvelope envelope) {
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
    PendingDelivery handover = pick(client.held);
    engine().advanceTo(simulation.now());
    switch (random.nextInt(10)) {
      case 0, 1, 2, 3, 4 -> ack(client, handover);
      case 5, 6 -> nack(client, handover);
      case 7 -> extend(client, handover);
      case 8 -> release(client, handover);
      default -> client.held.remove(handover); // forgets it
    }
  }

  /** A consumer acknowledges a message whose lease ended long ago. */
  void ackLate() {
    if (!all.isEmpty()) {
      Past past = all.get(Math.max(0, all.size() - 1 - random.nextInt(30)));
      ack(new Client(past.queue), past.handover);
    }
  }

  /** The holder of the lease may name the message alone, as clients of fila do. */
  private Dispatcher.LeaseRef claim(PendingDelivery handover) {
    boolean byId = mayHold(handover) && chance(20);
    return new Dispatcher.LeaseRef(handover.entry().id(), byId ? null : handover.token());
  }

  /** Whether the broker may accept something under this lease. */
  private boolean mayHold(PendingDelivery handover) {
    SimLedger.Held newest = ledger.lease(handover.entry().id());
    return newest == null
        || (newest.token().equals(handover.token())
            && !ledger.isOutdated(handover)
            && !ledger.isEnded(handover.token()));
  }

  private void ack(Client client, PendingDelivery handover) {
    tell("ack " + handover.token());
    boolean mayHold = mayHold(handover);
    // By its id: it may have moved since, and an ack that names the id alone ends it all the same.
    UUID id = handover.entry().id();
    Sent message = ledger.message(id);
    boolean wasThere = engine().state.index.get(id) != null;
    CompletableFuture<List<UUID>> future = new CompletableFuture<>();
    engine().dispatcher.ackAll(client.queue, List.of(claim(handover)), future);
    answers.then(
        future,
        refused -> {
          if (refused.isEmpty()) {
            assertThat(mayHold).as("stale ack accepted: %s", handover).isTrue();
            message.done = true;
          }
        });
    message.doubtful |= wasThere && engine().state.index.get(id) == null;
    ledger.ended(handover.token());
    if (chance(80)) {
      client.held.remove(handover); // else it acks twice
    }
  }

  private void nack(Client client, PendingDelivery handover) {
    tell("nack " + handover.token());
    boolean mayHold = mayHold(handover);
    CompletableFuture<Void> future = new CompletableFuture<>();
    Duration delay = chance(70) ? null : Duration.ofMillis(random.nextInt(500));
    engine()
        .failureHandler
        .nack(client.queue, claim(handover), new FailureHandler.Nack("no", delay), future);
    if (!future.isCompletedExceptionally() && !simulation.hasFailureHook(handover.entry().queue)) {
      long least = delay == null ? leastDelay(handover) : delay.toNanos();
      ledger.notBefore(handover.entry(), engine().state.now + least);
    }
    answers.then(
        future, done -> assertThat(mayHold).as("stale nack accepted: %s", handover).isTrue());
    ledger.ended(handover.token());
    client.held.remove(handover);
  }

  /** Half of the first delay, doubled with each failure, and at most half of the longest one. */
  private static long leastDelay(PendingDelivery handover) {
    QueueConfig config = handover.entry().queue.config;
    double doubled = config.retryDelay().toNanos() * Math.pow(2, handover.attempts());
    return (long) Math.min(doubled, (double) config.maxRetryDelay().toNanos()) / 2;
  }

  private void extend(Client client, PendingDelivery handover) {
    boolean mayHold = mayHold(handover);
    long until = simulation.now() + Simulation.LEASE;
    CompletableFuture<Void> future = new CompletableFuture<>();
    engine().dispatcher.extend(client.queue, claim(handover), Simulation.LEASE, future);
    answers.then(
        future,
        done -> {
          assertThat(mayHold).as("stale extend accepted: %s", handover).isTrue();
          ledger.extended(handover, until);
        });
  }

  private void release(Client client, PendingDelivery handover) {
    tell("release " + handover.token());
    isBack(handover);
    CompletableFuture<Void> future = new CompletableFuture<>();
    engine().dispatcher.release(client.queue, claim(handover), future);
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
      engine().dispatcher.close(client.subscriber, null);
    }
  }

  /** A consumer takes nothing more, and settles what it has. */
  void drainAny() {
    List<Client> open = clients.stream().filter(client -> client.subscriber != null).toList();
    if (!open.isEmpty()) {
      Client client = pick(open);
      drain(client, Objects.requireNonNull(client.subscriber));
    }
  }

  private void drain(Client client, ConsumerState subscriber) {
    tell("drain " + subscriber);
    client.unsent.forEach(this::isBack);
    CompletableFuture<Void> future = new CompletableFuture<>();
    engine().advanceTo(simulation.now());
    engine().dispatcher.drain(subscriber, future);
    answers.then(future, done -> client.drained = true);
    noneIsSent(client.unsent);
    client.unsent.clear();
    onlySentStayLeased(subscriber);
  }

  /** The consumer can settle forwarded messages by calls until their leases end. */
  private void detach(Client client, ConsumerState subscriber) {
    tell("detach " + subscriber);
    Client caller = new Client(client.queue);
    caller.held.addAll(client.held);
    callers.add(caller);
    client.unsent.forEach(this::isBack);
    engine().dispatcher.detach(subscriber);
    noneIsSent(client.unsent);
    onlySentStayLeased(subscriber);
  }

  private void noneIsSent(List<PendingDelivery> unsent) {
    for (PendingDelivery handover : unsent) {
      assertThat(handover.lease().send()).as("sent after all: %s", handover).isFalse();
      ledger.ended(handover.token());
    }
  }

  private void onlySentStayLeased(ConsumerState subscriber) {
    Set<LeaseToken> sent = new HashSet<>();
    all.forEach(past -> sent.add(past.handover.token()));
    for (Lease lease : subscriber.leases()) {
      assertThat(sent).as("stays leased though it was never sent").contains(lease.token);
    }
  }
}
