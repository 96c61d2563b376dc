package dev.sluice.redis;

import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** What the builder was told. */
record LimitsConfig(
    String prefix,
    Duration timeout,
    OutagePolicy outage,
    int expectedNodes,
    LimitsListener listener,
    RememberedRules remembered,
    @Nullable Path trust) {}
