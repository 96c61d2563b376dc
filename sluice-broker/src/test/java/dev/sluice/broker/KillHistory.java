package dev.sluice.broker;

import dev.sluice.broker.internal.store.rocks.WalPosition;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** The events of a {@link KillLog} by message and by lease. */
final class KillHistory {
  /** The clocks of a client and of the broker differ by less. */
  private static final long CLOCKS_NANOS = 50_000_000;

  /** A message that a producer tried to enqueue. */
  static final class Sent {
    final long number;
    final String queue;
    final String producer;
    final int run;
    @Nullable UUID id;
    boolean refused;

    /** In all its places: as a message, as a dead letter, as a message again. */
    final List<Lease> leases = new ArrayList<>();

    Sent(long number, String queue, String producer, int run) {
      this.number = number;
      this.queue = queue;
      this.producer = producer;
      this.run = run;
    }

    @Override
    public String toString() {
      return "message " + number + " of " + queue + " (" + id + ")";
    }
  }

  /** How an acknowledgement stands. */
  enum Ack {
    NONE,
    OPEN,
    DONE,
    REFUSED
  }

  /** A delivery that a consumer saw. */
  static final class Lease {
    final long number;
    final String queue;
    final String group;
    final UUID id;
    final LeaseToken token;
    final int attempts;

    /** Broker time. */
    final long leased;

    /** Where the message was stored, which is another place after each move. */
    final UUID place;

    final int run;

    /** The same instant on the clock of the machine, which no restart touches. */
    long onMachine;

    /** Whether the limits had been removed by then. */
    boolean free;

    /** Broker time before which the lease has not run out. */
    long end;

    /** How often a consumer tried to settle it. */
    int settling;

    Ack ack = Ack.NONE;
    boolean nacked;

    /** Whether its holder gave the message back, and with it the tokens of its throttle keys. */
    boolean released;

    private long extension;

    Lease(String[] words, int run) {
      this.number = Long.parseLong(words[1]);
      this.queue = words[2];
      this.group = words[3];
      this.id = UUID.fromString(words[4]);
      this.token = KillLog.token(words[5]);
      this.attempts = Integer.parseInt(words[6]);
      this.leased = Long.parseLong(words[7]);
      this.place = UUID.fromString(words[8]);
      this.run = run;
      this.end = leased + KillLoad.LEASE.toNanos();
    }

    @Override
    public String toString() {
      return "lease "
          + KillLog.word(token)
          + " of "
          + number
          + " in "
          + queue
          + " "
          + group
          + " after "
          + attempts
          + " at "
          + leased;
    }
  }

  final Map<Long, Sent> sent = new LinkedHashMap<>();
  final Map<LeaseToken, Lease> leases = new LinkedHashMap<>();

  /** Run and queue in which a consumer was closed, with leases that it may not have received. */
  final Set<String> closings = new HashSet<>();

  /** The contradictions found so far. */
  final List<String> violations = new ArrayList<>();

  /** Refused although the lease should be in force. */
  final List<String> leasesLost = new ArrayList<>();

  WalPosition synced = new WalPosition(0, 0);
  int run;
  private boolean drained;
  private boolean free;
  private long toMachine;

  private KillHistory() {}

  static KillHistory read(Path ledger) throws IOException {
    return of(KillLog.read(ledger));
  }

  static KillHistory of(List<String[]> lines) {
    KillHistory history = new KillHistory();
    lines.forEach(history::line);
    return history;
  }

  boolean isDrained() {
    return drained;
  }

  /** Whether a message was confirmed in {@code run} that no consumer has got. */
  boolean hasUntouched(int run) {
    return sent.values().stream()
        .anyMatch(each -> each.run == run && each.id != null && each.leases.isEmpty());
  }

  private void line(String[] words) {
    switch (words[0]) {
      case "open" -> run++;
      case "send" -> {
        long number = Long.parseLong(words[1]);
        sent.putIfAbsent(number, new Sent(number, words[2], words[3], run));
      }
      case "sent" -> confirm(Long.parseLong(words[1]), UUID.fromString(words[2]));
      case "refused" -> sent.get(Long.parseLong(words[1])).refused = true;
      case "got" -> got(new Lease(words, run));
      case "try" -> attempt(words, leases.get(KillLog.token(words[2])));
      case "done" -> done(words[1], leases.get(KillLog.token(words[2])));
      case "late" -> late(words, leases.get(KillLog.token(words[2])));
      case "close" -> closings.add(run + " " + words[1]);
      case "wal" -> synced = new WalPosition(Long.parseLong(words[1]), Long.parseLong(words[2]));
      case "clock" -> toMachine = Long.parseLong(words[2]) - Long.parseLong(words[1]);
      case "free" -> free = true;
      case "drained" -> drained = true;
      default -> violations.add(String.join(" ", words));
    }
  }

  private void confirm(long number, UUID id) {
    Sent message = sent.get(number);
    if (message.id != null && !message.id.equals(id)) {
      violations.add("stored twice: " + message + " and " + id);
    }
    message.id = id;
  }

  private void got(Lease lease) {
    Sent message = sent.get(lease.number);
    if (message == null) {
      violations.add("phantom: " + lease);
      return;
    }
    message.leases.add(lease);
    lease.free = free;
    lease.onMachine = lease.leased + toMachine;
    if (leases.put(lease.token, lease) != null) {
      violations.add("token twice: " + lease);
    }
  }

  private static void attempt(String[] words, Lease lease) {
    if (words[1].equals("extend")) {
      lease.extension = Long.parseLong(words[3]) + Long.parseLong(words[4]) - CLOCKS_NANOS;
      lease.end = Math.min(lease.end, lease.extension);
      return;
    }
    lease.settling++;
    switch (words[1]) {
      case "ack" -> lease.ack = Ack.OPEN;
      case "release" -> lease.released = true;
      default -> {}
    }
  }

  private static void done(String operation, Lease lease) {
    switch (operation) {
      case "ack" -> lease.ack = Ack.DONE;
      case "nack" -> lease.nacked = true;
      case "extend" -> lease.end = lease.extension;
      default -> {}
    }
  }

  private void late(String[] words, Lease lease) {
    boolean only = lease.settling == (words[1].equals("extend") ? 0 : 1);
    if (only && Long.parseLong(words[3]) + CLOCKS_NANOS < lease.end) {
      leasesLost.add("refused in time: " + words[1] + " at " + words[3] + " of " + lease);
    }
    if (words[1].equals("ack") && lease.ack == Ack.OPEN) {
      lease.ack = Ack.REFUSED;
    }
    if (words[1].equals("release")) {
      lease.released = false;
    }
  }

  /** Leases whose holders had not tried to settle them when the last process ended. */
  List<Lease> unsettledAtEnd() {
    return leases.values().stream()
        .filter(lease -> lease.run == run && lease.settling == 0)
        .toList();
  }

  /** Returns messages of the last process that may or may not be stored. */
  List<Long> unconfirmedAtEnd() {
    return sent.values().stream()
        .filter(message -> message.run == run && message.id == null && !message.refused)
        .map(message -> message.number)
        .toList();
  }
}
