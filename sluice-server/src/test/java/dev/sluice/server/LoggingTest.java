package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.util.ContextInitializer;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.sluice.server.telemetry.LogConfig;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.logging.LogManager;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** The contents and formats of the log. */
final class LoggingTest {
  private final PrintStream stderr = System.err;
  private final ByteArrayOutputStream written = new ByteArrayOutputStream();

  @BeforeEach
  void catchErrors() {
    System.setErr(new PrintStream(written, true, StandardCharsets.UTF_8));
  }

  @AfterEach
  void logAsBefore() throws Exception {
    System.setErr(stderr);
    LoggerContext context = (LoggerContext) LoggerFactory.getILoggerFactory();
    context.reset();
    new ContextInitializer(context).autoConfig();
    LogManager.getLogManager().readConfiguration();
  }

  private List<String> lines() {
    return written.toString(StandardCharsets.UTF_8).lines().toList();
  }

  private static void logSome() {
    LoggerFactory.getLogger("dev.sluice.x.Own").info("own info");
    LoggerFactory.getLogger("dev.sluice.x.Own").debug("own debug");
    LoggerFactory.getLogger("com.other.Theirs").info("their info");
    LoggerFactory.getLogger("com.other.Theirs").warn("their warning");
    System.getLogger("dev.sluice.broker.Broker")
        .log(System.Logger.Level.WARNING, "the {0} warns", "broker");
    java.util.logging.Logger.getLogger("io.grpc.netty.shaded.io.grpc.netty.NettyServerHandler")
        .log(java.util.logging.Level.WARNING, "Stream Error", new IOException("reset"));
  }

  @Test
  void text_hasOneLinePerEvent() {
    new LogConfig("info", "text").start();
    logSome();
    assertThat(lines())
        .extracting(line -> line.replaceFirst("^[0-9T:.+Z-]+ ", ""))
        .containsExactly(
            "INFO  Own - own info",
            "WARN  Theirs - their warning",
            "WARN  Broker - the broker warns");
  }

  @Test
  void text_hasNamesAndValues() {
    new LogConfig("info", "text").start();
    LoggerFactory.getLogger("dev.sluice.Own").atInfo().addKeyValue("a", 1).log("said");
    assertThat(lines()).singleElement().asString().endsWith("INFO  Own - said a=\"1\"");
  }

  @Test
  void level_appliesToOwnLoggers_andOtherLoggersStayAtWarn() {
    new LogConfig("debug", "text").start();
    logSome();
    assertThat(lines()).hasSize(4).anyMatch(line -> line.endsWith("own debug"));
    written.reset();
    new LogConfig("error", "text").start();
    logSome();
    assertThat(lines()).isEmpty();
  }

  @Test
  void json_hasOneObjectPerLine_withExceptions() throws IOException {
    new LogConfig("info", "json").start();
    logSome();
    LoggerFactory.getLogger("dev.sluice.Own")
        .atError()
        .addKeyValue("path", "a\"b\\c\n")
        .setCause(new IOException("broken\nin two"))
        .log("failed {}", "\u0001 twice");
    assertThat(lines()).hasSize(4);
    ObjectMapper json = new ObjectMapper();
    for (String line : lines()) {
      assertThat(json.readTree(line).get("timestamp").isIntegralNumber()).isTrue();
    }
    JsonNode failure = json.readTree(lines().get(3));
    assertThat(failure.get("level").asText()).isEqualTo("ERROR");
    assertThat(failure.get("loggerName").asText()).isEqualTo("dev.sluice.Own");
    assertThat(failure.get("formattedMessage").asText()).isEqualTo("failed \u0001 twice");
    assertThat(failure.get("kvpList").get(0).get("path").asText()).isEqualTo("a\"b\\c\n");
    assertThat(failure.get("throwable").get("message").asText()).isEqualTo("broken\nin two");
  }
}
