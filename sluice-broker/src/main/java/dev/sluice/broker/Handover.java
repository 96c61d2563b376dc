package dev.sluice.broker;

/**
 * A message on its way to a consumer, without its payload.
 *
 * @param until broker time at which the lease ends
 */
record Handover(Subscriber to, Entry entry, LeaseToken token, int attempts, long until) {}
