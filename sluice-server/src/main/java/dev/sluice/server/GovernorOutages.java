package dev.sluice.server;

import dev.sluice.governor.redis.OutageListener;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Logs and counts outages of the Redis that the governor has its budgets in. */
final class GovernorOutages implements OutageListener {
  private static final Logger LOG = LoggerFactory.getLogger(GovernorOutages.class);

  private final AtomicLong lost = new AtomicLong();
  private final AtomicLong refused = new AtomicLong();
  private volatile boolean available = true;

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
  public void lost(String cause) {
    available = false;
    lost.incrementAndGet();
    LOG.atWarn()
        .addKeyValue("cause", cause)
        .log("Redis does not answer; the governor follows the policy for outages");
  }

  @Override
  public void returned(Duration away) {
    available = true;
    LOG.atInfo().addKeyValue("away", away).log("Redis answers; budgets and lines are shared");
  }

  @Override
  public void refused(String error) {
    refused.incrementAndGet();
    LOG.atError()
        .addKeyValue("cause", error)
        .log("Redis refuses what the governor asks of it; somebody must look");
  }
}
