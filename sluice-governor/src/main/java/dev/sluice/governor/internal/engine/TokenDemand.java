package dev.sluice.governor.internal.engine;

/**
 * The demand of a request on a model's waiting list.
 *
 * @param tenant the tenant whose budget and turn it uses
 * @param weight the turns of the tenant for one of weight 1
 * @param rank the rank of the class; 0 is the most urgent
 * @param tokens the tokens to be taken
 */
public record TokenDemand(String tenant, int weight, int rank, long tokens) {}
