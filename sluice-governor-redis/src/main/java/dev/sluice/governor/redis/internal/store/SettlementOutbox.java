package dev.sluice.governor.redis.internal.store;

import dev.sluice.governor.redis.RedisBudgets;
import dev.sluice.governor.spi.StoreTimer;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.ObjLongConsumer;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Settlements, extensions and cancellations of one model that Redis has not confirmed. They are
 * sent again until it has; each can be applied twice and counts once. Bounded: of too many the
 * oldest are dropped. Thread-safe.
 */
final class SettlementOutbox {
  /** The number of entries that are sent at once, which Redis runs well within the timeout. */
  private static final int AT_ONCE = 256;

  private static final Logger LOG = LoggerFactory.getLogger(RedisBudgets.class);
  private static final int MOST = 100_000;
  private static final int WARN_EVERY = 10_000;

  /** The clocks of Redis and of this node measure a reservation far more exactly than this. */
  private static final long TOLERANCE_NANOS = TimeUnit.SECONDS.toNanos(10);

  /** The position of the tokens in the arguments of a grant. */
  private static final int TOKENS_AT = 1;

  private final String model;
  private final ModelScripts scripts;
  private final StoreTimer timer;
  private final ObjLongConsumer<ScriptResult> settled;

  // Guarded by this.
  private final Map<String, PendingSettlement> entries = new LinkedHashMap<>();

  /** Requests to undo, by the time after which Redis does not run them, the earliest first. */
  private final Map<String, Long> expiring = new LinkedHashMap<>();

  private long dropped;

  private enum Kind {
    SETTLE,
    /** Settles a grant that another node delivered. */
    SETTLE_ELSEWHERE,
    EXTEND,
    CANCEL,
    /** Ends a grant again that a delayed call may have restored after its settlement. */
    RELEASE,
    /** Returns the grant of a request whose result was not delivered, or that was canceled. */
    UNDO
  }

  /**
   * A settlement, extension or cancellation.
   *
   * @param actual the tokens used; of an extension, the time at which the grant expires without it
   * @param details of an extension, the grant
   */
  private record PendingSettlement(String id, Kind kind, long actual, List<String> details) {
    PendingSettlement(String id, Kind kind, long actual) {
      this(id, kind, actual, List.of());
    }
  }

  /** Creates an outbox; {@code settled} receives the result of a settlement and its usage. */
  SettlementOutbox(
      String model, ModelScripts scripts, StoreTimer timer, ObjLongConsumer<ScriptResult> settled) {
    this.model = model;
    this.scripts = scripts;
    this.timer = timer;
    this.settled = settled;
  }

  /** Returns the arguments of a settlement; {@code elsewhere} notifies the node of the grant. */
  static String[] settlement(String id, long actual, boolean elsewhere) {
    return elsewhere
        ? new String[] {"settle", id, Long.toString(actual), "elsewhere"}
        : new String[] {"settle", id, Long.toString(actual)};
  }

  /** Returns the arguments of an extension, as {@link #settlement}. */
  static String[] extension(String id, boolean elsewhere) {
    return elsewhere ? new String[] {"extend", id, "elsewhere"} : new String[] {"extend", id};
  }

  /** Adds a settlement; returns false if the reservation was settled before. */
  synchronized boolean settle(String id, long actual, boolean elsewhere) {
    PendingSettlement before = entries.get(id);
    if (before != null && !impliedBySettlement(before)) {
      return false;
    }
    add(new PendingSettlement(id, elsewhere ? Kind.SETTLE_ELSEWHERE : Kind.SETTLE, actual));
    return true;
  }

  synchronized void extend(NodeGrants.Extended extended) {
    NodeGrants.Grant grant = extended.grant();
    PendingSettlement before = entries.get(grant.id());
    if (before == null) {
      add(new PendingSettlement(grant.id(), Kind.EXTEND, extended.before(), grant.arguments()));
    }
  }

  /** Adds a cancellation; a grant that is {@code granted} may be stored without a ticket. */
  synchronized void cancel(String id, boolean granted) {
    PendingSettlement before = entries.get(id);
    if (before == null || impliedBySettlement(before)) {
      add(new PendingSettlement(id, granted ? Kind.UNDO : Kind.CANCEL, 0));
    }
  }

  /** Returns whether the end of a grant or a ticket is to be sent to Redis. */
  synchronized boolean ends(String id) {
    PendingSettlement entry = entries.get(id);
    return entry != null && !impliedBySettlement(entry);
  }

  /** Returns whether a settlement makes the entry unnecessary. */
  private static boolean impliedBySettlement(PendingSettlement entry) {
    return switch (entry.kind()) {
      case EXTEND, RELEASE -> true;
      case SETTLE, SETTLE_ELSEWHERE, CANCEL, UNDO -> false;
    };
  }

  /**
   * Records that a grant or ticket has ended in Redis. Calls without a reply run later, but before
   * the entries that are stored here.
   */
  synchronized void ended(String id) {
    PendingSettlement before = entries.get(id);
    if (before != null && before.kind() == Kind.EXTEND) {
      add(new PendingSettlement(id, Kind.RELEASE, Long.parseLong(before.details().get(TOKENS_AT))));
    }
  }

