package dev.sluice.properties;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import java.io.IOException;
import java.lang.StackWalker.StackFrame;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class PropertyTest {
  private static final StackWalker STACK =
      StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);

  /** Runs the property over the given seeds and ignores -Dsluice.seed. */
  private static Throwable failureOf(LongStream seeds, Property.Case property) {
    StackFrame test = STACK.walk(frames -> frames.skip(1).findFirst()).orElseThrow();
    return catchThrowable(() -> Property.check(seeds, test, property));
  }

  @Test
  void everySeed_runsOnce_withTheSameValuesEveryTime() {
    List<List<Long>> runs = List.of(new ArrayList<>(), new ArrayList<>());
    for (List<Long> run : runs) {
      assertThat(failureOf(LongStream.range(0, 50), each -> run.add(each.longBetween(0, 1L << 60))))
          .isNull();
    }
    assertThat(runs.get(0)).hasSize(50).isEqualTo(runs.get(1));
  }

  @Test
  void failure_reportsSeedValuesAndTheCommandThatReplaysIt() {
    Throwable failure =
        failureOf(
            LongStream.range(0, 100),
            generator -> {
              int number = generator.pick(7, 8);
              assertThat(generator.seed() < 5 || number != 7).as("not seven").isTrue();
            });
    assertThat(failure)
        .isInstanceOf(AssertionError.class)
        .cause()
        .hasMessageContaining("not seven");
    long seed = LongStream.range(5, 100).filter(PropertyTest::drawsSeven).findFirst().orElseThrow();
    assertThat(failure.getMessage())
        .contains("not seven")
        .contains("values: [7]")
        .contains(
            "PropertyTest.failure_reportsSeedValuesAndTheCommandThatReplaysIt fails with seed")
        .endsWith(
            "replay: ./mvnw verify -Dverification.skip -pl sluice-properties -am"
                + " -Dtest='PropertyTest#failure_reportsSeedValuesAndTheCommandThatReplaysIt'"
                + " -Dsluice.seed="
                + seed);
  }

  private static boolean drawsSeven(long seed) {
    return new Generator(seed, 9).pick(7, 8) == 7;
  }

  @Test
  void failure_isShownWithTheShortestLists() {
    Throwable failure =
        failureOf(
            LongStream.range(0, 100),
            generator -> {
              List<Integer> list = generator.list(0, 60, each -> each.intBetween(0, 1_000));
              assertThat(list.size()).isLessThan(7);
            });
    assertThat(failure.getMessage()).containsPattern("values: \\[\\[(\\d+, ){6}\\d+]]");
    assertThat(failure.getCause()).hasMessageContaining("7");
  }

  @Test
  void checkedExceptionsAndErrors_areFailures() {
    for (Throwable thrown : List.of(new IOException("x"), new StackOverflowError())) {
      Property.Case property =
          generator -> {
            if (thrown instanceof Error error) {
              throw error;
            }
            throw (IOException) thrown;
          };
      assertThat(failureOf(LongStream.of(3), property))
          .isInstanceOf(AssertionError.class)
          .hasMessageContaining("seed 3")
          .hasCause(thrown);
    }
  }

  @Test
  void unreproducibleFailure_isReported() {
    int[] runs = {0};
    Throwable failure =
        failureOf(
            LongStream.of(1),
            generator -> {
              generator.list(9, 9, each -> each.below(2));
              assertThat(++runs[0]).isGreaterThan(1);
            });
    assertThat(failure).isInstanceOf(AssertionError.class);
  }

  @Test
  void manyValues_areTruncatedInTheMessage() {
    Throwable failure =
        failureOf(
            LongStream.of(1),
            generator -> {
              generator.list(5_000, 5_000, each -> each.below(2));
              throw new IllegalStateException();
            });
    assertThat(failure.getMessage()).contains("… (15002 characters)").hasSizeLessThan(5_000);
  }

  /** The test that calls is named, without being told. */
  @Test
  void check_namesItsCaller() {
    assertThat(catchThrowable(PropertyTest::fails))
        .hasMessageContaining("-Dtest='PropertyTest#fails'");
  }

  private static void fails() {
    Property.check(
        1,
        generator -> {
          throw new IllegalStateException();
        });
  }
}
