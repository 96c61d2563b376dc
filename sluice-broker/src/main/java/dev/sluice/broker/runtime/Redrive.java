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
 * {@code runHook}, {@code on_enqueue} runs on the threads of the {@link HookExecutor}, in pieces
 * that use no more than the budget of one call.
 *
 * <p>A redrive whose future completes early, for example by cancellation, ends after the messages
 * that it has claimed.
 */
final class Redrive {
  private static final int MAX_BATCH = 500;

  private final EngineCalls engine;
  private final HookCoordinator hooks;
  private final String queue;
  private final long count;
  private final boolean runHook;
  private final CompletableFuture<Long> result;

  // Used by one thread at a time: each step begins when the one before has ended.
  private long end;
  private long from;
  private long moved;

  Redrive(EngineCalls engine, HookCoordinator hooks, String queue, long count, boolean runHook) {
    this.engine = engine;
    this.hooks = hooks;
    this.queue = queue;
    this.count = count;
    this.runHook = runHook;
    this.result = engine.begin();
  }

  CompletableFuture<Long> start() {
    // Messages that become dead letters again meanwhile are left for the next redrive.
    then(
        engine.queryAsync(machine -> machine.state.nextSequence),
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
    int limit = (int) Math.min(count - moved, MAX_BATCH);
    QueueAdmin.DeadLetterClaim claim =
        new QueueAdmin.DeadLetterClaim(queue, limit, from, end, result::isDone);
    then(
        engine.<List<MessageEntry>>call(
            (machine, call) -> machine.queueAdmin.claimDeadLetters(claim, call)),
        this::claimed);
  }

  private void claimed(List<MessageEntry> entries) {
    if (entries.isEmpty()) {
      result.complete(moved);
      return;
    }
    from = entries.get(entries.size() - 1).sequence + 1;
    if (runHook) {
      place(entries, new ArrayList<>(entries.size()));
    } else {
      move(entries, entries.stream().map(entry -> entry.placement.spec).toList());
    }
  }

  /** Runs the hook for the entries that have no placement yet, then moves all. */
  private void place(List<MessageEntry> entries, List<InternedPlacement.Spec> placements) {
    hooks.executor.run(
        HookExecutor.Work.REDRIVE,
        queue,
        entries.size() - placements.size(),
        () -> {
          HookBudget budget = new HookBudget();
          while (placements.size() < entries.size() && !budget.isSpent()) {
            placements.add(hooks.redrivePlacement(entries.get(placements.size()), budget));
          }
          if (placements.size() < entries.size()) {
            place(entries, placements);
          } else {
            move(entries, placements);
          }
        });
  }

  private void move(List<MessageEntry> entries, List<InternedPlacement.Spec> placements) {
    then(
        engine.<Integer>call(
            (machine, call) -> machine.queueAdmin.redrive(entries, placements, call)),
        more -> {
          moved += more;
          claim();
        });
  }

  @SuppressWarnings("FutureReturnValueIgnored") // failures reach the result
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
