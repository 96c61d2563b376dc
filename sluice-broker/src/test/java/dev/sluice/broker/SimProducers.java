package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.broker.SimLedger.Sent;
import dev.sluice.broker.internal.engine.BrokerQueue;
import dev.sluice.broker.internal.engine.InternedPlacement;
import dev.sluice.broker.internal.engine.PreparedMessage;
import dev.sluice.broker.internal.store.MessageEnvelope;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;

/** Producers of a {@link Simulation}: some send again what was stored. */
final class SimProducers {
  private static final List<String> KEYS = List.of("k1", "k2", "k3");

  private final Simulation simulation;
  private final Random random;
  private final SimLedger ledger;
  private final SimAnswers answers;

  /** Messages with an id by which they are known again. */
  private final List<Repeatable> repeatable = new ArrayList<>();

  private record Repeatable(Sent sent, PreparedMessage submission, long at) {}

  SimProducers(Simulation simulation, Random random, SimLedger ledger, SimAnswers answers) {
    this.simulation = simulation;
    this.random = random;
    this.ledger = ledger;
    this.answers = answers;
  }

  private <E> E pick(List<E> from) {
    return from.get(random.nextInt(from.size()));
  }

  void enqueue() {
    String queue = pick(Simulation.QUEUES);
    List<PreparedMessage> submissions = new ArrayList<>();
    List<Sent> messages = new ArrayList<>();
    for (int i = simulation.chance(80) ? 1 : random.nextInt(5); i > 0; i--) {
      SortedMap<String, Long> throttles = new TreeMap<>();
      for (String throttle : Simulation.THROTTLES) {
        if (simulation.chance(25)) {
          throttles.put(throttle, 1L);
        }
      }
      InternedPlacement.Spec route =
          new InternedPlacement.Spec(
              pick(KEYS),
              1 + random.nextInt(3),
              simulation.chance(90) ? 0 : 1,
              Collections.unmodifiableSortedMap(throttles));
      long delay = simulation.chance(90) ? 0 : random.nextInt(300) * Simulation.MILLI;
      long timeToLive = simulation.chance(95) ? 0 : random.nextInt(3_000) * Simulation.MILLI + 1;
      boolean strict = simulation.engine().state.queues.get(queue).config.strictOrder();
      Sent sent = ledger.send(queue, route, strict, delay == 0 && timeToLive == 0);
      byte[] payload = ByteBuffer.allocate(4).putInt(sent.number).array();
      String dedupeId = simulation.chance(90) ? null : "d" + sent.number;
      submissions.add(
          new PreparedMessage(
              route,
              MessageEnvelope.encode(Map.of(), payload),
              delay,
              timeToLive,
              dedupeId,
              false));
      messages.add(sent);
      simulation.tell("enqueue " + sent + ", delay " + delay + ", lives " + timeToLive);
    }
    CompletableFuture<List<UUID>> future = new CompletableFuture<>();
    answers.then(future, ids -> confirm(messages, ids));
    simulation.engine().advanceTo(simulation.now());
    simulation.engine().enqueueHandler.enqueue(queue, submissions, future);
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
    BrokerQueue line = simulation.engine().state.queues.get(chosen.sent.queue);
    boolean remembered =
        line.syncs()
            && chosen.sent.confirmed
            && simulation.now() - chosen.at < line.config.dedupeWindow().toNanos();
    if (remembered) {
      long before = line.depth;
      simulation.engine().advanceTo(simulation.now());
      CompletableFuture<List<UUID>> future = new CompletableFuture<>();
      answers.then(future, ids -> ledger.confirmed(chosen.sent, ids.get(0)));
      simulation.engine().enqueueHandler.enqueue(line.name, List.of(chosen.submission), future);
      assertThat(line.depth).as("taken twice: %s", chosen).isEqualTo(before);
    }
  }
}
