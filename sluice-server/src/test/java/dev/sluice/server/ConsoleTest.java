package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/**
 * The console in a real browser: the tests of {@code src/test/browser}, each as a test of its own.
 * {@code -Dsluice.browser=REGEX} runs those in whose names it is found.
 */
@Tag("any-jdk")
final class ConsoleTest {
  @TempDir Path dir;

  @TestFactory
  Stream<DynamicTest> inTheBrowser() throws IOException, InterruptedException {
    return run(dir, "views");
  }

  /** Each test of a part of the suite. */
  static Stream<DynamicTest> run(Path dir, String part) throws IOException, InterruptedException {
    List<BrowserSuite.Result> results;
    try (ConsoleServers servers = new ConsoleServers(dir)) {
      String pattern = System.getProperty("sluice.browser", "");
      results = BrowserSuite.run(servers.environment(), part, pattern);
    }
    assertThat(results).as("no test of the browser ran").isNotEmpty();
    return results.stream().map(each -> DynamicTest.dynamicTest(each.name(), () -> check(each)));
  }

  private static void check(BrowserSuite.Result result) {
    if (!result.passed()) {
      fail("%s: %s", result.name(), result.error());
    }
  }
}
