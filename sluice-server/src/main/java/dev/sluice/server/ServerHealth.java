package dev.sluice.server;

import dev.sluice.broker.Broker;
import dev.sluice.broker.BrokerStatus;
import dev.sluice.governor.Governor;
import dev.sluice.proto.v1.GovernorGrpc;
import dev.sluice.server.transport.Readiness;
import java.util.List;
import java.util.Set;

/**
 * Checks the parts of a server: without its broker it is not ready; closed models of the governor
 * degrade it. Callers without a key see the results, so they have no names of models or files.
 */
record ServerHealth(Broker broker, Governor governor) implements Readiness.HealthSource {
  @Override
  public void requireReady() {
    broker.view().ping();
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
