package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.sluice.broker.internal.engine.BrokerQueue;
import dev.sluice.broker.internal.engine.InternedPlacement;
import dev.sluice.broker.internal.engine.LimitConfigEntry;
import dev.sluice.broker.internal.engine.MessageEntry;
import dev.sluice.broker.internal.engine.MessageIndex;
import dev.sluice.broker.internal.engine.MovedMessageEntry;
import dev.sluice.broker.internal.engine.PendingDelivery;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.UUID;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** Records what clients of a simulated broker know, and checks the promises against it. */
final class SimLedger {
  /** The knowledge about one message, whose number is its payload. */
  static final class Sent {
    final int number;
    final String queue;
    final InternedPlacement.Spec route;
    final Group group;

    /** Whether its place among others is promised: not delayed, not a duplicate. */
    final boolean ordered;

    /** As the producer was told, or as it was delivered first; null before. */
    @Nullable UUID id;

    /** The producer was told that it is stored. */
    boolean confirmed;

    /** A consumer was told that it is acknowledged, or an operator that it is purged. */
    boolean done;

    /** A client tried to remove it: whether it exists is unknown. */
    boolean doubtful;

    /** The broker has leased it at least once, whether it reached a consumer or not. */
    boolean leased;

    /** It waits where it was put: not leased, and never failed. */
    boolean inLine = true;

    Sent(int number, String queue, InternedPlacement.Spec route, Group group, boolean ordered) {
      this.number = number;
      this.queue = queue;
      this.route = route;
      this.group = group;
      this.ordered = ordered;
    }

    @Override
    public String toString() {
      return "message " + number + " of " + queue + " " + route;
    }
  }

  /** A lease that a consumer knows of. */
  record Held(UUID id, LeaseToken token, int attempts, long until) {}

  /** A token that is spent: its message reached a consumer, which did not release it. */
  private record Taken(long at, LeaseToken lease) {}

  private record Level(double tokens, long at) {}

  /** Messages that keep their order. */
  private record Group(String queue, String key, int priority, String throttles) {
    static Group of(String queue, InternedPlacement.Spec route, boolean strict) {
      String throttles = strict ? "" : route.throttleKeys().toString();
      return new Group(queue, route.fairnessKey(), route.priority(), throttles);
    }
  }

  private final Map<Integer, Sent> sent = new LinkedHashMap<>();
  private final Map<Group, List<Sent>> inOrder = new HashMap<>();
  private final Map<UUID, Held> leases = new HashMap<>();
  private final Map<UUID, LeaseToken> newest = new HashMap<>();
  private final Map<UUID, Integer> numbers = new HashMap<>();

  // By where a message is: a redrive takes back its attempts, and a dead letter does not wait.
  private final Map<UUID, Long> notBefore = new HashMap<>();
  private final Map<UUID, Integer> attempts = new HashMap<>();

  private final Set<LeaseToken> ended = new HashSet<>();
  private final Map<String, List<Taken>> throttled = new HashMap<>();

  /** The levels of throttle keys when the broker was opened last. */
  private final Map<String, Level> opened = new HashMap<>();

  int deliveries;

  Sent send(String queue, InternedPlacement.Spec route, boolean strict, boolean ordered) {
    Group group = Group.of(queue, route, strict);
    Sent message = new Sent(sent.size(), queue, route, group, ordered);
    sent.put(message.number, message);
    if (ordered) {
      inOrder.computeIfAbsent(group, absent -> new ArrayList<>()).add(message);
    }
    return message;
  }

  /** The producer is told that a message is stored. */
  void confirmed(Sent message, UUID id) {
    message.confirmed = true;
    identified(message, id);
  }

  /** A message has one id wherever it goes, and no other message has it. */
  private void identified(Sent message, UUID id) {
    assertThat(message.id == null || message.id.equals(id))
        .as("%s was %s and is %s", message, message.id, id)
        .isTrue();
    message.id = id;
    Integer other = numbers.put(id, message.number);
    assertThat(other == null || other == message.number)
        .as("%s is the id of message %s and of %s", id, other, message)
        .isTrue();
  }

