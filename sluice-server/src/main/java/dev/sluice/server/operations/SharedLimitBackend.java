package dev.sluice.server.operations;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.LimitStats;
import dev.sluice.redis.RedisUnavailableException;
import dev.sluice.redis.SharedLimits;
import dev.sluice.redis.SharedLimitsStatus;
import dev.sluice.server.RedisConfig;
import dev.sluice.server.operations.LimitOperations.Rate;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.ErrorKind;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Limits that several servers share through Redis.
 *
 * <p>Thread-safe. Which keys have a limit is decided by the rules that this server knows; whether
 * there are tokens, by Redis or, while that does not answer, by the policy for outages. Nothing
 * takes longer than the timeout of Redis.
 */
public final class SharedLimitBackend implements LimitBackend {
  private static final Logger LOG = LoggerFactory.getLogger(SharedLimitBackend.class);

  private final SharedLimits fleet;
  private final SharedLimitsMonitor watch;
  private final boolean leased;

  /** Replaced as a whole, under the lock; read without. */
  private volatile LimitIndex rules = LimitIndex.NONE;

  private SharedLimitBackend(SharedLimits fleet, SharedLimitsMonitor watch, RedisConfig redis) {
    this.fleet = fleet;
    this.watch = watch;
    this.leased = redis.leased();
  }

  /**
   * Begins with the rules that were last seen, and does not wait for Redis.
   *
   * @throws IOException if the file of these cannot be read or is damaged
   */
  public static SharedLimitBackend open(Path directory, RedisConfig redis) throws IOException {
    SharedLimitsMonitor watch = SharedLimitsMonitor.open(directory, redis.outage());
    try {
      SharedLimits fleet = redis.open(watch, watch, watch.cached(), watch.version());
      SharedLimitBackend limits = new SharedLimitBackend(fleet, watch, redis);
      watch.begin(limits::refresh);
      return limits;
    } catch (RuntimeException failure) {
      watch.close();
      throw failure;
    }
  }

  private synchronized void refresh() {
    rules = LimitIndex.of(fleet.limits());
  }

  public SharedLimitsStatus status() {
    return fleet.status();
  }

  @Override
  public @Nullable Rate requireLimit(String key) {
    LimitIndex now = rules;
    if (now.all().containsKey(key)) {
      return null;
    }
    Rate template = now.template(key);
    if (template == null) {
      throw LimitOperations.noLimitFor(key);
    }
    return template;
  }

  /** Redis is not asked: it forgets a key when that is full. */
  @Override
  public boolean mayStore(String key) {
    return true;
  }

  @Override
  public CompletableFuture<Decision> consume(Map<String, Long> costs) {
    return asked(fleet.decide(costs));
  }

  @Override
  public CompletableFuture<Decision> peek(Map<String, Long> costs) {
    return asked(fleet.peek(costs));
  }

  private static <T> CompletableFuture<T> asked(CompletableFuture<T> answer) {
    return answer.exceptionally(
        failure -> {
          throw refusal(failure);
        });
  }

  private static RuntimeException refusal(Throwable failure) {
    Throwable cause =
        failure instanceof CompletionException && failure.getCause() != null
            ? failure.getCause()
            : failure;
    if (cause instanceof IllegalArgumentException broken) {
      return broken;
    }
    if (cause instanceof RedisUnavailableException) {
      return unavailable();
    }
    LOG.error("the shared limits failed", cause);
    return new ApiException(
        ErrorKind.UNAVAILABLE, "the shared limits failed; the server's log has the cause");
  }

  private static ApiException unavailable() {
    return new ApiException(
        ErrorKind.UNAVAILABLE,
        "limits are shared through Redis, which does not answer; retry later");
  }

  /**
   * With the level of a key that is asked for alone: it is read right behind the decision, so that
   * the answer takes one round trip. Where decisions take none, or Redis does not answer, there are
   * no levels.
   */
  @Override
  public CompletableFuture<List<Standing>> standings(Collection<String> keys) {
    List<Standing> known = known(keys);
    if (known.size() != 1 || keys.size() != 1 || leased || !fleet.status().available()) {
      return CompletableFuture.completedFuture(known);
    }
    return fleet
        .stats(known.get(0).key())
        .handle((found, failure) -> failure == null ? standing(found, known) : known);
  }

  private List<Standing> known(Collection<String> keys) {
    LimitIndex now = rules;
    List<Standing> known = new ArrayList<>(keys.size());
    for (String key : keys) {
      Rate rate = now.find(key);
      if (rate != null) {
        known.add(new Standing(key, rate, null));
      }
    }
    return known;
  }

  private static List<Standing> standing(Optional<LimitStats> found, List<Standing> otherwise) {
    return found
        .map(at -> new Standing(at.name(), Rate.of(at.limit()), at.level()))
        .map(List::of)
        .orElse(otherwise);
  }

  @Override
  public CompletableFuture<Void> set(String key, Rate rate) {
    requireAvailable();
    Set<String> next = new HashSet<>(rules.all().keySet());
    if (next.add(key)) {
      LimitOperations.requireFew(next);
    }
    CompletableFuture<Void> stored = fleet.set(key, new Limit.Rate(rate.perSecond(), rate.burst()));
    return asked(stored.thenRun(this::refresh));
  }

  /** A change that the others do not hear of is none. */
  private void requireAvailable() {
    if (!fleet.status().available()) {
      throw unavailable();
    }
  }

  @Override
  public CompletableFuture<Boolean> remove(String key) {
    requireAvailable();
    return asked(
        fleet
            .remove(key)
            .thenApply(
                there -> {
                  refresh();
                  return there;
                }));
  }

  @Override
  public SortedMap<String, Rate> limits() {
    return rules.all();
  }

  @Override
  public void makeRoom() {
    // Redis expires buckets that are full again.
  }

  @Override
  public void close() {
    fleet.close();
    watch.close();
  }
}
