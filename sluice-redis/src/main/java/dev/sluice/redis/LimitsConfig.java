package dev.sluice.redis;

import java.time.Duration;

/** What the builder was told. */
record LimitsConfig(
    String prefix,
    Duration timeout,
    OutagePolicy outage,
    int expectedNodes,
    LimitsListener listener,
    RememberedRules remembered) {}
