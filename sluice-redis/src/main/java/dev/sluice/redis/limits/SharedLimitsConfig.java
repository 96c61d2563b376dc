package dev.sluice.redis.limits;

import dev.sluice.redis.LimitsListener;
import dev.sluice.redis.OutageMode;
import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** What the builder was told. */
public record SharedLimitsConfig(
    String prefix,
    Duration timeout,
    OutageMode outage,
    int expectedNodes,
    LimitsListener listener,
    CachedLimits remembered,
    @Nullable Path trust) {}
