package dev.sluice.governor.redis.internal.store;

import dev.sluice.redis.OutageListener;
import dev.sluice.redis.OutageMode;
import dev.sluice.redis.internal.connection.RedisAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Settings of budgets in Redis.
 *
 * @param address the address of Redis
 * @param prefix the prefix of every key
 * @param timeout the longest time that an answer may take
 * @param trust a file of certificates; null for those that the JVM trusts
 * @param expectedNodes the smallest number of nodes
 * @param outageMode decides while Redis is unreachable
 * @param outageListener is called when outages begin and end
 * @param spreadNanos the delay after the first useful moment at which a waiting list is served, so
 *     that not all nodes do it at once
 */
public record RedisBudgetsConfig(
    RedisAddress address,
    String prefix,
    Duration timeout,
    @Nullable Path trust,
    int expectedNodes,
    OutageMode outageMode,
    OutageListener outageListener,
    LongSupplier spreadNanos) {}
