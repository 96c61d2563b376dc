package dev.sluice.verify;

import dev.sluice.properties.BucketModel;
import dev.sluice.verify.Run.Step;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.jetbrains.kotlinx.lincheck.execution.ExecutionResult;
import org.jetbrains.kotlinx.lincheck.execution.ExecutionScenario;
import org.jetbrains.lincheck.datastructures.verifier.CachedVerifier;

/**
 * Looks for an order of the operations, one after the other, in which {@link BucketModel} gives the
 * same answers.
 */
public abstract class ClockVerifier extends CachedVerifier {
  /*
   * The specification of a bucket whose clock moves while it is used.
   *
   * An operation reads the clock, and later it commits. It may be overtaken in between; then it
   * acts on a stale reading, and it may be denied tokens that would have been granted both at the
   * time of its reading and at that of its commit. So "linearizable, the clock included" is false, of this
   * bucket and of every other that reads the time before it decides. This holds instead:
   *
   * Exact. Commits are linearizable, each at the reading its operation made: time is an input. All
   * answers are explained, denials too. A change of the limit takes effect at a reading made while
   * it was under way, not always at its own: a thread that meets a change half done completes it,
   * at its own reading if that is later.
   *
   * ExactUnlessLate. Exact in runs without stale readings; in others there may be less than there
   * should be, never more. All that holds where a reading can lag so far that it lies before the
   * present epoch: a bucket remembers nothing from before, and charges such a caller from there.
   *
   * NeverMore. There is an order of the operations and the advances of the clock, all of them
   * atomic, that explains every grant. This is the guarantee in its plainest form, and it says
   * nothing of denials. It holds for consumers only: one who was full at its reading is charged
   * from then, so a bystander that looks between reading and commit can tell that they were two.
   */

  private final BucketModel initial;
  private final long startNanos;
  private final long batchTokens;

  /** A point of the search: how many steps each thread has done, and where that led. */
  private record Point(List<Integer> done, BucketModel bucket, long clockNanos) {
    boolean allows(Step next) {
      for (int thread = 0; thread < done.size(); thread++) {
        if (done.get(thread) < next.doneBefore().get(thread)) {
          return false;
        }
      }
      return true;
    }

    Point after(Step step, BucketModel next) {
      List<Integer> more = new ArrayList<>(done);
      more.set(step.thread(), step.index() + 1);
      boolean advance = step.operation().equals("advance");
      return new Point(more, next, advance ? clockNanos + step.answer().value() : clockNanos);
    }
  }

  private ClockVerifier(Class<?> scenario) {
    try {
      ClockedBucket bucket = (ClockedBucket) scenario.getDeclaredConstructor().newInstance();
      this.initial = bucket.model();
      this.startNanos = bucket.clockNanos();
      this.batchTokens = bucket.batchTokens();
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }

  @Override
  public boolean verifyResultsImpl(ExecutionScenario scenario, ExecutionResult result) {
    Run run = Run.of(scenario, result);
    List<Integer> none = Collections.nCopies(run.threads().size(), 0);
    return isExplained(run, new Point(none, initial, startNanos), new HashSet<>());
  }

  private boolean isExplained(Run run, Point point, Set<Point> seen) {
    if (!seen.add(point)) {
      return false;
    }
    boolean finished = true;
    for (int thread = 0; thread < run.threads().size(); thread++) {
      List<Step> steps = run.threads().get(thread);
      int done = point.done().get(thread);
      if (done < steps.size()) {
        finished = false;
        Step next = steps.get(done);
        if (point.allows(next)
            && after(next, run, point.bucket(), point.clockNanos())
                .anyMatch(bucket -> isExplained(run, point.after(next, bucket), seen))) {
          return true;
        }
      }
    }
    return finished;
  }

  /** The tokens that {@code step} was about. */
  final long tokens(Step step) {
    return step.argument() * batchTokens;
  }

  /**
   * Returns the states of {@code bucket} after {@code step}; none if it would have answered
   * otherwise.
   */
  abstract Stream<BucketModel> after(Step step, Run run, BucketModel bucket, long clockNanos);

  /** Commits are linearizable, each at its own reading. */
  public static class Exact extends ClockVerifier {
    public Exact(Class<?> scenario) {
      super(scenario);
    }

    @Override
    Stream<BucketModel> after(Step step, Run run, BucketModel bucket, long clockNanos) {
      long nowNanos = step.answer().nowNanos();
      return switch (step.operation()) {
        case "advance" -> Stream.of(bucket);
        case "tryAcquire" -> afterConsume(step, run, bucket);
        case "available" -> afterLook(step, run, bucket);
        case "replenish" -> Stream.of(bucket.give(tokens(step), nowNanos));
        case "reset" -> Stream.of(bucket.reset(nowNanos));
        case "reconfigure" -> afterChange(step, run, bucket);
        default -> throw new IllegalArgumentException(step.operation());
      };
    }

    private Stream<BucketModel> afterConsume(Step step, Run run, BucketModel bucket) {
      Optional<BucketModel> taken = bucket.take(tokens(step), step.answer().nowNanos());
      if (step.answer().value() > 0) {
        return taken.stream();
      }
      return taken.isEmpty() || mayFallShort(run) ? Stream.of(bucket) : Stream.empty();
    }

    private Stream<BucketModel> afterLook(Step step, Run run, BucketModel bucket) {
      long missing = bucket.available(step.answer().nowNanos()) - step.answer().value();
      boolean expected = missing == 0 || (missing > 0 && mayFallShort(run));
      return expected ? Stream.of(bucket) : Stream.empty();
    }

    private static Stream<BucketModel> afterChange(Step step, Run run, BucketModel bucket) {
      BucketModel.Refill next = Refills.of(ReconfiguredBucket.LIMITS.get((int) step.argument()));
      return run.readingsDuring(step)
          .filter(effectiveNanos -> effectiveNanos >= step.answer().nowNanos())
          .distinct()
          .map(effectiveNanos -> bucket.reconfigure(next, effectiveNanos));
    }

    /** Returns whether a call of the run may see fewer tokens than there are. */
    boolean mayFallShort(Run run) {
      return false;
    }
  }

  /** Exact in runs without stale readings; otherwise grants are exact. */
  public static final class ExactUnlessLate extends Exact {
    public ExactUnlessLate(Class<?> scenario) {
      super(scenario);
    }

    @Override
    boolean mayFallShort(Run run) {
      return run.hasLateSteps();
    }
  }

  /** Grants are explained with the clock as part of the state. */
  public static final class NeverMore extends ClockVerifier {
    public NeverMore(Class<?> scenario) {
      super(scenario);
    }

    @Override
    Stream<BucketModel> after(Step step, Run run, BucketModel bucket, long clockNanos) {
      return switch (step.operation()) {
        case "advance" -> Stream.of(bucket);
        case "tryAcquire" ->
            step.answer().value() > 0
                ? bucket.take(tokens(step), clockNanos).stream()
                : Stream.of(bucket);
        default -> throw new IllegalArgumentException(step.operation());
      };
    }
  }
}
