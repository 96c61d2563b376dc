package dev.sluice.redis;

/**
 * What a request wants of one key.
 *
 * @param key as the caller names it
 * @param place where its bucket is in Redis
 * @param quota its limit
 * @param version of the rules by which that is its limit
 * @param tokens how many
 */
record Demand(String key, String place, Quota quota, long version, long tokens) {}
