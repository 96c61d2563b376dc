package dev.sluice.server;

import dev.sluice.redis.LimitsEvent;
import dev.sluice.redis.LimitsListener;
import dev.sluice.redis.OutagePolicy;
import dev.sluice.redis.Rule;
import dev.sluice.redis.link.RefusalLog;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Logs what happens to shared limits, and keeps the rules that were last seen in a {@link
 * ListFile}, for a start while Redis is down.
 */
final class FleetWatch implements LimitsListener {
  static final String FILE = "shared-limits.json";
  private static final Logger LOG = LoggerFactory.getLogger(FleetWatch.class);
  private static final long LAST_WRITE_SECONDS = 5;

  private final ListFile<Kept> file;
  private final OutagePolicy policy;
  private final Kept remembered;
  private final ExecutorService writer = Executors.newSingleThreadExecutor();
  private final AtomicReference<@Nullable Kept> latest = new AtomicReference<>();
  private final RefusalLog refusals = RefusalLog.create();
  private volatile Runnable changed = () -> {};

  /**
   * What the file has, once.
   *
   * @param version of the rules
   * @param limits all of them
   */
  record Kept(long version, List<LocalLimits.Stored> limits) {
    static final Kept NOTHING = new Kept(0, List.of());

    static Kept of(List<Rule> rules, long version) {
      return new Kept(
          version,
          rules.stream()
              .map(each -> new LocalLimits.Stored(each.key(), each.ratePerSecond(), each.burst()))
              .toList());
    }
  }

  private FleetWatch(ListFile<Kept> file, OutagePolicy policy, Kept remembered) {
    this.file = file;
    this.policy = policy;
    this.remembered = remembered;
  }

  static FleetWatch open(Path directory, OutagePolicy policy) throws IOException {
    ListFile<Kept> file = new ListFile<>(directory, "shared-limits", Kept.class);
    List<Kept> kept = file.read();
    return new FleetWatch(file, policy, kept.isEmpty() ? Kept.NOTHING : kept.get(0));
  }

  List<Rule> remembered() {
    return remembered.limits().stream()
        .map(each -> new Rule(each.key(), each.perSecond(), each.burst()))
        .toList();
  }

  long version() {
    return remembered.version();
  }

  /** {@code onChange} is called now and whenever rules change. */
  void begin(Runnable onChange) {
    changed = onChange;
    onChange.run();
  }

  @Override
  public void onEvent(LimitsEvent event) {
    if (event instanceof LimitsEvent.Lost lost) {
      LOG.atWarn()
          .addKeyValue("cause", lost.cause())
          .addKeyValue("share", lost.share())
          .addKeyValue("policy", policy)
          .log("Redis does not answer; limits follow the policy for outages");
    } else if (event instanceof LimitsEvent.Returned returned) {
      LOG.atInfo()
          .addKeyValue("away", returned.away())
          .addKeyValue("keys", returned.keys())
          .addKeyValue("tokens", returned.tokens())
          .log("Redis answers; limits are shared");
    } else if (event instanceof LimitsEvent.Refused refused) {
      refusals.refused(
          refused.cause(),
          (error, leftOut) ->
              LOG.atError()
                  .addKeyValue("cause", error)
                  .addKeyValue("left_out", leftOut)
                  .log("Redis refuses what limits ask of it; somebody must look"));
    }
  }

  @Override
  public void onRules(List<Rule> rules, long version) {
    changed.run();
    latest.set(Kept.of(rules, version));
    writer.execute(this::write);
  }

  /** Of several changes that wait only the last is written. */
  private void write() {
    Kept next = latest.getAndSet(null);
    if (next == null) {
      return;
    }
    try {
      file.write(List.of(next));
    } catch (IOException failure) {
      LOG.error("the limits last seen could not be kept; the next change tries again", failure);
    }
  }

  /** What was seen is on disk then. */
  void close() {
    writer.shutdown();
    try {
      if (!writer.awaitTermination(LAST_WRITE_SECONDS, TimeUnit.SECONDS)) {
        LOG.warn("the limits last seen are not on disk yet");
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
