package dev.sluice.redis.internal.limits;

import dev.sluice.redis.SharedLimits;
import dev.sluice.redis.TokenBlockConfig;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The token blocks of this node; one thread returns unused ones. */
public final class TokenBlocks implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(SharedLimits.class);

  /** How often blocks are checked in their lifetime. */
  private static final long SWEEPS_PER_TTL = 8;

  private final LimitsFleetMember fleet;
  private final String node;
  private final AtomicLong numbers = new AtomicLong();
  private final Map<TokenBlockConfig, TokenBlockDecider> kinds = new ConcurrentHashMap<>();
  private final ScheduledThreadPoolExecutor timer =
      new ScheduledThreadPoolExecutor(
          1, TokenBlocks::thread, new ThreadPoolExecutor.DiscardPolicy());

  TokenBlocks(LimitsFleetMember fleet, String node) {
    this.fleet = fleet;
    this.node = node;
  }

  private static Thread thread(Runnable work) {
    Thread thread = new Thread(work, "sluice-redis-leases");
    thread.setDaemon(true);
    return thread;
  }

  /** Returns the decider for blocks of one configuration; null without a configuration. */
  @Nullable TokenBlockDecider of(Optional<TokenBlockConfig> config) {
    return config.isEmpty() ? null : kinds.computeIfAbsent(config.get(), this::begin);
  }

  @SuppressWarnings("FutureReturnValueIgnored") // it goes on until the timer is shut down
  private TokenBlockDecider begin(TokenBlockConfig lease) {
    TokenBlockDecider holders =
        new TokenBlockDecider(fleet, lease, () -> node + '.' + numbers.incrementAndGet());
    long nanos = lease.lifetime().toNanos() / SWEEPS_PER_TTL;
    timer.scheduleWithFixedDelay(() -> sweep(holders), nanos, nanos, TimeUnit.NANOSECONDS);
    return holders;
  }

  private static void sweep(TokenBlockDecider holders) {
    try {
      holders.sweep();
    } catch (RuntimeException failure) {
      LOG.warn("unused token blocks could not be returned", failure);
    }
  }

  /** Returns all blocks, within the timeout. */
  @Override
  public void close() {
    timer.shutdownNow();
    kinds.values().stream().map(TokenBlockDecider::leave).toList().forEach(Futures::done);
  }
}
