package dev.sluice.redis;

import static org.awaitility.Awaitility.await;

import dev.sluice.testkit.contract.ContractClock;
import dev.sluice.testkit.redis.RedisServer;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** A real Redis whose clock stands still until told to go on, to the microsecond. */
final class StandingRedis implements AutoCloseable, ContractClock {
  private static final AtomicInteger NAMES = new AtomicInteger();
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  private final RedisServer server;
  private Instant now;

  private StandingRedis(RedisServer server, Instant start) {
    this.server = server;
    this.now = start;
    server.standAt(start);
  }

  static StandingRedis start() {
    Instant start = Instant.parse("2001-01-01T00:00:00Z");
    return new StandingRedis(
        RedisServer.builder().clockOffset(Duration.between(Instant.now(), start)).start(), start);
  }

  RedisServer server() {
    return server;
  }

  /** Limits with keys of their own, which nothing on a busy machine takes for an outage. */
  SharedLimits open() {
    return awaitConnected(
        SharedLimits.builder()
            .url(server.uri())
            .prefix(newName())
            .timeout(PATIENCE)
            .options(SharedLimitOptions.defaults().withOutageMode(OutageMode.CLOSED))
            .build());
  }

  static SharedLimits awaitConnected(SharedLimits limits) {
    await().atMost(PATIENCE).until(() -> limits.status().available());
    return limits;
  }

  static String newName() {
    return "test-" + NAMES.incrementAndGet() + ":";
  }

  Instant now() {
    return now;
  }

  long micros() {
    return ChronoUnit.MICROS.between(Instant.EPOCH, now);
  }

  @Override
  public void advance(Duration time) {
    if (time.toNanos() % 1_000 != 0) {
      throw new IllegalArgumentException("time must be whole microseconds, but was " + time);
    }
    standAt(now.plus(time));
  }

  void standAt(Instant time) {
    now = time;
    server.standAt(time);
  }

  /** Goes on to where a period of any length that divides a day begins. */
  void nextDay() {
    standAt(now.truncatedTo(ChronoUnit.DAYS).plus(1, ChronoUnit.DAYS));
  }

  @Override
  public Duration tick() {
    return Duration.ofNanos(1_000);
  }

  @Override
  public void close() {
    server.close();
  }
}
