package dev.sluice.properties;

import java.lang.StackWalker.StackFrame;
import java.lang.reflect.Modifier;
import java.nio.file.Path;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * Checks that something holds in each of many random cases.
 *
 * <pre>{@code
 * @Test
 * void everyWindow_isWithinTheLimit() {
 *   Property.check(1_000, generator -> {
 *     long capacity = generator.longBetween(1, 20);
 *     List<Step> steps = generator.list(1, 60, Step::random);
 *     assertThat(grantsIn(steps, capacity)).isLessThanOrEqualTo(capacity);
 *   });
 * }
 * }</pre>
 *
 * <p>A seed determines a case completely, on every JDK. By default a test runs the seeds 0, 1, 2 …,
 * so that it gives the same result every time; {@link Seeds} lists the system properties that
 * choose others. The test ends at the first case that fails. The lists of that case are then cut to
 * the shortest ones that still fail, and an {@link AssertionError} states the seed, the values and
 * the command that replays them.
 *
 * <p>A case must not keep state between two runs: each run builds what it tests anew.
 */
public final class Property {
  private static final int MAX_SHOWN_CHARS = 4_000;
  private static final StackWalker STACK =
      StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);

  private Property() {}

  /** A case: draws its values from a generator and throws if they violate the property. */
  @FunctionalInterface
  public interface Case {
    /**
     * Draws the values of the case and checks them.
     *
     * @param generator the source of every random value of the case
     * @throws Exception if the property does not hold
     */
    void run(Generator generator) throws Exception;
  }

  /** A failed run, and the generator from which it drew its values. */
  private record Failure(Generator generator, Throwable cause) {}

  /**
   * Runs a property over the chosen seeds, by default over 0 to {@code cases - 1}.
   *
   * @param cases how many cases run unless {@code -Dsluice.seeds} says otherwise
   * @param property what must hold
   * @throws AssertionError if the property fails in a case; the failure is the cause
   */
  public static void check(int cases, Case property) {
    check(Seeds.chosen(cases), STACK.walk(frames -> frames.skip(1).findFirst()).get(), property);
  }

  static void check(LongStream seeds, StackFrame test, Case property) {
    seeds.forEach(
        seed -> {
          Failure failure = run(seed, Integer.MAX_VALUE, property);
          if (failure != null) {
            Failure shortest = shorten(failure, property);
            throw new AssertionError(describe(shortest, test), shortest.cause);
          }
        });
  }

  private static @Nullable Failure run(long seed, int maxListSize, Case property) {
    Generator generator = new Generator(seed, maxListSize);
    try {
      property.run(generator);
      return null;
    } catch (Exception | Error cause) {
      return new Failure(generator, cause);
    }
  }

  /** Finds the shortest beginnings of the lists that still fail, by bisection. */
  private static Failure shorten(Failure failure, Case property) {
    Failure shortest = failure;
    int passes = -1;
    int fails = failure.generator.longestList();
    while (fails - passes > 1) {
      int middle = (passes + fails) >>> 1;
      Failure again = run(failure.generator.seed(), middle, property);
      if (again == null) {
        passes = middle;
      } else {
        shortest = again;
        fails = middle;
      }
    }
    return shortest;
  }

  private static String describe(Failure failure, StackFrame test) {
    Class<?> type = test.getDeclaringClass();
    // The subclass that runs an inherited test is not on the stack: any class with that method.
    String runs = Modifier.isAbstract(type.getModifiers()) ? "" : type.getSimpleName();
    String module =
        Path.of(System.getProperty("basedir", "")).toAbsolutePath().getFileName().toString();
    return "%s.%s fails with seed %d: %s%nvalues: %s%nreplay: %s"
        .formatted(
            type.getSimpleName(),
            test.getMethodName(),
            failure.generator.seed(),
            failure.cause,
            shown(failure.generator.values().toString()),
            "./mvnw verify -Dverification.skip -pl %s -am -Dtest='%s#%s' -Dsluice.seed=%d"
                .formatted(module, runs, test.getMethodName(), failure.generator.seed()));
  }

  private static String shown(String values) {
    return values.length() <= MAX_SHOWN_CHARS
        ? values
        : values.substring(0, MAX_SHOWN_CHARS) + "… (" + values.length() + " characters)";
  }
}
