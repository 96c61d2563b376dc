package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.testkit.RedisServer;
import java.util.ArrayList;
import java.util.List;
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
        SharedThrottle.Blocking throttle = limits.throttle().blocking();
        throttle.setTemplate("tenant:*", 10, 20); // in force at every node within a second
        throttle.setRate("provider:aws", 0.5, 1);
        Decision decision = throttle.consume(List.of("tenant:acme", "provider:aws"));
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
