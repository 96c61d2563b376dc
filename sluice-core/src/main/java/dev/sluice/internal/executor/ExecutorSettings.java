package dev.sluice.internal.executor;

import dev.sluice.Limit;
import dev.sluice.NanoClock;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import org.jspecify.annotations.Nullable;

/**
 * The settings that {@link dev.sluice.FairExecutor.Builder} has checked.
 *
 * @param delegate runs the tasks
 * @param own the delegate if it belongs to the executor; null if it is the caller's
 * @param parallelism how many tasks may run at a time
 * @param maxQueued how many tasks may wait
 * @param maxQueuedPerKey how many tasks of one fairness key may wait
 * @param maxCost the most that one task may cost
 * @param strictThrottleKeys whether throttle keys without a limit are refused
 * @param clock the time of the limits
 * @param limits the limits from the start, by name
 */
public record ExecutorSettings(
    Executor delegate,
    @Nullable ExecutorService own,
    int parallelism,
    int maxQueued,
    int maxQueuedPerKey,
    long maxCost,
    boolean strictThrottleKeys,
    NanoClock clock,
    Map<String, Limit> limits) {}
