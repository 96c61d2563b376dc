package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.testkit.Hiccups;
import dev.sluice.testkit.RedisServer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A node that granted very many keys by itself returns once, and nobody waits for it. */
@Tag("any-jdk")
@Tag("long") // asks how long calls take, and needs both processors for it
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class ManyKeysOutageTest {
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final int KEYS = 15_000;
  private static final long MOST_MILLIS = 150;

  private final List<LimitsEvent> events = new CopyOnWriteArrayList<>();
  private long slowestNanos;

  private boolean take(SharedThrottle.Blocking throttle, int key, Hiccups hiccups) {
    long from = System.nanoTime();
    boolean granted = throttle.tryConsume("t:" + key);
    long to = System.nanoTime();
    if (to - from > slowestNanos) {
      slowestNanos = Math.max(slowestNanos, to - from - hiccups.nanosIn(from, to));
    }
    return granted;
  }

  @Test
  void returned_whileManyKeysAreAskedFor_doesNotWaitForThemToEnd() {
    List<String> keys = IntStream.range(0, 50_000).mapToObj(i -> "t:" + i).toList();
    try (RedisServer server = RedisServer.start();
        SharedLimits node = SharedLimits.builder().url(server.uri()).listener(events::add).open()) {
      SharedThrottle throttle = node.throttle();
      throttle.blocking().setTemplate("t:*", 100_000, 100_000);
      server.kill();
      Waiting.until("the loss", PATIENCE, () -> !node.status().available());
      try (KeyLoad load = new KeyLoad(throttle, 2, keys)) {
        Waiting.until("all keys", PATIENCE, () -> load.rounds() > 1);
        server.restart();
        Waiting.until("the return", PATIENCE, () -> node.status().available());
        long exact = node.status().exact();
        Waiting.until("decisions in Redis", PATIENCE, () -> node.status().exact() > exact + 1_000);
        Waiting.until("the last of the charges", PATIENCE, () -> charged() > 0);
      }
      Waiting.until(
          "confirmed charges", PATIENCE, () -> node.status().chargedTokens() == charged());
      assertThat(node.status().outages()).as(events::toString).isEqualTo(1);
    }
  }

  private long charged() {
    return events.stream()
        .mapToLong(event -> event instanceof LimitsEvent.Returned back ? back.charged() : 0)
        .sum();
  }

  @Test
  void returned_withManyKeys_staysAndChargesAll() {
    try (RedisServer server = RedisServer.builder().data().start();
        Hiccups hiccups = new Hiccups();
        SharedLimits node = SharedLimits.builder().url(server.uri()).listener(events::add).open()) {
      SharedThrottle.Blocking throttle = node.throttle().blocking();
      throttle.setTemplate("t:*", 100_000, 100_000);
      server.kill();
      Waiting.until("the loss", PATIENCE, () -> !node.status().available());
      for (int i = 0; i < KEYS; i++) {
        int key = i;
        if (!take(throttle, key, hiccups)) {
          Waiting.until("a grant by share", PATIENCE, () -> take(throttle, key, hiccups));
        }
      }
      server.restart();
      int[] next = {0};
      Waiting.until(
          "confirmed charges",
          PATIENCE,
          () -> {
            for (int i = 0; i < 100; i++) {
              take(throttle, next[0]++ % KEYS, hiccups);
            }
            return node.status().available()
                && charged() >= KEYS
                && node.status().chargedTokens() == charged();
          });
      assertThat(node.status().outages()).isEqualTo(1);
      assertThat(slowestNanos / 1_000_000).isLessThan(MOST_MILLIS);
    }
  }
}
