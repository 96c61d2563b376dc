package dev.sluice;

/** Makes the library's own threads: they keep neither the JVM nor a caller's class loader alive. */
final class DaemonThread {
  private DaemonThread() {}

  static Thread of(Runnable task, String name) {
    Thread thread = new Thread(null, task, name, 0, false);
    thread.setContextClassLoader(ClassLoader.getSystemClassLoader());
    thread.setDaemon(true);
    return thread;
  }
}
