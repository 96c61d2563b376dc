package dev.sluice.server;

import dev.sluice.governor.redis.OutageListener;
import dev.sluice.redis.OutagePolicy;
import dev.sluice.redis.link.RefusalLog;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Logs and counts outages of the Redis that the governor has its budgets in. */
final class GovernorOutages implements OutageListener {
  private static final Logger LOG = LoggerFactory.getLogger(GovernorOutages.class);

  private final AtomicLong lost = new AtomicLong();
  private final AtomicLong refused = new AtomicLong();
  private final OutagePolicy policy;
  private final RefusalLog refusals = RefusalLog.create();
  private volatile boolean available = true;

  GovernorOutages(OutagePolicy policy) {
    this.policy = policy;
  }

  boolean available() {
    return available;
  }

  /** How often Redis was lost. */
  long lost() {
    return lost.get();
  }

  /** How often Redis would not do what it was asked. */
  long refused() {
    return refused.get();
  }

  @Override
  public void lost(String cause, double share) {
    available = false;
    lost.incrementAndGet();
    LOG.atWarn()
        .addKeyValue("cause", cause)
        .addKeyValue("share", share)
        .addKeyValue("policy", policy)
        .log("Redis does not answer; the governor follows the policy for outages");
  }

  @Override
  public void returned(Duration away, long granted) {
    available = true;
    LOG.atInfo()
        .addKeyValue("away", away)
        .addKeyValue("tokens", granted)
        .log("Redis answers; budgets and lines are shared");
  }

  @Override
  public void refused(String error) {
    refused.incrementAndGet();
    refusals.refused(
        error,
        (text, leftOut) ->
            LOG.atError()
                .addKeyValue("cause", text)
                .addKeyValue("left_out", leftOut)
                .log("Redis refuses what the governor asks of it; somebody must look"));
  }
}
