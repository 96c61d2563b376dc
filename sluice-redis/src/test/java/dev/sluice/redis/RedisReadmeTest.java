package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.testkit.redis.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.Test;

/** Runs the examples of docs/redis.md and docs/api/redis.md; ShownCodeTest compares them. */
class RedisReadmeTest {
  private final List<String> sent = new ArrayList<>();
  private final Queue<Decision> replies = new ConcurrentLinkedQueue<>();

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

  @Test
  @SuppressWarnings("FutureReturnValueIgnored") // as on the page
  void exampleOfTheApiPage() {
    try (RedisServer redis = RedisServer.start()) {
      String url = redis.uri();
      try (SharedLimits limits = SharedLimits.connect(url)) { // redis://localhost:6379
        limits.set("provider:mail", Limit.perSecond(50, 100)).join(); // on every node in a second
        limits
            .decide(Map.of("provider:mail", 1L, "tenant:acme", 2L))
            .thenAccept(decision -> reply(decision));

        SharedTokenBucket calls = limits.bucket("calls", Limit.strict(1_000, Duration.ofDays(1)));
        if (calls.blocking().tryAcquire()) {
          call();
        }
      }
    }
    await().until(() -> replies.size() == 1);
    assertThat(sent).containsExactly("call");
  }

  private void reply(Decision decision) {
    replies.add(decision);
  }

  private void call() {
    sent.add("call");
  }

  private void send(String mail) {
    sent.add(mail);
  }
}
