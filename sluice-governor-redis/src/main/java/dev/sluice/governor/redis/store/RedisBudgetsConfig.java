package dev.sluice.governor.redis.store;

import dev.sluice.redis.OutageListener;
import dev.sluice.redis.OutageMode;
import dev.sluice.redis.connection.RedisAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Settings of budgets in Redis.
 *
 * @param address where it is
 * @param prefix what every key begins with
 * @param timeout how long an answer may take
 * @param trust a file of certificates; null for those that the JVM trusts
 * @param expectedNodes so many nodes there are at least
 * @param policy what is done while Redis is away
 * @param outageListener is told of outages
 * @param spreadNanos how much later than at the first useful moment a line is looked at, so that
 *     not all nodes do it at once
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
