package dev.sluice.redis.limits;

import dev.sluice.redis.LimitsListener;
import dev.sluice.redis.OutageListener;
import dev.sluice.redis.SharedLimitOptions;
import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** What the builder was told. */
public record SharedLimitsConfig(
    String prefix,
    Duration timeout,
    SharedLimitOptions options,
    int expectedNodes,
    OutageListener outageListener,
    LimitsListener limitsListener,
    CachedLimits remembered,
    @Nullable Path trust) {}
