package dev.sluice.verify;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jetbrains.kotlinx.lincheck.Actor;
import org.jetbrains.kotlinx.lincheck.execution.ExecutionResult;
import org.jetbrains.kotlinx.lincheck.execution.ExecutionScenario;
import org.jetbrains.kotlinx.lincheck.execution.ResultWithClock;
import org.jetbrains.kotlinx.lincheck.util.ValueResult;

/**
 * The operations of the threads of one run of a {@link ClockedBucket}, with their results.
 *
 * @param threads the steps of each thread, in its order
 */
record Run(List<List<Step>> threads) {

  /**
   * One operation.
   *
   * @param operation name of the operation
   * @param argument its argument, 0 if it has none
   * @param answer what it returned
   * @param thread who did it
   * @param index how many steps that thread had done before
   * @param doneBefore how many steps each thread had surely done when it began
   */
  record Step(
      String operation,
      long argument,
      Answer answer,
      int thread,
      int index,
      List<Integer> doneBefore) {

    boolean isBefore(Step other) {
      return thread == other.thread ? index < other.index : index < other.doneBefore.get(thread);
    }
  }

  static Run of(ExecutionScenario scenario, ExecutionResult result) {
    List<List<Step>> threads = new ArrayList<>();
    for (int thread = 0; thread < scenario.getNThreads(); thread++) {
      List<Actor> actors = scenario.getThreads().get(thread);
      List<ResultWithClock> results = result.getThreadsResultsWithClock().get(thread);
      List<Step> steps = new ArrayList<>();
      for (int i = 0; i < actors.size(); i++) {
        steps.add(step(actors.get(i), results.get(i), thread, i));
      }
      threads.add(steps);
    }
    return new Run(threads);
  }

  private static Step step(Actor actor, ResultWithClock result, int thread, int index) {
    if (!(result.getResult() instanceof ValueResult value)) {
      throw new IllegalStateException("not an answer: " + result.getResult());
    }
    List<Object> arguments = actor.getArguments();
    return new Step(
        actor.getMethod().getName(),
        arguments.isEmpty() ? 0 : ((Number) arguments.get(0)).longValue(),
        (Answer) value.getValue(),
        thread,
        index,
        IntStream.of(result.getClockOnStart().getClock()).boxed().toList());
  }

  /** Readings made while {@code step} was under way, its own among them. */
  Stream<Long> readingsDuring(Step step) {
    return all()
        .filter(other -> !other.isBefore(step) && !step.isBefore(other))
        .map(other -> other.answer().nowNanos());
  }

  /** Returns whether a thread acted on a reading that was not the latest. */
  boolean hasLateSteps() {
    return all().anyMatch(this::isLate);
  }

  private boolean isLate(Step step) {
    return readingsDuring(step).anyMatch(nanos -> nanos > step.answer().nowNanos());
  }

  private Stream<Step> all() {
    return threads.stream().flatMap(List::stream);
  }
}
