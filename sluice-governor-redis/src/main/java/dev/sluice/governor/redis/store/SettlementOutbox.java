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
  private final Map<String, PendingSettlement> words = new LinkedHashMap<>();

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
    PendingSettlement before = words.get(id);
    if (before != null && !isOfSlot(before)) {
      return false;
    }
    keep(new PendingSettlement(id, elsewhere ? Kind.SETTLE_ELSEWHERE : Kind.SETTLE, actual));
    return true;
  }

  synchronized void extend(NodeGrants.Extended extended) {
    NodeGrants.Grant grant = extended.grant();
    PendingSettlement before = words.get(grant.id());
    if (before == null || before.kind() == Kind.LEAVE) {
      keep(new PendingSettlement(grant.id(), Kind.EXTEND, extended.before(), grant.words()));
    }
  }

  /** A grant that is {@code granted} may be stored without a ticket. */
  synchronized void cancel(String id, boolean granted) {
    PendingSettlement before = words.get(id);
    if (before == null || isOfSlot(before)) {
      keep(new PendingSettlement(id, granted ? Kind.UNDO : Kind.CANCEL, 0));
    }
  }

  /** Returns whether Redis is to be told that a grant or a ticket is over. */
  synchronized boolean ends(String id) {
    PendingSettlement word = words.get(id);
    return word != null && !isOfSlot(word);
  }

  /** Whether it says nothing that a settlement does not. */
  private static boolean isOfSlot(PendingSettlement word) {
    return switch (word.kind()) {
      case EXTEND, RELEASE, LEAVE -> true;
      case SETTLE, SETTLE_ELSEWHERE, CANCEL, UNDO -> false;
    };
  }

  /**
   * Redis has replied that the id is over. Calls without a reply run after that, but before the
   * entries that are stored here.
   */
  synchronized void over(String id) {
    PendingSettlement before = words.get(id);
    if (before != null && before.kind() == Kind.EXTEND) {
      keep(
          new PendingSettlement(id, Kind.RELEASE, Long.parseLong(before.details().get(TOKENS_AT))));
    }
  }

  /** Redis may have a grant held of which this node has just settled its own part. */
  synchronized void release(String id, long tokens) {
    PendingSettlement before = words.get(id);
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
    PendingSettlement word = words.get(id);
    return leaving.containsKey(id) || (word != null && word.kind() == Kind.LEAVE);
  }

  private synchronized void left(String id) {
    leaving.computeIfPresent(id, (same, calls) -> calls == 1 ? null : (Integer) (calls - 1));
  }

  private synchronized void keepLeft(String id, long turn, String untold) {
    PendingSettlement before = words.get(id);
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

  private void keep(PendingSettlement word) {
    words.put(word.id(), word);
    if (words.size() > MOST) {
      words.remove(words.keySet().iterator().next());
      if (dropped++ % WARN_EVERY == 0) {
        LOG.warn(
            "model {}: the outage lasts so long that the oldest of {} settlements is dropped",
            model,
            MOST);
      }
    }
  }

  synchronized int size() {
    return words.size() + expiring.size();
  }

  private synchronized List<PendingSettlement> first(int most) {
    keepExpired();
    List<PendingSettlement> some = new ArrayList<>();
    for (PendingSettlement each : words.values()) {
      if (some.size() == most) {
        break;
      }
      some.add(each);
    }
    return some;
  }

  private synchronized void done(PendingSettlement word) {
    words.remove(word.id(), word);
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
                    .map(word -> send(word, open, unknown))
                    .toArray(CompletableFuture<?>[]::new))
            .thenCompose(sent -> send(open, unknown));
  }

  private CompletableFuture<Void> send(
      PendingSettlement word, Predicate<String> open, Consumer<String> unknown) {
    // A caller of this node may have the grant of a ticket that another one has left.
    boolean outdated =
        switch (word.kind()) {
          case EXTEND -> !open.test(word.id());
          case LEAVE -> open.test(word.id());
          default -> false;
        };
    if (outdated) {
      done(word);
      return CompletableFuture.allOf();
    }
    return ask(word, unknown)
        .thenRun(() -> done(word))
        .exceptionally(
            failure -> {
              PermanentErrors.dropOrRethrow("the settlement of a grant", failure);
              done(word);
              return null;
            });
  }

  private CompletableFuture<?> ask(PendingSettlement word, Consumer<String> unknown) {
    return switch (word.kind()) {
      case SETTLE, SETTLE_ELSEWHERE -> settle(word);
      case EXTEND -> extend(word, unknown);
      case CANCEL -> scripts.tell(GovernorScript.TICKET, "cancel", word.id());
      case LEAVE ->
          scripts.tell(
              GovernorScript.TICKET,
              "leave",
              word.id(),
              Long.toString(word.actual()),
              word.details().get(0));
      case RELEASE ->
          scripts.tell(GovernorScript.SETTLE, settlement(word.id(), word.actual(), false));
      case UNDO ->
          CompletableFuture.allOf(
              settle(word), scripts.tell(GovernorScript.TICKET, "cancel", word.id()));
    };
  }

  /**
   * Has Redis hold a grant again that it may have ended by now. Until then, one that it does not
   * know was settled or cancelled at another node, and must not take a slot again.
   */
  private CompletableFuture<?> extend(PendingSettlement word, Consumer<String> unknown) {
    if (timer.nanoTime() - word.actual() > -AGREEMENT_NANOS) {
      return scripts.tell(GovernorScript.RESTORE_GRANTS, word.details().toArray(String[]::new));
    }
    return scripts
        .tell(GovernorScript.SETTLE, extension(word.id(), false))
        .thenAccept(
            answer -> {
              if (answer.result().size() == 0) {
                unknown.accept(word.id());
              }
            });
  }

  private CompletableFuture<Void> settle(PendingSettlement word) {
    boolean elsewhere = word.kind() == Kind.SETTLE_ELSEWHERE;
    return scripts
        .tell(GovernorScript.SETTLE, settlement(word.id(), word.actual(), elsewhere))
        .thenAccept(answer -> settled.accept(answer, word.actual()));
  }
}
