package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.testkit.RedisServer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The example of docs/library.md and docs/redis.md, run; ShownCodeTest finds it here. */
class RedisReadmeTest {
  private final List<String> sent = new ArrayList<>();

  @Test
  void limitsOfAFleet() {
    String mail = "mail";
    try (RedisServer redis = RedisServer.start()) {
      String url = redis.uri();
      try (SharedLimits limits = SharedLimits.connect(url)) { // redis://localhost:6379
        SharedTokenBucket mails =
            limits.bucket("mails", Limit.perMinute(600)); // for all nodes together
        if (mails.blocking().tryAcquire()) { // or tryAcquire(), a future
          send(mail);
        }
        SharedLimits.Blocking named = limits.blocking();
        named.set("tenant:*", new Limit.Rate(10, 20)); // on every node within a second
        named.set("provider:aws", new Limit.Rate(0.5, 1));
        Decision decision = named.decide(Map.of("tenant:acme", 1L, "provider:aws", 1L));
        assertThat(decision.isGranted()).isTrue();
      }
    }
    assertThat(sent).containsExactly("mail");
  }

  @Test
  void leasedLimit() {
    try (RedisServer redis = RedisServer.start();
        SharedLimits limits = SharedLimits.connect(redis.uri())) {
      SharedTokenBucket calls =
          limits.bucket(
              "calls", Limit.perSecond(100_000), SharedLimitOptions.defaults().withTokenBlocks());
      assertThat(calls.blocking().tryAcquire()).isTrue();
    }
  }

  private void send(String mail) {
    sent.add(mail);
  }
}
