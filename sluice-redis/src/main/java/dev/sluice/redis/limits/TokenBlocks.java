package dev.sluice.redis.limits;

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

/** All blocks of this node; one thread looks after them. */
public final class TokenBlocks implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(SharedLimits.class);

  /** How often blocks are looked at in their time. */
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

  /** Those who hold blocks of that kind; null for none. */
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
      LOG.warn("blocks on lease could not be looked after", failure);
    }
  }

  /** Returns all blocks; not later than the time-out. */
  @Override
  public void close() {
    timer.shutdownNow();
    kinds.values().stream().map(TokenBlockDecider::leave).toList().forEach(Futures::done);
  }
}
