package dev.sluice.broker.internal.runtime;

import dev.sluice.broker.internal.engine.InternedPlacement;
import dev.sluice.broker.internal.engine.MessageEntry;
import dev.sluice.broker.internal.engine.QueueAdmin;
import dev.sluice.broker.internal.hooks.HookBudget;
import dev.sluice.broker.internal.hooks.HookExecutor;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/**
 * Moves dead letters back to the queue they came from, in batches, without blocking a thread. With
 * {@code runHook}, {@code on_enqueue} runs on the threads of the {@link HookExecutor}, in pieces
 * that use no more than the budget of one call.
 *
 * <p>A redrive that is canceled ends after the messages that it has claimed.
 */
final class Redrive {
  private static final int MAX_BATCH = 500;

  private final EngineCalls engine;
  private final HookCoordinator hooks;
  private final Request request;
  private final CompletableFuture<Long> result;

  // Used by one thread at a time: each step begins when the one before has ended.
  private long end;
  private long from;
  private long moved;

  /**
   * Parameters of a redrive.
   *
   * @param queue of dead letters
   * @param count how many of them
   * @param runHook whether their placements are assigned anew
   * @param canceled whether no more are wanted
   */
  record Request(String queue, long count, boolean runHook, BooleanSupplier canceled) {}

  Redrive(EngineCalls engine, HookCoordinator hooks, Request request) {
    this.engine = engine;
    this.hooks = hooks;
    this.request = request;
    this.result = engine.begin();
  }

  private boolean isCanceled() {
    return result.isDone() || request.canceled.getAsBoolean();
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
    if (moved >= request.count || isCanceled()) {
      result.complete(moved);
      return;
    }
    int limit = (int) Math.min(request.count - moved, MAX_BATCH);
    QueueAdmin.DeadLetterClaim claim =
        new QueueAdmin.DeadLetterClaim(request.queue, limit, from, end, this::isCanceled);
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
    if (request.runHook) {
      place(entries, new ArrayList<>(entries.size()));
    } else {
      move(entries, entries.stream().map(entry -> entry.placement.spec).toList());
    }
  }

  /** Runs the hook for the entries that have no placement yet, then moves all. */
  private void place(List<MessageEntry> entries, List<InternedPlacement.Spec> placements) {
    hooks.executor.run(
        HookExecutor.Work.REDRIVE,
        request.queue,
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
          if (failure != null) {
            result.completeExceptionally(failure);
            return;
          }
          try {
            next.accept(value);
          } catch (Throwable error) {
            result.completeExceptionally(error);
          }
        });
  }
}
