package dev.sluice.server;

import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.OutputStreamAppender;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;

/** Everything that goes to the log, or past it to stderr, while this is open. */
final class CapturedLog implements AutoCloseable {
  private final ByteArrayOutputStream written = new ByteArrayOutputStream();
  private final PrintStream into = new PrintStream(written, true, StandardCharsets.UTF_8);
  private final PrintStream stderr = System.err;
  private final PrintStream stdout = System.out;
  private final Logger root = Logger.getLogger("");
  private final Handler handler =
      new Handler() {
        @Override
        public void publish(@Nullable LogRecord line) {
          if (line != null && line.getThrown() != null) {
            line.getThrown().printStackTrace(into);
          }
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
      };

  /** Tests send the log to a file: this brings it here too. */
  private final OutputStreamAppender<ILoggingEvent> appender = new OutputStreamAppender<>();

  CapturedLog() {
    System.setErr(into);
    System.setOut(into);
    root.addHandler(handler);
    LoggerContext context = (LoggerContext) LoggerFactory.getILoggerFactory();
    PatternLayoutEncoder encoder = new PatternLayoutEncoder();
    encoder.setContext(context);
    encoder.setPattern("%level %logger %msg %kvp%n%ex");
    encoder.start();
    appender.setContext(context);
    appender.setEncoder(encoder);
    appender.setOutputStream(written);
    appender.start();
    logback().addAppender(appender);
  }

  private static ch.qos.logback.classic.Logger logback() {
    return (ch.qos.logback.classic.Logger)
        LoggerFactory.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
  }

  /** Returns the text that was logged, stack traces included. */
  String text() {
    return written.toString(StandardCharsets.UTF_8);
  }

  @Override
  public void close() {
    System.setErr(stderr);
    System.setOut(stdout);
    root.removeHandler(handler);
    logback().detachAppender(appender);
    appender.stop();
  }
}
