package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.List;
import org.junit.jupiter.api.Test;

/** Patterns of names, as permissions and hooks have them. */
final class NamePatternsTest {
  private static final List<String> NAMES =
      List.of("a", "a.b", "a.b.c", "a:b", "ab", "a.", ".b", "*", "a.*");

  private static List<String> namesOf(String pattern) {
    return NAMES.stream().filter(name -> NamePatterns.matches(pattern, name)).toList();
  }

  @Test
  void pattern_matchesItsNamesOnly() {
    assertThat(namesOf("*")).isEqualTo(NAMES);
    assertThat(namesOf("a")).containsExactly("a");
    assertThat(namesOf("a.*")).containsExactly("a.b", "a.b.c", "a.", "a.*");
    assertThat(namesOf("a.b.*")).containsExactly("a.b.c");
    assertThat(namesOf("a:*")).containsExactly("a:b");
  }

  @Test
  void pattern_coversPatternsOfFewerNames() {
    List<String> patterns = List.of("*", "a", "a.*", "a.b", "a.b.*", "a:*", "ab.*");
    for (String pattern : patterns) {
      assertThat(NamePatterns.covers("*", pattern)).isTrue();
      assertThat(NamePatterns.covers(pattern, pattern)).isTrue();
    }
    assertThat(patterns.stream().filter(each -> NamePatterns.covers("a.*", each)))
        .containsExactly("a.*", "a.b", "a.b.*");
    assertThat(patterns.stream().filter(each -> NamePatterns.covers("a", each)))
        .containsExactly("a");
    assertThat(patterns.stream().filter(each -> NamePatterns.covers(each, "*")))
        .containsExactly("*");
  }

  @Test
  void secondAsterisk_isRefusedWithTheRule() {
    for (String pattern : List.of("a*", "**", "*.a", "a.*.b", "a.*.*", ".*", ":*", "*a.*")) {
      assertThatIllegalArgumentException()
          .as(pattern)
          .isThrownBy(() -> NamePatterns.requireValid(pattern))
          .withMessage("pattern must be a name, a prefix and .* or :*, or *, but was " + pattern);
    }
    for (String pattern : List.of("", "x".repeat(257))) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> NamePatterns.requireValid(pattern))
          .withMessage("pattern must have 1 to 256 characters, but was " + pattern);
    }
    assertThat(NamePatterns.requireValid("x".repeat(254) + ".*")).hasSize(256);
  }
}
