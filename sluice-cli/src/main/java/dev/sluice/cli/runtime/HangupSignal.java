package dev.sluice.cli.runtime;

import java.lang.reflect.Proxy;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * Handles SIGHUP, which would end the process by default. The handler runs on a thread of its own;
 * signals that arrive while it runs start it once more.
 */
public final class HangupSignal {
  private static final String NAME = "HUP";

  /** Holds at most one signal: a second reload right after it would find the same files. */
  private final BlockingQueue<String> pending = new LinkedBlockingQueue<>(1);

  private HangupSignal() {}

  /** Takes over the signal from now on; it stays pending until there is a handler. */
  public static HangupSignal install() {
    HangupSignal hangups = new HangupSignal();
    try {
      hangups.register();
    } catch (ReflectiveOperationException unsupported) {
      // Windows has no such signal, and a JVM with -Xrs does not handle signals.
    }
    return hangups;
  }

  /**
   * Uses reflection, because javac warns of {@code sun.misc.Signal} and the warning cannot be
   * suppressed.
   */
  private void register() throws ReflectiveOperationException {
    Class<?> signal = Class.forName("sun.misc.Signal");
    Class<?> handler = Class.forName("sun.misc.SignalHandler");
    Object enqueuing =
        Proxy.newProxyInstance(
            HangupSignal.class.getClassLoader(),
            new Class<?>[] {handler},
            (proxy, method, arguments) -> {
              if (method.getName().equals("handle")) {
                boolean unused = pending.offer(NAME);
              }
              return null;
            });
    signal
        .getMethod("handle", signal, handler)
        .invoke(null, signal.getConstructor(String.class).newInstance(NAME), enqueuing);
  }

  /** Runs {@code handler} for the pending signal, if there is one, and for each further one. */
  public void handle(Runnable handler) {
    Thread thread =
        new Thread(
            () -> {
              while (awaitSignal()) {
                handler.run();
              }
            },
            "sluice-reload");
    thread.setDaemon(true);
    thread.start();
  }

  private boolean awaitSignal() {
    try {
      pending.take();
      return true;
    } catch (InterruptedException ending) {
      return false;
    }
  }
}
