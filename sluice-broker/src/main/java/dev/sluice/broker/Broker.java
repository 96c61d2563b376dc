package dev.sluice.broker;

/** Durable queues that are fair between tenants and obey rate limits. */
public final class Broker {
  private Broker() {}
}
