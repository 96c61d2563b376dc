package dev.sluice.internal.executor;

import dev.sluice.internal.util.IntrusiveList;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The tasks of an executor that wait, and how many there may be. Guarded by the executor's lock.
 */
final class QueuedTasks {
  private final int most;
  private final int mostPerTenant;
  private final IntrusiveList<FairTask<?>> tasks = new IntrusiveList<>();

  /** Queued tasks by fairness key; empty unless the bound per key is the narrower one. */
  private final Map<String, Integer> byTenant = new HashMap<>();

  QueuedTasks(int most, int mostPerTenant) {
    this.most = most;
    this.mostPerTenant = mostPerTenant;
  }

  int size() {
    return tasks.size();
  }

  boolean isEmpty() {
    return tasks.isEmpty();
  }

  @Nullable FairTask<?> first() {
    return tasks.first();
  }

  /** Calls {@code action}, which adds and removes none, for each in order of arrival. */
  void forEach(Consumer<FairTask<?>> action) {
    for (FairTask<?> task = tasks.first(); task != null; task = task.after()) {
      action.accept(task);
    }
  }

  void requireRoom(String tenant) {
    require("tasks queued", most, tasks.size(), tenant);
    require("tasks queued of one tenant", mostPerTenant, byTenant.getOrDefault(tenant, 0), tenant);
  }

  private static void require(String what, int most, int queued, String tenant) {
    if (queued >= most) {
      throw new RejectedExecutionException(
          what + " must be at most " + most + ": queued=" + queued + ", tenant=" + tenant);
    }
  }

  void add(FairTask<?> task) {
    tasks.addLast(task);
    if (mostPerTenant < most) {
      byTenant.merge(task.tenant(), 1, Integer::sum);
    }
  }

  void remove(FairTask<?> task) {
    task.unlink();
    byTenant.computeIfPresent(
        task.tenant(), (tenant, count) -> count == 1 ? null : Integer.valueOf(count - 1));
  }
}
