package dev.sluice.server.transport;

import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.ErrorKind;
import java.util.List;
import java.util.Set;
import java.util.function.BiConsumer;

/** Tracks whether the server is ready, for the health checks of both protocols. */
public final class Readiness {
  private final Readiness.HealthSource work;
  private volatile BiConsumer<Boolean, Set<String>> listener = (ready, notServing) -> {};
  private volatile boolean closing;

  /** Checks of the parts of a server. */
  @FunctionalInterface
  public interface HealthSource {
    /**
     * Throws if calls would fail now.
     *
     * @throws RuntimeException with the reason
     */
    void requireReady();

    /**
     * Throws if calls will fail until the process is started again.
     *
     * @throws RuntimeException with the reason
     */
    default void requireAlive() {}

    /** Returns the parts that do not fully work while the others do. */
    default List<String> degraded() {
      return List.of();
    }

    /** Returns the services of gRPC that do not work at all. */
    default Set<String> notServing() {
      return Set.of();
    }
  }

  public Readiness(Readiness.HealthSource work) {
    this.work = work;
  }

  /**
   * Sets the listener for states.
   *
   * @param states receives whether the server is ready, and the services of gRPC that do not work
   */
  public void onUpdate(BiConsumer<Boolean, Set<String>> states) {
    listener = states;
  }

  /**
   * Throws unless the server is ready.
   *
   * @throws RuntimeException if it is not, with the reason
   */
  public void require() {
    if (closing) {
      throw closing();
    }
    work.requireReady();
  }

  /**
   * Throws if the process must be started again.
   *
   * @throws RuntimeException with the reason
   */
  public void requireAlive() {
    work.requireAlive();
  }

  /** Returns the parts that do not fully work. */
  public List<String> degraded() {
    return work.degraded();
  }

  /** Checks the state and notifies the listener. */
  public void update() {
    listener.accept(isReady(), work.notServing());
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
  public void close() {
    closing = true;
    listener.accept(false, Set.of());
  }

  public static ApiException closing() {
    return new ApiException(ErrorKind.UNAVAILABLE, "the server is closing");
  }
}
