package dev.sluice.broker;

import dev.sluice.broker.internal.engine.LimitConfigEntry;
import dev.sluice.broker.internal.store.MessageId;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.Function;
import java.util.stream.Collectors;

/** The promises of a broker, held against what its clients saw over all restarts. */
final class KillCheck {
  /** The event that stopped the broker. */
  enum Fault {
    /** The end of its process: what was written is there. */
    KILL,

    /** A power loss: writes that were not synced, leases among them, may be lost. */
    POWER
  }

  /**
   * Whether a lease that runs out while the broker is down, or as it is killed, is a failure that
   * is counted. It is not always: see {@link LeaseExpiryCrashTest}.
   */
  private static final boolean COUNTS_OVER_KILLS = true;

  private static final Comparator<KillHistory.Lease> BY_TOKEN =
      Comparator.comparing(lease -> lease.token);

  private final KillHistory history;
  private final Fault fault;
  private final List<String> violations;

  private KillCheck(KillHistory history, Fault fault) {
    this.history = history;
    this.fault = fault;
    this.violations = new ArrayList<>(history.violations);
  }

  /** Everything that was promised and is not so. */
  static List<String> violations(KillHistory history, Fault fault) {
    KillCheck check = new KillCheck(history, fault);
    history.sent.values().forEach(check::message);
    check.identities();
    check.producersOrder();
    check.deliveryOrder();
    check.leasesBy(lease -> lease.id).forEach(check::oneLeaseAtATime);
    check.leasesBy(lease -> lease.place).forEach(check::attempts);
    if (fault == Fault.KILL) {
      check.violations.addAll(history.leasesLost);
      KillLoad.RATES.forEach(check::rate);
    }
    return check.violations;
  }

  /** In the order in which they were given. */
  private Collection<List<KillHistory.Lease>> leasesBy(Function<KillHistory.Lease, UUID> what) {
    return history.leases.values().stream()
        .sorted(BY_TOKEN)
        .collect(Collectors.groupingBy(what))
        .values();
  }

  /** Nothing that was confirmed is lost, and nothing that was acknowledged comes back. */
  private void message(KillHistory.Sent message) {
    if (message.refused && !message.leases.isEmpty()) {
      violations.add("refused and delivered: " + message + ", " + message.leases);
    }
    List<KillHistory.Lease> leases = message.leases.stream().sorted(BY_TOKEN).toList();
    boolean over = false;
    for (int i = 0; i < leases.size(); i++) {
      KillHistory.Lease lease = leases.get(i);
      boolean last = i == leases.size() - 1;
      if (lease.ack == KillHistory.Ack.DONE && !last) {
        violations.add("delivered after its ack: " + lease + ", then " + leases.get(i + 1));
      }
      // An acknowledgement that was not answered may have been stored, if nothing came after.
      over |= lease.ack == KillHistory.Ack.DONE || (last && lease.ack == KillHistory.Ack.OPEN);
    }
    if (history.isDrained() && message.id != null && !over) {
      violations.add("lost: " + message + ", " + leases);
    }
  }

  /** A message has one id, which its producer was told, wherever it moves; no other one has it. */
  private void identities() {
    Map<UUID, Long> numbers = new HashMap<>();
    Map<Long, UUID> ids = new HashMap<>();
    for (KillHistory.Sent message : history.sent.values()) {
      if (message.id != null) {
        same(numbers, ids, message.id, message.number);
      }
    }
    history.leases.values().forEach(lease -> same(numbers, ids, lease.id, lease.number));
  }

  private void same(Map<UUID, Long> numbers, Map<Long, UUID> ids, UUID id, long number) {
    Long other = numbers.put(id, number);
    if (other != null && other != number) {
      violations.add("one id of two messages: " + id + " of " + other + " and " + number);
    }
    UUID before = ids.put(number, id);
    if (before != null && !before.equals(id)) {
      violations.add("two ids of one message: " + before + " and " + id + " of " + number);
    }
  }

