package dev.sluice.server.operations;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.Limits;
import dev.sluice.NanoClock;
import dev.sluice.server.auth.AccountQuotas;
import dev.sluice.server.auth.Caller;
import dev.sluice.server.auth.ConcurrencyQuota;
import dev.sluice.server.auth.Permission.Kind;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.ErrorKind;
import dev.sluice.server.support.Futures;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;

/**
 * Limits by key: sets them and decides. Their keys have nothing to do with those of queues.
 *
 * <p>Thread-safe, and no call waits: a call without permission is refused at once, others are
 * answered when the {@link LimitBackend} has it.
 */
public final class LimitOperations {
  /** Every change copies all limits. */
  static final int MAX_LIMITS = 10_000;

  /** A key without a bucket is held against every template. */
  public static final int MAX_TEMPLATES = 1_000;

  private static final int MAX_KEY_BYTES = 256;

  private final LimitBackend store;
  private final AccountQuotas quotas;
  private final TemplateKeyQuota templateKeys;
  private final DecisionCounters decisions = new DecisionCounters();

  /**
   * The rate and burst of a limit.
   *
   * @param perSecond tokens that accrue in a second
   * @param burst the most tokens held
   */
  public record Rate(double perSecond, double burst) {
    public static Rate of(Limit limit) {
      if (limit instanceof Limit.Rate rate) {
        return new Rate(rate.perSecond(), rate.burst());
      }
      double perSecond =
          limit instanceof Limit.Balanced balanced
              ? balanced.refillTokens() * 1e9 / balanced.refillPeriod().toNanos()
              : 0;
      return new Rate(perSecond, limit.capacity());
    }

    void applyTo(Limits throttle, String key) {
      throttle.set(key, Limit.ofRate(perSecond, burst));
    }
  }

  public LimitOperations(LimitBackend store, AccountQuotas quotas) {
    this(store, quotas, new TemplateKeyQuota(LocalLimitBackend.MAX_BUCKETS, NanoClock.system()));
  }

  public LimitOperations(LimitBackend store, AccountQuotas quotas, TemplateKeyQuota templateKeys) {
    this.store = store;
    this.quotas = quotas;
    this.templateKeys = templateKeys;
  }

  /**
   * Limits of this server alone.
   *
   * @throws IOException if the file cannot be read or is damaged
   */
  public static LimitOperations open(Path directory, AccountQuotas quotas) throws IOException {
    return open(directory, Limits.create(), LocalLimitBackend.MAX_BUCKETS, quotas);
  }

  public static LimitOperations open(
      Path directory, Limits throttle, int maxBuckets, AccountQuotas quotas) throws IOException {
    return new LimitOperations(
        LocalLimitBackend.open(directory, throttle, maxBuckets),
        quotas,
        new TemplateKeyQuota(maxBuckets, NanoClock.system()));
  }

  /** Takes all of {@code costs} or none; nothing at all if {@code dryRun}. */
  public CompletableFuture<Decision> decide(
      Caller caller, Map<String, Long> costs, boolean dryRun) {
    if (costs.isEmpty()) {
      throw ApiException.invalid("costs must name at least one limit");
    }
    Map<String, Rate> byTemplate = new HashMap<>();
    for (String key : costs.keySet()) {
      requireKey(key);
      caller.require(Kind.LIMIT, key);
      Rate template = store.requireLimit(key);
      if (template != null) {
        byTemplate.put(key, template);
      }
    }
    if (dryRun) {
      return store.peek(costs);
    }
    templateKeys.use(caller, byTemplate, costs);
    CompletableFuture<Decision> counted = store.consume(costs).thenApply(this::counted);
    // A canceled call cancels the copy only: its tokens stay taken.
    return counted.isDone() ? counted : counted.copy();
  }

  private Decision counted(Decision decision) {
    decisions.add(decision);
    return decision;
  }

  /** Dry runs do not count. */
  public DecisionCounters decisions() {
    return decisions;
  }

