package dev.sluice.server;

import io.grpc.BindableService;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.protobuf.services.HealthStatusManager;
import java.util.List;

/** Whether the server does its work; told to those who ask for it over either wire. */
final class Readiness {
  private final Runnable work;
  private final HealthStatusManager health = new HealthStatusManager();
  private volatile List<String> services = List.of();
  private volatile boolean closing;

  /** {@code work} throws if the server cannot do it. */
  Readiness(Runnable work) {
    this.work = work;
    health.setStatus(HealthStatusManager.SERVICE_NAME_ALL_SERVICES, ServingStatus.NOT_SERVING);
  }

  /** Answers {@code grpc.health.v1}. */
  BindableService service() {
    return health.getHealthService();
  }

  /** From now on the state of these is told too. */
  void begin(List<String> names) {
    services = List.copyOf(names);
    update();
  }

  /**
   * Throws unless the server is ready.
   *
   * @throws RuntimeException if it is not, with the reason
   */
  void require() {
    if (closing) {
      throw closing();
    }
    work.run();
  }

  /** Looks, and tells those who watch. */
  void update() {
    ServingStatus status = isReady() ? ServingStatus.SERVING : ServingStatus.NOT_SERVING;
    health.setStatus(HealthStatusManager.SERVICE_NAME_ALL_SERVICES, status);
    services.forEach(name -> health.setStatus(name, status));
  }

  private boolean isReady() {
    try {
      require();
      return true;
    } catch (RuntimeException notReady) {
      return false;
    }
  }

  /** Never ready again. */
  void close() {
    closing = true;
    health.enterTerminalState();
  }

  static ApiException closing() {
    return new ApiException(ErrorKind.UNAVAILABLE, "the server is closing");
  }
}