  /** Adds the end of a grant that Redis may have too, and that this node has just settled. */
  synchronized void release(String id, long tokens) {
    PendingSettlement before = entries.get(id);
    if (before == null || impliedBySettlement(before)) {
      add(new PendingSettlement(id, Kind.RELEASE, tokens));
    }
  }

  /**
   * Undoes a request that Redis has not answered, after its deadline: before that, a request that
   * is delayed on a broken connection could still run after its undo.
   */
  synchronized void undo(String id) {
    addExpired();
    expiring.put(id, scripts.nanoTime() + scripts.timeoutNanos());
  }

  private void addExpired() {
    long now = scripts.nanoTime();
    Iterator<Map.Entry<String, Long>> each = expiring.entrySet().iterator();
    while (each.hasNext()) {
      Map.Entry<String, Long> next = each.next();
      if (next.getValue() - now > 0) {
        return;
      }
      each.remove();
      add(new PendingSettlement(next.getKey(), Kind.UNDO, 0));
    }
  }

  private void add(PendingSettlement entry) {
    entries.put(entry.id(), entry);
    if (entries.size() > MOST) {
      entries.remove(entries.keySet().iterator().next());
      if (dropped++ % WARN_EVERY == 0) {
        LOG.warn(
            "model {}: the outage lasts so long that the oldest of {} settlements is dropped",
            model,
            MOST);
      }
    }
  }

  synchronized int size() {
    return entries.size() + expiring.size();
  }

  private synchronized List<PendingSettlement> first(int most) {
    addExpired();
    List<PendingSettlement> some = new ArrayList<>();
    for (PendingSettlement each : entries.values()) {
      if (some.size() == most) {
        break;
      }
      some.add(each);
    }
    return some;
  }

  private synchronized void done(PendingSettlement entry) {
    entries.remove(entry.id(), entry);
  }

  /**
   * Sends all entries, in portions; fails if one is not answered.
   *
   * @param open whether a caller has a grant: extensions of other grants are dropped, and the undo
   *     of one that a caller has after all
   * @param unknown receives the id of an extended grant that Redis does not know
   */
  CompletableFuture<Void> send(Predicate<String> open, Consumer<String> unknown) {
    List<PendingSettlement> some = first(AT_ONCE);
    return some.isEmpty()
        ? CompletableFuture.allOf()
        : CompletableFuture.allOf(
                some.stream()
                    .map(entry -> send(entry, open, unknown))
                    .toArray(CompletableFuture<?>[]::new))
            .thenCompose(sent -> send(open, unknown));
  }

  private CompletableFuture<Void> send(
      PendingSettlement entry, Predicate<String> open, Consumer<String> unknown) {
    boolean outdated =
        switch (entry.kind()) {
          case EXTEND -> !open.test(entry.id());
          case UNDO -> open.test(entry.id());
          default -> false;
        };
    if (outdated) {
      done(entry);
      return CompletableFuture.allOf();
    }
    return ask(entry, unknown)
        .thenRun(() -> done(entry))
        .exceptionally(
            failure -> {
              PermanentErrors.dropOrRethrow("the settlement of a grant", failure);
              done(entry);
              return null;
            });
  }

  private CompletableFuture<?> ask(PendingSettlement entry, Consumer<String> unknown) {
    return switch (entry.kind()) {
      case SETTLE, SETTLE_ELSEWHERE -> settle(entry);
      case EXTEND -> extend(entry, unknown);
      case CANCEL -> scripts.callDuringReturn(GovernorScript.TICKET, "cancel", entry.id());
      case RELEASE ->
          scripts.callDuringReturn(
              GovernorScript.SETTLE, settlement(entry.id(), entry.actual(), false));
      case UNDO ->
          CompletableFuture.allOf(
              settle(entry), scripts.callDuringReturn(GovernorScript.TICKET, "cancel", entry.id()));
    };
  }

  /**
   * Restores a grant that may have expired in Redis by now. Before that time, a grant that Redis
   * does not know was settled or canceled at another node, and must not take a slot again.
   */
  private CompletableFuture<?> extend(PendingSettlement entry, Consumer<String> unknown) {
    if (timer.nanoTime() - entry.actual() > -TOLERANCE_NANOS) {
      return scripts.callDuringReturn(
          GovernorScript.RESTORE_GRANTS, entry.details().toArray(String[]::new));
    }
    return scripts
        .callDuringReturn(GovernorScript.SETTLE, extension(entry.id(), false))
        .thenAccept(
            answer -> {
              if (answer.result().size() == 0) {
                unknown.accept(entry.id());
              }
            });
  }

  private CompletableFuture<Void> settle(PendingSettlement entry) {
    boolean elsewhere = entry.kind() == Kind.SETTLE_ELSEWHERE;
    return scripts
        .callDuringReturn(GovernorScript.SETTLE, settlement(entry.id(), entry.actual(), elsewhere))
        .thenAccept(answer -> settled.accept(answer, entry.actual()));
  }
}
