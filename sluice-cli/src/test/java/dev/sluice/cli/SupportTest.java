package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.cli.runtime.ProgressLine;
import dev.sluice.cli.text.Suggestions;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Parts that all commands share. */
final class SupportTest {
  @Test
  void nearby_isNearestFirst() {
    List<String> names = List.of("mail", "mails", "calls", "mail.dlq");
    assertThat(Suggestions.of("mali", names)).containsExactly("mail", "mails");
    assertThat(Suggestions.of("mailz", names)).containsExactly("mail", "mails");
    assertThat(Suggestions.of("q", List.of("a", "bcd"))).containsExactly("a");
    assertThat(Suggestions.distance("kitten", "sitting")).isEqualTo(3);
  }

  @Test
  void progress_rewritesOneLineAndTakesItAway() {
    StringWriter err = new StringWriter();
    try (ProgressLine progress = new ProgressLine(new PrintWriter(err), true, 200)) {
      progress.show(0, 0);
      progress.show(100, 50);
      progress.show(100, 50);
    }
    String bar = "[###############...............]  50%  50";
    assertThat(err.toString())
        .isEqualTo(
            "\r[..............................]   0%  0\r"
                + bar
                + "\r"
                + " ".repeat(bar.length())
                + "\r");
  }

  @Test
  void progress_elsewhere_isSilent() {
    StringWriter err = new StringWriter();
    try (ProgressLine progress = new ProgressLine(new PrintWriter(err), false, 0)) {
      progress.show(100, 100);
    }
    assertThat(err.toString()).isEmpty();
  }
}
