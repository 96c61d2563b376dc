package dev.sluice.redis;

import dev.sluice.redis.link.Call;
import dev.sluice.redis.link.FleetConnection;
import dev.sluice.redis.link.FleetView;
import dev.sluice.redis.link.LinkTerms;
import dev.sluice.redis.link.Membership;
import dev.sluice.redis.link.RedisAddress;
import dev.sluice.testkit.RedisServer;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The rules of a node that compares them with those in Redis only when told to. */
final class RuleBookProbe implements AutoCloseable, FleetConnection.Member {
  private static final long MILLIS = 10_000;

  private final KeySpace space;
  private final FleetConnection connection;
  private final RuleBook book;

  RuleBookProbe(RedisServer server, String prefix) {
    space = new KeySpace(prefix);
    connection =
        new FleetConnection(
            RedisAddress.parse(server.uri()),
            new LinkTerms(
                Duration.ofMillis(MILLIS),
                null,
                List.of(Script.values()),
                "sluice-redis",
                LimitsUnavailableException.failures()),
            new Membership(
                "probe", List.of(space.members()), 1, space.schema(), Membership.Timing.DEFAULTS),
            this);
    book = new RuleBook(connection, space, Rules.NONE, rules -> {});
    connection.start();
    sync();
  }

  /** Sets a field, or removes it; whether something changed. */
  boolean put(String field, @Nullable String text) {
    return book.put(field, text).orTimeout(MILLIS, TimeUnit.MILLISECONDS).join();
  }

  /** Does what a heartbeat does. */
  void sync() {
    connection
        .probe(Script.RULES, new String[] {space.rules(), space.told()}, new String[] {"read"})
        .thenCompose(answer -> book.sync(Call.number(answer, 0), Call.number(answer, 3)))
        .orTimeout(MILLIS, TimeUnit.MILLISECONDS)
        .join();
  }

  Map<String, String> rules() {
    return book.rules().fields();
  }

  @Override
  public CompletableFuture<Void> seen(FleetView view) {
    return CompletableFuture.allOf();
  }

  @Override
  public void lost(String cause) {
    throw new IllegalStateException(cause);
  }

  @Override
  public CompletableFuture<Void> report() {
    return CompletableFuture.allOf();
  }

  @Override
  public void connected(Optional<Duration> outage) {}

  @Override
  public void refused(String error) {
    throw new IllegalStateException(error);
  }

  @Override
  public void close() {
    connection.close();
  }
}
