package dev.sluice.redis;

/**
 * How shared limits stand, and what has happened since they were opened.
 *
 * @param available whether decisions are made in Redis (or in memory, where there is none)
 * @param nodes live nodes when last asked, this one included
 * @param exact decisions made in Redis
 * @param leased decisions made by this node from blocks it holds
 * @param open grants without looking, in an outage
 * @param closed denials without looking, in an outage
 * @param local decisions by this node's share, in an outage
 * @param timeouts calls that Redis did not answer in time
 * @param outages how often it was lost
 * @since 0.1
 */
public record SharedLimitsStatus(
    boolean available,
    int nodes,
    long exact,
    long leased,
    long open,
    long closed,
    long local,
    long timeouts,
    long outages) {}