  /** One producer's messages are stored in the order in which it sent them. */
  private void producersOrder() {
    Map<String, KillHistory.Sent> latest = new HashMap<>();
    for (KillHistory.Sent message : history.sent.values()) {
      UUID id = message.id;
      if (id == null || message.producer.equals("again")) {
        continue;
      }
      String line = message.run + " " + message.producer + " " + message.queue;
      KillHistory.Sent before = latest.put(line, message);
      // Those that were sent again after a restart have their place there.
      if (before != null && before.id != null && sequence(before.id) > sequence(id)) {
        boolean resent = sequence(before.id) >>> 40 != sequence(id) >>> 40;
        if (!resent) {
          violations.add("stored in another order than sent: " + before + ", " + message);
        }
      }
    }
  }

  private static long sequence(UUID id) {
    return MessageId.sequence(id);
  }

  /** First deliveries within queue, key and throttle set are in the order of storing. */
  private void deliveryOrder() {
    Map<UUID, KillHistory.Lease> first = new HashMap<>();
    Map<String, KillHistory.Lease> furthest = new HashMap<>();
    history.leases.values().stream()
        .sorted(BY_TOKEN)
        .filter(lease -> first.putIfAbsent(lease.place, lease) == null && isPlain(lease))
        .forEach(lease -> inOrder(lease, furthest));
  }

  /** Returns whether no consumer that was closed may have held an earlier lease of it. */
  private boolean isPlain(KillHistory.Lease lease) {
    return lease.attempts == 0 && !history.closings.contains(lease.run + " " + lease.queue);
  }

  private void inOrder(KillHistory.Lease lease, Map<String, KillHistory.Lease> furthest) {
    String line = lease.queue + " " + lease.group;
    KillHistory.Lease before = furthest.get(line);
    boolean comparable = before != null && (fault == Fault.KILL || before.run == lease.run);
    if (comparable && sequence(before.place) > sequence(lease.place)) {
      violations.add("out of order: " + before + ", then " + lease);
    } else {
      furthest.put(line, lease);
    }
  }

  /** A message has one lease at a time, also while it moves between queues. */
  private void oneLeaseAtATime(List<KillHistory.Lease> leases) {
    for (int i = 1; i < leases.size(); i++) {
      KillHistory.Lease before = leases.get(i - 1);
      KillHistory.Lease lease = leases.get(i);
      if (ranOut(before) && lease.leased < before.end) {
        violations.add("two leases at once: " + before + ", " + lease);
      }
    }
  }

  private boolean ranOut(KillHistory.Lease lease) {
    return lease.settling == 0 && fault == Fault.KILL;
  }

  /** A failure is counted once it is known, and never forgotten until the message is redriven. */
  private void attempts(List<KillHistory.Lease> leases) {
    for (int i = 1; i < leases.size(); i++) {
      KillHistory.Lease before = leases.get(i - 1);
      KillHistory.Lease lease = leases.get(i);
      boolean counted = before.run == lease.run || COUNTS_OVER_KILLS;
      boolean failed = before.nacked || (ranOut(before) && counted);
      if (lease.attempts < before.attempts + (failed ? 1 : 0)) {
        violations.add("attempts: " + before + ", then " + lease);
      }
    }
  }

  /**
   * In no window, across any restarts, more than the burst and the tokens accrued in it; leases
   * that their holders released do not count (ADR 18). By the clock of the machine: broker time
   * goes on from the wall clock, so that at a restart it may pass over some of the time that went
   * by.
   */
  private void rate(String throttle, LimitConfigEntry rate) {
    List<KillHistory.Lease> taken =
        history.leases.values().stream()
            .filter(lease -> !lease.free && !lease.released)
            .filter(lease -> lease.group.matches(".*[/+]" + throttle + "(\\+.*)?"))
            .sorted(Comparator.comparingLong(lease -> lease.onMachine))
            .toList();
    double used = 0;
    long at = 0;
    for (KillHistory.Lease lease : taken) {
      used = Math.max(0, used - (lease.onMachine - at) / 1e9 * rate.perSecond()) + 1;
      at = lease.onMachine;
      if (used > rate.burst() + 1e-6) {
        violations.add("rate of " + throttle + ": " + used + " at once at " + lease);
      }
    }
  }
}
