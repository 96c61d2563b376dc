package dev.sluice.internal.util;

/** Makes the library's own threads: they keep neither the JVM nor a caller's class loader alive. */
public final class DaemonThreads {
  private DaemonThreads() {}

  public static Thread of(Runnable task, String name) {
    Thread thread = new Thread(null, task, name, 0, false);
    thread.setContextClassLoader(ClassLoader.getSystemClassLoader());
    thread.setDaemon(true);
    return thread;
  }
}
