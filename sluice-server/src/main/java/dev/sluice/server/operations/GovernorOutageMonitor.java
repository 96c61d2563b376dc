package dev.sluice.server.operations;

import dev.sluice.redis.OutageListener;
import dev.sluice.redis.OutageMode;
import dev.sluice.redis.internal.connection.RedisErrorLog;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Logs and counts outages of the Redis that the governor has its budgets in. */
public final class GovernorOutageMonitor implements OutageListener {
  private static final Logger LOG = LoggerFactory.getLogger(GovernorOutageMonitor.class);

  private final AtomicLong lost = new AtomicLong();
  private final AtomicLong refused = new AtomicLong();
  private final OutageMode policy;
  private final RedisErrorLog refusals = RedisErrorLog.create();
  private volatile boolean available = true;

  public GovernorOutageMonitor(OutageMode policy) {
    this.policy = policy;
  }

  public boolean available() {
    return available;
  }

  /** Returns the number of outages. */
  public long lost() {
    return lost.get();
  }

  /** Returns the number of errors that Redis returned. */
  public long refused() {
    return refused.get();
  }

  @Override
  public void outageStarted(String cause, double share) {
    available = false;
    lost.incrementAndGet();
    LOG.atWarn()
        .addKeyValue("cause", cause)
        .addKeyValue("share", share)
        .addKeyValue("policy", policy)
        .log("Redis does not answer; the governor follows the outage mode");
  }

  @Override
  public void outageEnded(Duration away, long granted) {
    available = true;
    LOG.atInfo()
        .addKeyValue("away", away)
        .addKeyValue("tokens", granted)
        .log("Redis answers; budgets and waiting lists are shared");
  }

  @Override
  public void redisError(String error) {
    refused.incrementAndGet();
    refusals.refused(
        error,
        (text, leftOut) ->
            LOG.atError()
                .addKeyValue("cause", text)
                .addKeyValue("left_out", leftOut)
                .log("Redis returns an error for the governor; check its permissions and memory"));
  }
}
