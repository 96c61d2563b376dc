package dev.sluice.governor.redis.store;

import dev.sluice.governor.redis.RedisBudgets;
import dev.sluice.governor.spi.StoreTimer;
import java.util.ArrayList;
import java.util.HashMap;
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
  /** Sent at a time: Redis does them well within the time-out. */
  private static final int AT_ONCE = 256;

  private static final Logger LOG = LoggerFactory.getLogger(RedisBudgets.class);
  private static final int MOST = 100_000;
  private static final int WARN_EVERY = 10_000;

  /** Redis and this node agree by far less than this on when a grant ends. */
  private static final long AGREEMENT_NANOS = TimeUnit.SECONDS.toNanos(10);

  /** In the words of a grant. */
  private static final int TOKENS_AT = 1;

  private final String model;
  private final ModelScripts scripts;
  private final StoreTimer timer;
  private final ObjLongConsumer<ScriptResult> settled;

  // Guarded by this.
  private final Map<String, PendingSettlement> entries = new LinkedHashMap<>();

  /** Tickets of which Redis has not confirmed that no caller here waits, and by how many calls. */
  private final Map<String, Integer> leaving = new HashMap<>();

  /** Requests to undo once Redis cannot run them any more, by that time, the earliest first. */
  private final Map<String, Long> expiring = new LinkedHashMap<>();

  private long dropped;

  private enum Kind {
    SETTLE,
    /** The same of one that another node told of. */
    SETTLE_ELSEWHERE,
    EXTEND,
    CANCEL,
    /** It is over, but what was on its way may have had it held again. */
    RELEASE,
    /** The last caller has stopped waiting for a ticket, and none was told of a grant. */
    LEAVE,
    /** The result of a request was not told, or the request was canceled: its grant is free. */
    UNDO
  }

  /**
   * One of them.
   *
   * @param actual the tokens used; of an extension, when Redis ends the grant without it; of a
   *     leave, its turn
   * @param details of an extension, the grant; of a leave, whether no caller was told
   */
  private record PendingSettlement(String id, Kind kind, long actual, List<String> details) {
    PendingSettlement(String id, Kind kind, long actual) {
      this(id, kind, actual, List.of());
    }
  }

  /** Has {@code settled} told what Redis answers to a settlement, and what was used. */
  SettlementOutbox(
      String model, ModelScripts scripts, StoreTimer timer, ObjLongConsumer<ScriptResult> settled) {
    this.model = model;
    this.scripts = scripts;
    this.timer = timer;
    this.settled = settled;
  }

  /** As the script has it; {@code elsewhere} if another node told of it, which hears of this. */
  static String[] settlement(String id, long actual, boolean elsewhere) {
    return elsewhere
        ? new String[] {"settle", id, Long.toString(actual), "elsewhere"}
        : new String[] {"settle", id, Long.toString(actual)};
  }

  /** {@link #settlement} of what lives on instead. */
  static String[] extension(String id, boolean elsewhere) {
    return elsewhere ? new String[] {"extend", id, "elsewhere"} : new String[] {"extend", id};
  }

  /** False if it was settled before. */
  synchronized boolean settle(String id, long actual, boolean elsewhere) {
    PendingSettlement before = entries.get(id);
    if (before != null && !isOfSlot(before)) {
      return false;
    }
    keep(new PendingSettlement(id, elsewhere ? Kind.SETTLE_ELSEWHERE : Kind.SETTLE, actual));
    return true;
  }

  synchronized void extend(NodeGrants.Extended extended) {
    NodeGrants.Grant grant = extended.grant();
    PendingSettlement before = entries.get(grant.id());
    if (before == null || before.kind() == Kind.LEAVE) {
      keep(new PendingSettlement(grant.id(), Kind.EXTEND, extended.before(), grant.arguments()));
    }
  }

  /** A grant that is {@code granted} may be stored without a ticket. */
  synchronized void cancel(String id, boolean granted) {
    PendingSettlement before = entries.get(id);
    if (before == null || isOfSlot(before)) {
      keep(new PendingSettlement(id, granted ? Kind.UNDO : Kind.CANCEL, 0));
    }
  }

  /** Returns whether Redis is to be told that a grant or a ticket is over. */
  synchronized boolean ends(String id) {
    PendingSettlement entry = entries.get(id);
    return entry != null && !isOfSlot(entry);
  }

  /** Whether it says nothing that a settlement does not. */
  private static boolean isOfSlot(PendingSettlement entry) {
    return switch (entry.kind()) {
      case EXTEND, RELEASE, LEAVE -> true;
      case SETTLE, SETTLE_ELSEWHERE, CANCEL, UNDO -> false;
    };
  }

  /**
   * Redis has replied that the id is over. Calls without a reply run after that, but before the
   * entries that are stored here.
   */
  synchronized void over(String id) {
    PendingSettlement before = entries.get(id);
    if (before != null && before.kind() == Kind.EXTEND) {
      keep(
          new PendingSettlement(id, Kind.RELEASE, Long.parseLong(before.details().get(TOKENS_AT))));
    }
  }

  /** Redis may have a grant held of which this node has just settled its own part. */
  synchronized void release(String id, long tokens) {
    PendingSettlement before = entries.get(id);
    if (before == null || isOfSlot(before)) {
      keep(new PendingSettlement(id, Kind.RELEASE, tokens));
    }
  }

  /**
   * Tells Redis at once that nobody waits for a ticket any longer, and again if that is not
   * answered: a grant may be claimed for those who have gone.
   *
   * @param turn Redis ignores this after a later turn, and earlier ones after this
   */
  void leave(String id, String turn, String untold) {
    leaves(id);
    var unused =
        scripts
            .call(GovernorScript.TICKET, "leave", id, turn, untold)
            .whenComplete(
                (answer, failure) -> {
                  if (failure != null) {
                    keepLeft(id, Long.parseLong(turn), untold);
                  }
                  left(id);
                });
  }

  private synchronized void leaves(String id) {
    leaving.merge(id, 1, Integer::sum);
  }

  /** Returns whether a call that leaves a ticket may reach Redis after what it has answered. */
  synchronized boolean isLeaving(String id) {
    PendingSettlement entry = entries.get(id);
    return leaving.containsKey(id) || (entry != null && entry.kind() == Kind.LEAVE);
  }

  private synchronized void left(String id) {
    leaving.computeIfPresent(id, (same, calls) -> calls == 1 ? null : (Integer) (calls - 1));
  }

  private synchronized void keepLeft(String id, long turn, String untold) {
    PendingSettlement before = entries.get(id);
    if (before == null || before.kind() == Kind.LEAVE) {
      keep(new PendingSettlement(id, Kind.LEAVE, turn, List.of(untold)));
    }
  }

  /**
   * Undoes a request that Redis has not answered. Not before its deadline: on a connection that
   * broke it may be under way still, and be overtaken by what is sent now.
   */
  synchronized void undo(String id) {
    keepExpired();
    expiring.put(id, scripts.nanoTime() + scripts.timeoutNanos());
  }

  private void keepExpired() {
    long now = scripts.nanoTime();
    Iterator<Map.Entry<String, Long>> each = expiring.entrySet().iterator();
    while (each.hasNext()) {
      Map.Entry<String, Long> next = each.next();
      if (next.getValue() - now > 0) {
        return;
      }
      each.remove();
      keep(new PendingSettlement(next.getKey(), Kind.UNDO, 0));
    }
  }

  private void keep(PendingSettlement entry) {
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
    keepExpired();
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
   * Sends everything, in portions; fails if one is not answered.
   *
   * @param open whether a grant is open: else its extension is not sent, nor otherwise that its
   *     ticket was left
   * @param unknown is told of a grant that was extended, and that Redis does not know
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
    // A caller of this node may have the grant of a ticket that another one has left.
    boolean outdated =
        switch (entry.kind()) {
          case EXTEND -> !open.test(entry.id());
          case LEAVE -> open.test(entry.id());
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
      case CANCEL -> scripts.tell(GovernorScript.TICKET, "cancel", entry.id());
      case LEAVE ->
          scripts.tell(
              GovernorScript.TICKET,
              "leave",
              entry.id(),
              Long.toString(entry.actual()),
              entry.details().get(0));
      case RELEASE ->
          scripts.tell(GovernorScript.SETTLE, settlement(entry.id(), entry.actual(), false));
      case UNDO ->
          CompletableFuture.allOf(
              settle(entry), scripts.tell(GovernorScript.TICKET, "cancel", entry.id()));
    };
  }

  /**
   * Has Redis hold a grant again that it may have ended by now. Until then, one that it does not
   * know was settled or cancelled at another node, and must not take a slot again.
   */
  private CompletableFuture<?> extend(PendingSettlement entry, Consumer<String> unknown) {
    if (timer.nanoTime() - entry.actual() > -AGREEMENT_NANOS) {
      return scripts.tell(GovernorScript.RESTORE_GRANTS, entry.details().toArray(String[]::new));
    }
    return scripts
        .tell(GovernorScript.SETTLE, extension(entry.id(), false))
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
        .tell(GovernorScript.SETTLE, settlement(entry.id(), entry.actual(), elsewhere))
        .thenAccept(answer -> settled.accept(answer, entry.actual()));
  }
}
