package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limit;
import dev.sluice.redis.link.LinkTerms;
import dev.sluice.redis.link.RedisAddress;
import dev.sluice.redis.link.RedisLink;
import dev.sluice.testkit.RedisServer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What was granted in outages is charged once, and in order. */
@Tag("any-jdk")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class ChargesTest implements RedisLink.Watcher {
  private static final Duration PATIENCE = Duration.ofSeconds(10);
  private static final int KEYS = Charges.AT_ONCE + 44;

  private final Quota quota = Quota.of(new Limit.Manual(10));
  private final List<Shares.Charge> lost = new CopyOnWriteArrayList<>();

  private Shares.Charge charge(int key, long tokens) {
    return new Shares.Charge("charged:" + key, quota, tokens, tokens);
  }

  private static long left(Scripts scripts, Shares.Charge charge) {
    List<Long> level = scripts.adjust("look", 0, "0", charge.key(), charge.quota());
    return level.get(0) / level.get(1);
  }

  @Test
  void send_whileOlderOnesOfTheKeyAreNotConfirmed_chargesBoth() {
    try (RedisServer server = RedisServer.start();
        Scripts scripts = Scripts.inServerTime(server);
        RedisLink link = link(server)) {
      RuleBook book = new RuleBook(link, new KeySpace("charges:"), Rules.NONE, rules -> {});
      Counts counts = new Counts();
      Charges charges = new Charges(link, book, counts, "node", lost::add);
      List<Shares.Charge> first = IntStream.range(0, KEYS).mapToObj(key -> charge(key, 1)).toList();
      assertThat(charges.send(first)).as("not connected").failsWithin(PATIENCE);
      assertThat(lost).hasSize(KEYS);
      assertThat(charges.owed()).hasSize(KEYS);
      link.reconnect(PATIENCE.toMillis()).join();
      link.returned();

      List<Shares.Charge> second =
          IntStream.range(0, KEYS).mapToObj(key -> charge(key, 2)).toList();
      assertThat(charges.send(second)).succeedsWithin(PATIENCE);
      assertThat(charges.isSettled()).isTrue();
      assertThat(charges.sendAgain()).succeedsWithin(PATIENCE);
      assertThat(first).allMatch(charge -> left(scripts, charge) == 7);
      assertThat(counts.chargedTokens.sum()).isEqualTo(3 * KEYS);
    }
  }

  private RedisLink link(RedisServer server) {
    return new RedisLink(
        RedisAddress.parse(server.uri()),
        new LinkTerms(
            PATIENCE,
            null,
            List.of(Script.values()),
            "sluice-redis",
            LimitsUnavailableException.failures()),
        this);
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
}
