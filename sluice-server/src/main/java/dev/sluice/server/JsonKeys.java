package dev.sluice.server;

import dev.sluice.ThrottleStats;
import dev.sluice.broker.BrokerView;
import dev.sluice.broker.QueueConfig;
import dev.sluice.broker.QueueKeys;
import java.time.Duration;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** What is said of fairness keys and throttle keys in JSON. */
final class JsonKeys {
  private JsonKeys() {}

  /** By its name, in small letters. */
  static QueueKeys.Order order(String name) {
    return Arrays.stream(QueueKeys.Order.values())
        .filter(each -> each.name().toLowerCase(Locale.ROOT).equals(name))
        .findFirst()
        .orElseThrow(
            () -> ApiException.invalid("order must be one of depth, wait, delivered: " + name));
  }

  private static @Nullable Long millis(Optional<Duration> time) {
    return time.map(Duration::toMillis).orElse(null);
  }

  /** The first fairness keys of a queue, and sums over all. */
  record Keys(
      long active,
      long waiting,
      long readyWeight,
      int maxInFlightPerKey,
      long matching,
      List<Key> keys) {
    static Keys of(QueueKeys found, QueueConfig config) {
      return new Keys(
          found.active(),
          found.waiting(),
          found.readyWeight(),
          config.maxInFlightPerKey(),
          found.matching(),
          found.keys().stream().map(Key::of).toList());
    }
  }

  /** How a fairness key stands. */
  record Key(
      String key,
      long depth,
      long pending,
      long inFlight,
      long delayed,
      int weight,
      long delivered,
      long waitedMs,
      List<Parked> parked) {
    static Key of(QueueKeys.Key key) {
      return new Key(
          key.key(),
          key.depth(),
          key.pending(),
          key.inFlight(),
          key.delayed(),
          key.weight(),
          key.delivered(),
          key.waited().toMillis(),
          key.parked().stream().map(Parked::of).toList());
    }
  }

  /** Messages that wait for a throttle key. */
  record Parked(String throttleKey, int messages, long weight, @Nullable Long untilMs) {
    static Parked of(QueueKeys.Parked parked) {
      return new Parked(
          parked.throttleKey(), parked.messages(), parked.weight(), millis(parked.until()));
    }
  }

  /** A throttle key as it stands. */
  record Throttle(
      String key,
      double ratePerSecond,
      double burst,
      double tokens,
      long taken,
      int waiting,
      @Nullable Long untilMs,
      @Nullable Long neverAsks) {
    static Throttle of(BrokerView.Throttle throttle) {
      ThrottleStats stats = throttle.stats();
      return new Throttle(
          stats.key(),
          stats.ratePerSecond(),
          stats.burst(),
          stats.level(),
          stats.taken(),
          stats.waiters(),
          millis(throttle.until()),
          stats.neverAsks().isEmpty() ? null : stats.neverAsks().getAsLong());
    }
  }

  /** The first throttle keys: those for which most wait. */
  record Throttles(long atMs, int total, List<Throttle> throttles) {
    static Throttles of(BrokerView.Throttles found, int limit) {
      return new Throttles(
          TimeUnit.NANOSECONDS.toMillis(found.atNanos()),
          found.all().size(),
          found.all().stream()
              .sorted(Comparator.comparingInt(each -> -each.stats().waiters()))
              .limit(limit)
              .map(Throttle::of)
              .toList());
    }
  }

  /** A fairness key that waits for a throttle key. */
  record Waiter(String queue, String key, int messages, long tokens, long asks) {
    static Waiter of(ThrottleStats.Waiter waiter) {
      return new Waiter(
          waiter.queue(), waiter.key(), waiter.items(), waiter.tokens(), waiter.asks());
    }
  }
}
