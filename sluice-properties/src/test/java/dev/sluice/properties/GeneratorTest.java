package dev.sluice.properties;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class GeneratorTest {
  private static Stream<Generator> generators(int cases) {
    return LongStream.range(0, cases).mapToObj(seed -> new Generator(seed, Integer.MAX_VALUE));
  }

  /** These numbers are part of the contract: another sequence makes every known seed worthless. */
  @Test
  void seed_givesTheSameCase_onEveryJdk() {
    Generator generator = new Generator(42, Integer.MAX_VALUE);
    generator.longBetween(Long.MIN_VALUE, Long.MAX_VALUE);
    generator.longBetween(0, 1L << 60);
    generator.list(2, 5, each -> each.intBetween(0, 1_000));
    generator.string(9, "abc");
    generator.pick("x", "y", "z");
    assertThat(generator.values()).hasToString("[196, 13703252735040899, [483, 262], ca, y]");
  }

  @ParameterizedTest
  @CsvSource({
    "0, 0",
    "1, 20",
    "-5, 1000000",
    "-9, -2",
    "1, 9223372036854775807",
    "-9223372036854775808, -1",
    "-9223372036854775808, 9223372036854775807",
    "9223372036854775806, 9223372036854775807",
  })
  void numbers_areInTheRange_andReachBothEnds(long min, long max) {
    Set<Long> drawn = new HashSet<>();
    generators(2_000).forEach(generator -> drawn.add(generator.longBetween(min, max)));
    assertThat(drawn).allMatch(number -> number >= min && number <= max).contains(min, max);
    if (max - min > 1_000 || max - min < 0) {
      assertThat(drawn).contains(min + 1, max - 1).hasSizeGreaterThan(500);
    }
  }

  @Test
  void numbers_haveEveryOrderOfMagnitude() {
    Set<Integer> bits = new HashSet<>();
    generators(5_000)
        .mapToLong(generator -> generator.longBetween(0, Long.MAX_VALUE))
        .forEach(number -> bits.add(Long.numberOfLeadingZeros(number)));
    assertThat(bits).hasSize(64);
  }

  @Test
  void namedEdges_areTried_unlessOutOfRange() {
    Set<Long> drawn = new HashSet<>();
    generators(2_000)
        .forEach(generator -> drawn.add(generator.longBetween(1, 1L << 40, 999_983, 1L << 41)));
    assertThat(drawn).contains(999_983L).doesNotContain(1L << 41);
  }

  @Test
  void edges_areCombined() {
    Set<List<Long>> drawn = new HashSet<>();
    generators(2_000)
        .forEach(
            generator ->
                drawn.add(
                    List.of(
                        generator.longBetween(1, 1L << 40),
                        generator.longBetween(1, 1L << 40),
                        generator.longBetween(1, 1L << 40))));
    for (long first : new long[] {1, 1L << 40}) {
      for (long second : new long[] {1, 1L << 40}) {
        assertThat(drawn.contains(List.of(first, second, 1L))).isTrue();
        assertThat(drawn.contains(List.of(first, second, 1L << 40))).isTrue();
      }
    }
  }

  @Test
  void lists_haveEverySize_andRepeatElements() {
    Set<Integer> sizes = new HashSet<>();
    List<List<Long>> lists =
        generators(1_000)
            .map(generator -> generator.list(0, 60, each -> each.longBetween(0, 1L << 60)))
            .toList();
    lists.forEach(list -> sizes.add(list.size()));
    assertThat(sizes).contains(0, 1, 59, 60).hasSizeGreaterThan(50);
    assertThat(lists).anyMatch(list -> new HashSet<>(list).size() < list.size());
  }

  @Test
  void truncatingLists_keepsTheirPrefixes_andLaterDraws() {
    for (int seed = 0; seed < 100; seed++) {
      List<Object> whole = drawTwoLists(new Generator(seed, Integer.MAX_VALUE));
      List<Object> cut = drawTwoLists(new Generator(seed, 3));
      assertThat(cut.get(1)).isEqualTo(whole.get(1));
      for (int index : new int[] {0, 2}) {
        List<?> all = (List<?>) whole.get(index);
        assertThat(cut.get(index)).isEqualTo(all.subList(0, Math.min(3, all.size())));
      }
    }
  }

  private static List<Object> drawTwoLists(Generator generator) {
    List<Object> drawn = new ArrayList<>();
    drawn.add(generator.list(1, 40, each -> each.list(0, 2, inner -> inner.below(9)).hashCode()));
    drawn.add(generator.longBetween(0, 1L << 50));
    drawn.add(generator.list(0, 40, each -> each.intBetween(0, 1_000)));
    return drawn;
  }

  @Test
  void choices_areUniform() {
    int[] counts = new int[23];
    generators(2_300).forEach(generator -> counts[generator.below(23)]++);
    assertThat(IntStream.of(counts)).allMatch(count -> count > 60 && count < 150);
    Set<Object> picked = new HashSet<>();
    generators(100).forEach(generator -> picked.add(generator.pick("a", "b", "c")));
    generators(100).forEach(generator -> picked.add(generator.nextBoolean()));
    assertThat(picked).containsExactlyInAnyOrder("a", "b", "c", true, false);
  }

  @Test
  void strings_keepTheirLength_andTakeAnyCharacter() {
    List<String> strings = generators(1_000).map(generator -> generator.string(50)).toList();
    assertThat(strings).allMatch(text -> text.length() <= 50);
    assertThat(strings).contains("").anyMatch(text -> text.length() == 50);
    assertThat(strings.stream().flatMapToInt(String::codePoints).boxed())
        .contains(0, (int) '0', (int) ' ', 0xD800, 0xFFFF, Character.MAX_CODE_POINT);
    assertThat(generators(100).map(generator -> generator.string(5, "xy")))
        .allMatch(text -> text.matches("[xy]{0,5}"))
        .contains("", "x");
  }

  @Test
  void emptyRange_isRefused() {
    Generator generator = new Generator(0, 10);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> generator.longBetween(3, 2))
        .withMessage("no number is at least 3 and at most 2");
    assertThatIllegalArgumentException().isThrownBy(() -> generator.below(0));
    assertThatIllegalArgumentException().isThrownBy(() -> generator.pick());
  }
}
