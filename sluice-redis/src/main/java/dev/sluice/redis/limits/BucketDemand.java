package dev.sluice.redis.limits;

/**
 * What a request wants of one key.
 *
 * @param key as the caller names it
 * @param place where its bucket is in Redis
 * @param quota its limit
 * @param version of the rules by which that is its limit
 * @param tokens how many
 */
public record BucketDemand(
    String key, String place, ScriptLimit quota, long version, long tokens) {}