  static ApiException noLimitFor(String key) {
    return ApiException.notFound("no limit for the name: " + key);
  }

  public void makeRoom() {
    store.makeRoom();
    templateKeys.makeRoom(store::mayStore);
  }

  /** Returns the state of limits for a response to a caller that has been authorized for them. */
  public CompletableFuture<List<LimitBackend.Standing>> standings(Collection<String> keys) {
    return store.standings(keys);
  }

  public CompletableFuture<Void> set(Caller caller, String key, Rate rate) {
    caller.require(Kind.ADMIN, key);
    requireKey(key);
    requireInPaths(key);
    // A limit that the limits would reject must not be stored.
    rate.applyTo(Limits.create(), key);
    ConcurrencyQuota.Hold place = quotas.limit(caller, key, () -> store.limits().keySet());
    try {
      CompletableFuture<Void> stored = store.set(key, rate);
      Futures.whenOver(stored, place::close);
      return stored;
    } catch (RuntimeException refused) {
      place.close();
      throw refused;
    }
  }

  static void requireFew(Collection<String> keys) {
    long templates = keys.stream().filter(AccountQuotas::isTemplate).count();
    if (keys.size() > MAX_LIMITS || templates > MAX_TEMPLATES) {
      throw new ApiException(
          ErrorKind.RESOURCE_EXHAUSTED,
          "there must be at most %d limits, and %d templates; remove some"
              .formatted(MAX_LIMITS, MAX_TEMPLATES));
    }
  }

  /** Fails if there is none. */
  public CompletableFuture<Boolean> remove(Caller caller, String key) {
    caller.require(Kind.ADMIN, key);
    return store
        .remove(key)
        .thenApply(
            there -> {
              if (!there) {
                throw ApiException.notFound("unknown limit: " + key);
              }
              return true;
            });
  }

  /** Returns the state of a name, which has its own limit or that of a template. */
  public CompletableFuture<LimitBackend.Standing> standing(Caller caller, String key) {
    caller.require(Kind.READ, key);
    requireKey(key);
    return store
        .standings(List.of(key))
        .thenApply(found -> found.stream().findFirst().orElseThrow(() -> noLimitFor(key)));
  }

  /** Returns the state of all limits that the caller may read; templates have no level. */
  public CompletableFuture<List<LimitBackend.Standing>> standings(Caller caller) {
    SortedMap<String, Rate> all = list(caller);
    return store
        .standings(all.keySet().stream().filter(key -> !AccountQuotas.isTemplate(key)).toList())
        .thenApply(
            found -> {
              Map<String, LimitBackend.Standing> byKey = new HashMap<>();
              found.forEach(each -> byKey.put(each.key(), each));
              return all.entrySet().stream()
                  .map(
                      each ->
                          byKey.getOrDefault(
                              each.getKey(),
                              new LimitBackend.Standing(each.getKey(), each.getValue(), null)))
                  .toList();
            });
  }

  /** Returns the limits that the caller may read; fails if the caller may read none. */
  public SortedMap<String, Rate> list(Caller caller) {
    caller.requireSome(Kind.READ);
    SortedMap<String, Rate> found = new TreeMap<>(store.limits());
    found.keySet().removeIf(key -> !caller.may(Kind.READ, key));
    return Collections.unmodifiableSortedMap(found);
  }

  private static void requireKey(String key) {
    int bytes = key.getBytes(StandardCharsets.UTF_8).length;
    if (bytes < 1 || bytes > MAX_KEY_BYTES) {
      throw ApiException.invalid(
          "limit name must have 1 to %d bytes, but had %d".formatted(MAX_KEY_BYTES, bytes));
    }
  }

  /** Its limit has a path, from which browsers and proxies take dots. */
  private static void requireInPaths(String key) {
    if (key.equals(".") || key.equals("..")) {
      throw ApiException.invalid(
          "limit name must not be . or .., which vanish from paths of URLs, but was \"%s\""
              .formatted(key));
    }
  }

  /** The store does not answer any more. */
  public void close() {
    store.close();
  }
}
