package dev.sluice;

import java.util.ArrayDeque;
import java.util.concurrent.Executor;

/** An Executor that runs what it got when it is told to, on the thread that tells it. */
final class HeldTasks implements Executor {
  private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();

  @Override
  public void execute(Runnable task) {
    tasks.add(task);
  }

  int size() {
    return tasks.size();
  }

  void runOne() {
    tasks.remove().run();
  }

  void runAll() {
    while (!tasks.isEmpty()) {
      runOne();
    }
  }
}
