package dev.sluice.server.telemetry;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.JsonEncoder;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.ConsoleAppender;
import ch.qos.logback.core.encoder.Encoder;
import java.util.logging.Handler;
import java.util.logging.LogManager;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;

/**
 * How the process logs: lines on stderr, also those of java.util.logging.
 *
 * @param level of the server's own loggers; others log warnings at most
 * @param format {@code text} or {@code json}
 */
public record LogConfig(String level, String format) {
  /** The section of its settings. */
  public static final String SECTION = "log";

  private static final String OWN = "dev.sluice";

  /** It warns of every call that a client breaks off, which is no fault of the server. */
  private static final String STREAM_ERRORS =
      "io.grpc.netty.shaded.io.grpc.netty.NettyServerHandler";

  private static final String LINE =
      "%d{yyyy-MM-dd'T'HH:mm:ss.SSSXXX} %-5level %logger{0} - %msg%replace( %kvp){'^ $', ''}%n";

  /** The configuration that was started last: the process has one log. */
  private static volatile @Nullable LogConfig current;

  /** Returns the current configuration; null before a server has set one. */
  public static @Nullable LogConfig current() {
    return current;
  }

  /** Describes the configuration by the names of its settings. */
  public String settings() {
    return "log.level=%s, log.format=%s".formatted(level, format);
  }

  public void start() {
    current = this;
    LoggerContext context = (LoggerContext) LoggerFactory.getILoggerFactory();
    context.reset();
    Encoder<ILoggingEvent> encoder = format.equals("json") ? json() : text();
    encoder.setContext(context);
    encoder.start();
    ConsoleAppender<ILoggingEvent> stderr = new ConsoleAppender<>();
    stderr.setContext(context);
    stderr.setTarget("System.err");
    stderr.setEncoder(encoder);
    stderr.start();
    Level own = Level.toLevel(level);
    Level others = own.isGreaterOrEqual(Level.WARN) ? own : Level.WARN;
    context.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME).setLevel(others);
    context.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME).addAppender(stderr);
    context.getLogger(OWN).setLevel(own);
    context.getLogger(STREAM_ERRORS).setLevel(Level.ERROR);
    takeOverJavaLogging();
  }

  private static Encoder<ILoggingEvent> text() {
    PatternLayoutEncoder encoder = new PatternLayoutEncoder();
    encoder.setPattern(LINE);
    return encoder;
  }

  private static Encoder<ILoggingEvent> json() {
    JsonEncoder encoder = new JsonEncoder();
    encoder.setWithSequenceNumber(false);
    encoder.setWithNanoseconds(false);
    encoder.setWithContext(false);
    encoder.setWithMarkers(false);
    encoder.setWithMDC(false);
    encoder.setWithArguments(false);
    encoder.setWithMessage(false);
    encoder.setWithFormattedMessage(true);
    return encoder;
  }

  /** gRPC and the broker log there. */
  private static void takeOverJavaLogging() {
    Logger root = LogManager.getLogManager().getLogger("");
    for (Handler handler : root.getHandlers()) {
      root.removeHandler(handler);
    }
    root.addHandler(new JulBridgeHandler());
  }
}
