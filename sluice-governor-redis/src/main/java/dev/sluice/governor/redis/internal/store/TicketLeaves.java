package dev.sluice.governor.redis.internal.store;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;

/**
 * Tells Redis which tickets no caller of this node waits for any more: a grant may be claimed for
 * callers that have left. Without an answer it is sent again, which may come late, because Redis
 * ignores a call after one with a higher number. Bounded, and apart from settlements: of too many
 * the oldest are dropped. Thread-safe.
 */
final class TicketLeaves {
  /** A grant that was claimed for a dropped one is held until its reservation times out. */
  private static final int MOST = 10_000;

  private static final int AT_ONCE = 256; // which Redis runs well within the timeout

  private final ModelScripts scripts;

  // Guarded by this.
  private final Map<String, Leave> unanswered = new LinkedHashMap<>();

  /** The number of calls under way, by ticket. */
  private final Map<String, Integer> pending = new HashMap<>();

  /**
   * A call.
   *
   * @param sequence its number
   * @param undelivered whether no caller has the grant, whose claim is then undone
   */
  private record Leave(String id, long sequence, boolean undelivered) {
    String[] arguments() {
      return new String[] {"leave", id, Long.toString(sequence), undelivered ? "undelivered" : ""};
    }
  }

  TicketLeaves(ModelScripts scripts) {
    this.scripts = scripts;
  }

  /** Sends it at once, and keeps it if that is not answered. */
  void leave(String id, long sequence, boolean undelivered) {
    Leave leave = new Leave(id, sequence, undelivered);
    begin(id);
    var unused =
        scripts
            .call(GovernorScript.TICKET, leave.arguments())
            .whenComplete((answer, failure) -> end(leave, failure != null));
  }

  private synchronized void begin(String id) {
    pending.merge(id, 1, Integer::sum);
  }

  private synchronized void end(Leave leave, boolean failed) {
    pending.computeIfPresent(
        leave.id(), (same, calls) -> calls == 1 ? null : (Integer) (calls - 1));
    Leave kept = unanswered.get(leave.id());
    if (failed && (kept == null || kept.sequence() < leave.sequence())) {
      unanswered.remove(leave.id());
      unanswered.put(leave.id(), leave);
      if (unanswered.size() > MOST) {
        unanswered.remove(unanswered.keySet().iterator().next());
      }
    }
  }

  /** Returns whether a call that leaves a ticket may reach Redis after what it has answered. */
  synchronized boolean isLeaving(String id) {
    return pending.containsKey(id) || unanswered.containsKey(id);
  }

  private synchronized List<Leave> first() {
    return unanswered.values().stream().limit(AT_ONCE).toList();
  }

  private synchronized void done(Leave leave) {
    unanswered.remove(leave.id(), leave);
  }

  /**
   * Sends what was not answered, in portions; fails if something is not answered again.
   *
   * @param outdated whether callers of this node wait for a ticket again, or have its grant
   */
  CompletableFuture<Void> sendAgain(Predicate<String> outdated) {
    List<Leave> some = first();
    return some.isEmpty()
        ? CompletableFuture.allOf()
        : CompletableFuture.allOf(
                some.stream()
                    .map(each -> sendAgain(each, outdated))
                    .toArray(CompletableFuture<?>[]::new))
            .thenCompose(sent -> sendAgain(outdated));
  }

  private CompletableFuture<?> sendAgain(Leave leave, Predicate<String> outdated) {
    if (outdated.test(leave.id())) {
      done(leave);
      return CompletableFuture.allOf();
    }
    return scripts
        .callDuringReturn(GovernorScript.TICKET, leave.arguments())
        .handle(
            (answer, failure) -> {
              if (failure != null) {
                PermanentErrors.dropOrRethrow("that no caller waits for a ticket", failure);
              }
              done(leave);
              return true;
            });
  }
}
