package dev.sluice.redis;

/**
 * The state of shared limits, and counters since they were opened.
 *
 * @param available whether Redis decides; always true for limits in memory
 * @param nodes live nodes at the last heartbeat, this one included
 * @param fromRedis decisions made in Redis
 * @param fromBlocks decisions of this node from token blocks
 * @param open grants by outage mode {@code OPEN}
 * @param closed denials by outage mode {@code CLOSED}, or of limits that are not known
 * @param local decisions of this node by its share
 * @param timeouts calls that Redis did not answer in time
 * @param outages outages of Redis
 * @since 0.1
 */
public record SharedLimitsStatus(
    boolean available,
    int nodes,
    long fromRedis,
    long fromBlocks,
    long open,
    long closed,
    long local,
    long timeouts,
    long outages) {}
