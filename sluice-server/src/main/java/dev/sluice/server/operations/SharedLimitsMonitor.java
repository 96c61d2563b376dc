package dev.sluice.server.operations;

import dev.sluice.Limit;
import dev.sluice.redis.LimitsListener;
import dev.sluice.redis.OutageListener;
import dev.sluice.redis.OutageMode;
import dev.sluice.redis.internal.connection.RedisErrorLog;
import dev.sluice.server.support.JsonListFile;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Logs what happens to shared limits, and keeps the rules that were last seen in a {@link
 * JsonListFile}, for a start while Redis is down.
 */
public final class SharedLimitsMonitor implements LimitsListener, OutageListener {
  public static final String FILE = "shared-limits.json";
  private static final Logger LOG = LoggerFactory.getLogger(SharedLimitsMonitor.class);
  private static final long LAST_WRITE_SECONDS = 5;

  private final JsonListFile<SharedLimitsMonitor.CachedDefinitions> file;
  private final OutageMode policy;
  private final SharedLimitsMonitor.CachedDefinitions cached;
  private final ExecutorService writer = Executors.newSingleThreadExecutor();
  private final AtomicReference<SharedLimitsMonitor.@Nullable CachedDefinitions> latest =
      new AtomicReference<>();
  private final RedisErrorLog refusals = RedisErrorLog.create();
  private volatile Runnable changed = () -> {};

  /**
   * The contents of the cache file.
   *
   * @param version of the rules
   * @param limits all of them
   */
  record CachedDefinitions(long version, List<LocalLimitBackend.StoredLimit> limits) {
    static final SharedLimitsMonitor.CachedDefinitions NOTHING =
        new SharedLimitsMonitor.CachedDefinitions(0, List.of());

    static SharedLimitsMonitor.CachedDefinitions of(SortedMap<String, Limit> limits, long version) {
      List<LocalLimitBackend.StoredLimit> stored = new ArrayList<>(limits.size());
      limits.forEach(
          (name, limit) -> {
            LimitOperations.Rate rate = LimitIndex.rate(limit);
            stored.add(new LocalLimitBackend.StoredLimit(name, rate.perSecond(), rate.burst()));
          });
      return new SharedLimitsMonitor.CachedDefinitions(version, stored);
    }
  }

  private SharedLimitsMonitor(
      JsonListFile<SharedLimitsMonitor.CachedDefinitions> file,
      OutageMode policy,
      SharedLimitsMonitor.CachedDefinitions cached) {
    this.file = file;
    this.policy = policy;
    this.cached = cached;
  }

  static SharedLimitsMonitor open(Path directory, OutageMode policy) throws IOException {
    JsonListFile<SharedLimitsMonitor.CachedDefinitions> file =
        new JsonListFile<>(directory, "shared-limits", SharedLimitsMonitor.CachedDefinitions.class);
    List<SharedLimitsMonitor.CachedDefinitions> kept = file.read();
    return new SharedLimitsMonitor(
        file, policy, kept.isEmpty() ? SharedLimitsMonitor.CachedDefinitions.NOTHING : kept.get(0));
  }

  SortedMap<String, Limit> cached() {
    SortedMap<String, Limit> limits = new TreeMap<>();
    for (LocalLimitBackend.StoredLimit each : cached.limits()) {
      limits.put(each.key(), new Limit.Rate(each.perSecond(), each.burst()));
    }
    return limits;
  }

  long version() {
    return cached.version();
  }

  /** {@code onChange} is called now and whenever rules change. */
  void begin(Runnable onChange) {
    changed = onChange;
    onChange.run();
  }

  @Override
  public void outageStarted(String cause, double share) {
    LOG.atWarn()
        .addKeyValue("cause", cause)
        .addKeyValue("share", share)
        .addKeyValue("policy", policy)
        .log("Redis does not answer; limits follow the outage mode");
  }

  @Override
  public void outageEnded(Duration length, long grantedTokens) {
    LOG.atInfo()
        .addKeyValue("away", length)
        .addKeyValue("tokens", grantedTokens)
        .log("Redis answers; limits are shared");
  }

  @Override
  public void redisError(String message) {
    refusals.refused(
        message,
        (error, leftOut) ->
            LOG.atError()
                .addKeyValue("cause", error)
                .addKeyValue("left_out", leftOut)
                .log("Redis returns an error for shared limits; check its permissions and keys"));
  }

  @Override
  public void limitsChanged(SortedMap<String, Limit> limits, long version) {
    changed.run();
    latest.set(SharedLimitsMonitor.CachedDefinitions.of(limits, version));
    writer.execute(this::write);
  }

  /** Writes the limits; of several waiting changes only the last. */
  private void write() {
    SharedLimitsMonitor.CachedDefinitions next = latest.getAndSet(null);
    if (next == null) {
      return;
    }
    try {
      file.write(List.of(next));
    } catch (IOException failure) {
      LOG.error("the current limits could not be saved; the next change retries", failure);
    }
  }

  /** Stops the monitor after the last seen limits are on disk. */
  void close() {
    writer.shutdown();
    try {
      if (!writer.awaitTermination(LAST_WRITE_SECONDS, TimeUnit.SECONDS)) {
        LOG.warn("the current limits are not on disk yet");
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
