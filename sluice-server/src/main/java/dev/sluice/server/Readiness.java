package dev.sluice.server;

import java.util.List;

/** Whether the server does its work; told to those who ask for it over either wire. */
final class Readiness {
  private final Runnable work;
  private final HealthService health = new HealthService();
  private volatile boolean closing;

  /** {@code work} throws if the server cannot do it. */
  Readiness(Runnable work) {
    this.work = work;
  }

  /** Answers {@code grpc.health.v1}. */
  HealthService service() {
    return health;
  }

  /** From now on the state of these is told too. */
  void begin(List<String> names) {
    health.know(names);
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
    health.tell(isReady());
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
    health.tell(false);
  }

  static ApiException closing() {
    return new ApiException(ErrorKind.UNAVAILABLE, "the server is closing");
  }
}
