package dev.sluice.redis.internal.limits;

/**
 * The tokens that a request wants of one bucket.
 *
 * @param key the name that the caller uses
 * @param place the key of its bucket in Redis
 * @param quota its limit
 * @param version the version of the definitions that have this limit
 * @param tokens how many
 */
public record BucketDemand(
    String key, String place, ScriptLimit quota, long version, long tokens) {}
