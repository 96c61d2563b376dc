/**
 * Real Redis servers, clusters and sentinels, and a proxy in front of them that fails on demand.
 */
@NullMarked
package dev.sluice.testkit.redis;

import org.jspecify.annotations.NullMarked;
