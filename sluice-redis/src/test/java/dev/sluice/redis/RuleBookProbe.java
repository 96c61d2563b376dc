package dev.sluice.redis;

import dev.sluice.redis.link.Call;
import dev.sluice.redis.link.LinkTerms;
import dev.sluice.redis.link.Pulse;
import dev.sluice.redis.link.RedisAddress;
import dev.sluice.redis.link.RedisLink;
import dev.sluice.testkit.RedisServer;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The rules of a node that beats only when told to. */
final class RuleBookProbe implements AutoCloseable, RedisLink.Watcher {
  private static final long MILLIS = 10_000;

  private final KeySpace space;
  private final RedisLink link;
  private final RuleBook book;

  RuleBookProbe(RedisServer server, String prefix) {
    space = new KeySpace(prefix);
    link =
        new RedisLink(
            RedisAddress.parse(server.uri()),
            new LinkTerms(
                Duration.ofMillis(MILLIS),
                null,
                List.of(Script.values()),
                "sluice-redis",
                LimitsUnavailableException.failures()),
            this);
    book = new RuleBook(link, space, Rules.NONE, rules -> {});
    link.reconnect(MILLIS).join();
    link.returned();
    sync();
  }

  /** Sets a field, or removes it; whether something changed. */
  boolean put(String field, @Nullable String text) {
    return book.put(field, text).orTimeout(MILLIS, TimeUnit.MILLISECONDS).join();
  }

  /** What a pulse does. */
  void sync() {
    String[] keys = {space.nodes(), space.rules()};
    link.probe(Pulse.SCRIPT, keys, new String[] {"probe", "5000000", "5000000", "stay"})
        .thenCompose(answer -> book.sync(Call.number(answer, 1), Call.number(answer, 3)))
        .orTimeout(MILLIS, TimeUnit.MILLISECONDS)
        .join();
  }

  Map<String, String> rules() {
    return book.rules().fields();
  }

  @Override
  public void lost(String cause) {
    throw new IllegalStateException(cause);
  }

  @Override
  public void failed(String cause) {}

  @Override
  public void refused(String error) {
    throw new IllegalStateException(error);
  }

  @Override
  public void close() {
    link.close();
  }
}
