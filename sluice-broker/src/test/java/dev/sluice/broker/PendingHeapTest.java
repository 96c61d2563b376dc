package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A store with more messages than the heap of the next process has room for. */
@Tag("any-jdk")
@Timeout(120)
final class PendingHeapTest {
  private static final Pattern REFUSAL =
      Pattern.compile(
          "HEAP_FULL: the (\\d+) messages and remembered ids of the store need a heap of at least"
              + " (\\d+) MiB, but the largest heap of this process is \\d+ MiB; with -Xmx(\\d+)m it"
              + " also accepts new ones");

  @TempDir private Path dir;

  private String open(String heap, long more, String keys) throws Exception {
    Process child =
        ChildJvm.start(
            List.of(), heap, PendingHeapMain.class, dir.toString(), String.valueOf(more), keys);
    List<String> lines = ChildJvm.output(child);
    assertThat(lines).hasSize(1);
    return lines.get(0);
  }

  /** Many messages of one tenant, and fewer that each bring a tenant of their own. */
  @ParameterizedTest
  @CsvSource({"90000, one", "25000, tenants"})
  void heapThatIsTooSmall_isRefused_andTheNamedHeapSuffices(long count, String keys)
      throws Exception {
    assertThat(open("-Xmx512m", count, keys)).isEqualTo("opened: " + count + " true");
    String refused = open("-Xmx28m", 0, keys);
    assertThat(refused).matches(REFUSAL);
    Matcher refusal = REFUSAL.matcher(refused);
    assertThat(refusal.matches()).isTrue();
    assertThat(Long.parseLong(refusal.group(1))).isEqualTo(count);
    assertThat(open("-Xmx" + refusal.group(2) + "m", 0, keys))
        .isEqualTo("opened: " + count + " true");
    assertThat(Long.parseLong(refusal.group(3))).isGreaterThan(Long.parseLong(refusal.group(2)));
  }

  /** Messages that a running broker has accepted never keep it from starting again. */
  @Test
  void heapFullOfMessagesThatAllBecameDeadLetters_isEnoughForTheNextProcess() throws Exception {
    String first = open("-Xmx64m", 1_000_000, "dead");
    assertThat(first).matches("opened: \\d{5,} true");
    assertThat(open("-Xmx64m", 0, "dead")).isEqualTo(first);
  }
}
