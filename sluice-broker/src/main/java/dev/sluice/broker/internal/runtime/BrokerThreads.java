package dev.sluice.broker.internal.runtime;

import java.util.concurrent.ThreadFactory;

/** Creates the daemon threads of a broker. */
final class BrokerThreads {
  private BrokerThreads() {}

  static ThreadFactory named(String role) {
    return task -> {
      Thread thread = new Thread(task, "sluice-" + role);
      thread.setDaemon(true);
      return thread;
    };
  }
}
