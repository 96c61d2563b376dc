package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.internal.bucket.AtomicTokenBucket;
import dev.sluice.internal.bucket.Cell;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.openjdk.jol.info.ClassLayout;
import org.openjdk.jol.info.FieldLayout;

/** The word of a stand-alone bucket has its cache lines to itself. */
final class LayoutTest {
  /** Two lines, since processors fetch them in pairs. */
  private static final long GUARD_BYTES = 128;

  @Test
  void stateWord_sharesNoCacheLineWithOtherObjects() {
    for (Class<?> type : List.of(Cell.class, AtomicTokenBucket.class)) {
      ClassLayout layout = ClassLayout.parseClass(type);
      FieldLayout word =
          layout.fields().stream().filter(f -> f.name().equals("word")).findFirst().orElseThrow();
      assertThat(word.offset()).as("before the word of %s", type).isGreaterThan(GUARD_BYTES);
      assertThat(layout.instanceSize() - word.offset() - Long.BYTES)
          .as("behind the word of %s", type)
          .isGreaterThanOrEqualTo(GUARD_BYTES);
      assertThat(layout.fields())
          .filteredOn(f -> f.offset() > word.offset() && f.offset() < word.offset() + GUARD_BYTES)
          .allMatch(f -> f.typeClass().equals("byte") || f.hostClass().endsWith("CellState"));
    }
  }
}
