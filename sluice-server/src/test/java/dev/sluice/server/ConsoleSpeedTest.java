package dev.sluice.server;

import java.io.IOException;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/** How fast the console is in a real browser: its first paint, and 10,000 fairness keys. */
@Tag("any-jdk")
@Tag("long")
final class ConsoleSpeedTest {
  @TempDir Path dir;

  @TestFactory
  Stream<DynamicTest> inTheBrowser() throws IOException, InterruptedException {
    return ConsoleTest.run(dir, "speed");
  }
}
