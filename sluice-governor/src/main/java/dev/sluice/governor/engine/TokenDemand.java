package dev.sluice.governor.engine;

/**
 * The demand of a request on a model's waiting list.
 *
 * @param tenant whose budget and turn it is
 * @param weight turns of the tenant for one of weight 1
 * @param rank of the class, 0 goes first
 * @param tokens to be taken
 */
public record TokenDemand(String tenant, int weight, int rank, long tokens) {}