  /** Notes that a message is not or perhaps not stored, so it delays no other. */
  void unordered(Sent message) {
    List<Sent> group = inOrder.get(message.group);
    if (group != null) {
      group.remove(message);
    }
  }

  /** A consumer gets a message. */
  void delivered(int number, PendingDelivery handover, long now) {
    deliveries++;
    Sent message = sent.get(number);
    assertThat(message).as("phantom: message %d", number).isNotNull();
    assertThat(message.done).as("delivered after it was done: %s", message).isFalse();
    UUID id = handover.entry().id();
    identified(message, id);
    Held other = leases.get(id);
    assertThat(other == null || other.until <= now || ended.contains(other.token))
        .as("two leases at once of %s: %s and %s", message, other, handover)
        .isTrue();
    leases.put(id, new Held(id, handover.token(), handover.attempts(), handover.until()));
    Integer before = attempts.put(handover.entry().storedId(), handover.attempts());
    assertThat(before == null || before <= handover.attempts())
        .as("attempts go back from %s: %s", before, handover)
        .isTrue();
  }

  /** The broker decides that a message goes. */
  void leased(Sent message, PendingDelivery handover) {
    BrokerQueue line = handover.entry().queue;
    Long earliest = notBefore.remove(handover.entry().storedId());
    long now = handover.until() - line.config.leaseTimeout().toNanos();
    assertThat(earliest == null || earliest <= now).as("too early: %s", handover).isTrue();
    if (line.name.equals(message.queue) && handover.attempts() == 0) {
      inOrder(message);
    }
    message.inLine = false;
    message.leased = true;
    newest.put(handover.entry().id(), handover.token());
  }

  /** A consumer gives a message that it holds back untouched. */
  void givenBack(Sent message, PendingDelivery handover) {
    // A message that failed, or was redriven after that, has a place behind others that waited.
    message.inLine |= handover.attempts() == 0 && !(handover.entry() instanceof MovedMessageEntry);
  }

  private void inOrder(Sent message) {
    List<Sent> group = inOrder.getOrDefault(message.group, List.of());
    for (Sent earlier : group.subList(0, Math.max(0, group.indexOf(message)))) {
      assertThat(earlier.inLine && earlier.confirmed && !earlier.done && !earlier.doubtful)
          .as("%s goes before %s", message, earlier)
          .isFalse();
    }
  }

  /** Notes that a message reached its consumer: its tokens, taken at {@code at}, are spent. */
  void took(PendingDelivery handover, long at) {
    SortedMap<String, Long> throttles = handover.entry().placement.spec.throttleKeys();
    for (Map.Entry<String, Long> each : throttles.entrySet()) {
      List<Taken> all = throttled.computeIfAbsent(each.getKey(), absent -> new ArrayList<>());
      for (long i = 0; i < each.getValue(); i++) {
        all.add(new Taken(at, handover.token()));
      }
    }
  }

  /** Notes that the consumer released the message, in the run of the broker that leased it. */
  void released(PendingDelivery handover) {
    throttled.values().forEach(all -> all.removeIf(taken -> taken.lease.equals(handover.token())));
  }

  /** Notes the level of {@code key} when the broker was opened. */
  void opened(String key, double tokens, long at) {
    opened.put(key, new Level(tokens, at));
  }

  /**
   * Checks, while no message is on its way to a consumer, that the broker has charged exactly the
   * messages that reached a consumer and were not released since it was opened.
   */
  void noTokenIsLost(String key, LimitConfigEntry rate, double level, long now, int epoch) {
    Level from = opened.get(key);
    double expected = from.tokens;
    long at = from.at;
    List<Taken> all = new ArrayList<>(throttled.getOrDefault(key, List.of()));
    all.removeIf(taken -> taken.lease.epoch() != epoch);
    all.sort(Comparator.comparingLong(Taken::at));
    for (Taken taken : all) {
      expected = Math.min(rate.burst(), expected + (taken.at - at) / 1e9 * rate.perSecond()) - 1;
      at = taken.at;
    }
    expected = Math.min(rate.burst(), expected + (now - at) / 1e9 * rate.perSecond());
    assertThat(level).as("tokens of %s", key).isCloseTo(expected, within(1e-6));
  }

