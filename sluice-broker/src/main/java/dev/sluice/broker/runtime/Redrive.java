package dev.sluice.broker.runtime;

import dev.sluice.broker.engine.InternedPlacement;
import dev.sluice.broker.engine.MessageEntry;
import dev.sluice.broker.engine.QueueAdmin;
import dev.sluice.broker.hooks.HookBudget;
import dev.sluice.broker.hooks.HookExecutor;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/**
 * Moves dead letters back to the queue they came from, in batches, without blocking a thread. With
 * {@code runScript}, {@code on_enqueue} runs on the threads of the {@link HookExecutor}, in pieces
 * that use no more than the budget of one call.
 *
 * <p>A redrive whose future is done early, such as by a cancellation, ends after the messages it
 * has claimed.
 */
public final class Redrive {
  private static final int AT_ONCE = 500;

  private final BrokerRuntime machinery;
  private final String queue;
  private final long count;
  private final boolean runScript;
  private final CompletableFuture<Long> result;

  // Of one thread at a time: each step begins when the one before has ended.
  private long end;
  private long from;
  private long moved;

  public Redrive(BrokerRuntime machinery, String queue, long count, boolean runScript) {
    this.machinery = machinery;
    this.queue = queue;
    this.count = count;
    this.runScript = runScript;
    this.result = machinery.calls.begin();
  }

  public CompletableFuture<Long> start() {
    // Messages that become dead letters again meanwhile are left for the next redrive.
    then(
        machinery.askLater(machine -> machine.state.nextSequence),
        next -> {
          end = next;
          claim();
        });
    return result;
  }

  private void claim() {
    if (moved >= count || result.isDone()) {
      result.complete(moved);
      return;
    }
    int limit = (int) Math.min(count - moved, AT_ONCE);
    CompletableFuture<List<MessageEntry>> claim = machinery.calls.begin();
    QueueAdmin.Range range = new QueueAdmin.Range(from, end);
    machinery.input(machine -> machine.admin.claimDeadLetters(queue, limit, range, claim));
    then(claim, this::claimed);
  }

  private void claimed(List<MessageEntry> entries) {
    if (entries.isEmpty()) {
      result.complete(moved);
      return;
    }
    from = entries.get(entries.size() - 1).sequence + 1;
    if (runScript) {
      route(entries, new ArrayList<>(entries.size()));
    } else {
      move(entries, entries.stream().map(entry -> entry.route.spec).toList());
    }
  }

  /** Asks the script where the entries go that have no route yet, then moves all. */
  private void route(List<MessageEntry> entries, List<InternedPlacement.Spec> routes) {
    machinery.hooks.run(
        HookExecutor.Work.REDRIVE,
        queue,
        entries.size() - routes.size(),
        () -> {
          HookBudget budget = new HookBudget();
          while (routes.size() < entries.size() && !budget.isSpent()) {
            routes.add(machinery.reroute(entries.get(routes.size()), budget));
          }
          if (routes.size() < entries.size()) {
            route(entries, routes);
          } else {
            move(entries, routes);
          }
        });
  }

  private void move(List<MessageEntry> entries, List<InternedPlacement.Spec> routes) {
    CompletableFuture<Integer> move = machinery.calls.begin();
    machinery.input(machine -> machine.admin.redrive(entries, routes, move));
    then(
        move,
        more -> {
          moved += more;
          claim();
        });
  }

  @SuppressWarnings("FutureReturnValueIgnored") // the result tells
  private <T> void then(CompletableFuture<T> step, Consumer<T> next) {
    step.whenComplete(
        (value, failure) -> {
          if (failure == null) {
            next.accept(value);
          } else {
            result.completeExceptionally(failure);
          }
        });
  }
}
