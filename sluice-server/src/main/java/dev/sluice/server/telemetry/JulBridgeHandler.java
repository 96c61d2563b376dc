package dev.sluice.server.telemetry;

import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.SimpleFormatter;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/** Forwards records of java.util.logging, so that there is one log. */
final class JulBridgeHandler extends Handler {
  private final SimpleFormatter formatter = new SimpleFormatter();

  @Override
  public void publish(@Nullable LogRecord line) {
    if (line == null) {
      return;
    }
    String logger = line.getLoggerName();
    LoggerFactory.getLogger(logger == null ? "java.util.logging" : logger)
        .atLevel(level(line.getLevel()))
        .setCause(line.getThrown())
        .log(formatter.formatMessage(line));
  }

  private static Level level(java.util.logging.Level level) {
    int value = level.intValue();
    if (value >= java.util.logging.Level.SEVERE.intValue()) {
      return Level.ERROR;
    }
    if (value >= java.util.logging.Level.WARNING.intValue()) {
      return Level.WARN;
    }
    return value >= java.util.logging.Level.INFO.intValue() ? Level.INFO : Level.DEBUG;
  }

  @Override
  public void flush() {}

  @Override
  public void close() {}
}