  /** The lease is over by something that a client did. */
  void ended(LeaseToken token) {
    ended.add(token);
  }

  boolean isEnded(LeaseToken token) {
    return ended.contains(token);
  }

  @Nullable Held lease(UUID id) {
    return leases.get(id);
  }

  Sent message(int number) {
    return sent.get(number);
  }

  /** Returns the message of that id, which was confirmed or delivered. */
  Sent message(UUID id) {
    return message(numbers.get(id));
  }

  /** A message that failed is not to be tried again before that. */
  void notBefore(MessageEntry entry, long brokerTime) {
    notBefore.put(entry.storedId(), brokerTime);
  }

  /** Returns whether the broker has leased the message to another consumer meanwhile. */
  boolean isOutdated(PendingDelivery handover) {
    LeaseToken token = newest.get(handover.entry().id());
    return token != null && !token.equals(handover.token());
  }

  void extended(PendingDelivery handover, long until) {
    UUID id = handover.entry().id();
    Held held = leases.get(id);
    if (held != null && held.token.equals(handover.token())) {
      leases.put(id, new Held(id, held.token, held.attempts, until));
    }
  }

  /**
   * Forgets all consumers: their messages may be delivered again only when their leases have ended.
   *
   * @param index the messages that the broker has recovered
   */
  void restarted(MessageIndex index) {
    newest.clear();
    notBefore.clear();
    // Whether what ended a lease was stored is open.
    leases.values().removeIf(held -> ended.contains(held.token));
    ended.clear();
    // Messages whose calls did not complete may be stored or not.
    inOrder.values().forEach(group -> group.removeIf(message -> !message.confirmed));
    // A lease whose end was not stored is in force again: its message is out of line until the
    // lease ends, and at the back of the line if that is a failure.
    sent.values().forEach(message -> message.inLine &= !message.leased || waits(message, index));
  }

  private static boolean waits(Sent message, MessageIndex index) {
    MessageEntry entry = message.id == null ? null : index.get(message.id);
    return entry != null && entry.stage == MessageEntry.Stage.PENDING;
  }

  /** The machine stopped, and these queues do not wait for the disk. */
  void mayHaveLost(Predicate<String> queues) {
    for (Sent message : sent.values()) {
      if (queues.test(message.queue)) {
        message.doubtful = true;
        // Its acknowledgement may be lost as well.
        message.done = false;
      }
    }
    attempts.clear();
  }

  /** The machine stopped: leases are not synced, so any of them may be forgotten. */
  void leasesMayBeLost() {
    leases.clear();
  }

  /** Everything is consumed: what was confirmed must have been seen. */
  void nothingIsLost() {
    for (Sent message : sent.values()) {
      assertThat(!message.confirmed || message.done || message.doubtful)
          .as("lost: %s", message)
          .isTrue();
    }
  }

  /** In no window did a throttle key give more than it may. */
  void ratesHold(Map<String, LimitConfigEntry> rates) {
    throttled.forEach(
        (key, times) -> {
          LimitConfigEntry rate = rates.get(key);
          if (rate == null) {
            return;
          }
          times.sort(Comparator.comparingLong(Taken::at));
          for (int from = 0; from < times.size(); from++) {
            for (int to = from; to < times.size(); to++) {
              double seconds = (times.get(to).at - times.get(from).at) / 1e9;
              assertThat(to - from + 1.0)
                  .as("tokens of %s in %f s", key, seconds)
                  .isLessThanOrEqualTo(rate.burst() + rate.perSecond() * seconds + 1e-6);
            }
          }
        });
  }
}
