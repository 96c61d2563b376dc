package dev.sluice.redis.internal.limits;

import dev.sluice.redis.LimitsListener;
import dev.sluice.redis.OutageListener;
import dev.sluice.redis.SharedLimitOptions;
import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** The settings of a {@link dev.sluice.redis.SharedLimits.Builder}. */
public record SharedLimitsConfig(
    String prefix,
    Duration timeout,
    SharedLimitOptions options,
    int expectedNodes,
    OutageListener outageListener,
    LimitsListener limitsListener,
    CachedLimits cached,
    @Nullable Path trust) {}
