package dev.sluice.server;

import dev.sluice.broker.Broker;
import dev.sluice.broker.BrokerStatus;
import dev.sluice.governor.Governor;
import dev.sluice.proto.v1.GovernorGrpc;
import java.util.List;
import java.util.Set;

/**
 * What a server does: queues first, without which it is not ready; models of the governor that are
 * closed leave the rest as it is. Callers without a key see this, so no names are told.
 */
record ServerWork(Broker broker, Governor governor) implements Readiness.Work {
  @Override
  public void requireReady() {
    broker.view().requireAnswer();
  }

  @Override
  public void requireAlive() {
    if (broker.view().status() == BrokerStatus.STOPPED) {
      requireReady();
    }
  }

  @Override
  public List<String> degraded() {
    return governor.closedModels().isEmpty() ? List.of() : List.of("governor");
  }

  @Override
  public Set<String> notServing() {
    Set<String> closed = governor.closedModels().keySet();
    return !closed.isEmpty() && closed.containsAll(governor.models())
        ? Set.of(GovernorGrpc.SERVICE_NAME)
        : Set.of();
  }
}
