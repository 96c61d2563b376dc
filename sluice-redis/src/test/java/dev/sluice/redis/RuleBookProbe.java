package dev.sluice.redis;

import dev.sluice.redis.internal.connection.ConnectionConfig;
import dev.sluice.redis.internal.connection.FleetConnection;
import dev.sluice.redis.internal.connection.MembersView;
import dev.sluice.redis.internal.connection.MembershipConfig;
import dev.sluice.redis.internal.connection.RedisAddress;
import dev.sluice.redis.internal.connection.ScriptCall;
import dev.sluice.redis.internal.limits.LimitDefinitions;
import dev.sluice.redis.internal.limits.LimitScript;
import dev.sluice.redis.internal.limits.LimitTable;
import dev.sluice.redis.internal.limits.RedisKeys;
import dev.sluice.testkit.redis.RedisServer;
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

  private final RedisKeys space;
  private final FleetConnection connection;
  private final LimitDefinitions book;

  RuleBookProbe(RedisServer server, String prefix) {
    space = new RedisKeys(prefix);
    connection =
        new FleetConnection(
            RedisAddress.parse(server.uri()),
            new ConnectionConfig(
                Duration.ofMillis(MILLIS), null, List.of(LimitScript.values()), "sluice-redis"),
            new MembershipConfig(
                "probe",
                List.of(space.members()),
                1,
                space.schema(),
                MembershipConfig.Timing.DEFAULTS),
            this);
    book = new LimitDefinitions(connection, space, LimitTable.NONE, rules -> {});
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
        .probe(
            LimitScript.LIMITS, new String[] {space.rules(), space.told()}, new String[] {"read"})
        .thenCompose(
            answer -> book.sync(ScriptCall.number(answer, 0), ScriptCall.number(answer, 3)))
        .orTimeout(MILLIS, TimeUnit.MILLISECONDS)
        .join();
  }

  Map<String, String> rules() {
    return book.rules().fields();
  }

  @Override
  public CompletableFuture<Void> seen(MembersView view) {
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
