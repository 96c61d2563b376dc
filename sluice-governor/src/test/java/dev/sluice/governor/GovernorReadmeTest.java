package dev.sluice.governor;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The example of the README and of docs/governor.md that uses the governor, run. */
class GovernorReadmeTest {
  private static final Pattern JAVA_BLOCK = Pattern.compile("```java\\n(.*?)```", Pattern.DOTALL);

  @TempDir Path directory;
  private final List<Long> calls = new ArrayList<>();
  private final List<String> told = new ArrayList<>();

  @Test
  void aCall() {
    exhaust();
    try (Governor governor = Governor.open(BudgetFile.shipped(), directory)) {
      TokenRequest request =
          TokenRequest.of("AX9F7E2B-sonnet-4-5", 5_000, "P1_user").withTenant("acme");
      Outcome outcome = governor.request(request);
      if (outcome instanceof Outcome.Queued queued) { // somebody is before you, and you can see it
        tell("number %d, in %d ms".formatted(queued.queuePosition(), queued.etaMs()));
        outcome = governor.await(queued.ticket()).join().orElseThrow(); // or poll, or cancel
      }
      if (outcome instanceof Outcome.Granted granted) { // 5,000 tokens are reserved
        long used = callTheModel(granted.requestedTokens());
        governor.settle(granted.reservation(), used); // the rest is for the next in line
      }
    }
    assertThat(calls).containsExactly(5_000L);
    assertThat(told).singleElement().asString().startsWith("number 1, in ");
  }

  /** So that the example has to wait, for a moment. */
  private void exhaust() {
    try (Governor governor = Governor.open(BudgetFile.shipped(), directory)) {
      governor.request("AX9F7E2B-sonnet-4-5", 209_000, "P1_user");
    }
  }

  private void tell(String message) {
    told.add(message);
  }

  private long callTheModel(long maxTokens) {
    calls.add(maxTokens);
    return 3_200;
  }

  @Test
  void theReadme_showsOnlyWhatRunsHere() throws IOException {
    String code =
        stripped(
            Files.readString(Path.of("src/test/java/dev/sluice/governor/GovernorReadmeTest.java")));
    for (String document : List.of("../README.md", "../docs/governor.md")) {
      Matcher blocks = JAVA_BLOCK.matcher(Files.readString(Path.of(document)));
      int count = 0;
      while (blocks.find()) {
        if (blocks.group(1).contains("Governor.open")) {
          assertThat(code).contains(stripped(blocks.group(1)));
          count++;
        }
      }
      assertThat(count).as(document).isEqualTo(1);
    }
  }

  private static String stripped(String code) {
    return code.replaceAll("\\s+", "");
  }
}
