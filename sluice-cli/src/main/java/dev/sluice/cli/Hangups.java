package dev.sluice.cli;

import java.lang.reflect.Proxy;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * SIGHUP, which would end the process by default. Handlers run on a thread of their own, one at a
 * time; signals that arrive while one runs are taken together.
 */
final class Hangups {
  private static final String NAME = "HUP";

  /** At most one waits: two reloads in a row find the same files. */
  private final BlockingQueue<String> waiting = new LinkedBlockingQueue<>(1);

  private Hangups() {}

  /** Takes the signal from now on; it waits until there is a handler. */
  static Hangups taken() {
    Hangups hangups = new Hangups();
    try {
      hangups.register();
    } catch (ReflectiveOperationException none) {
      // Windows has no such signal, and a JVM with -Xrs leaves signals alone.
    }
    return hangups;
  }

  /** By reflection: javac warns of every use of this class, and no annotation silences it. */
  private void register() throws ReflectiveOperationException {
    Class<?> signal = Class.forName("sun.misc.Signal");
    Class<?> handler = Class.forName("sun.misc.SignalHandler");
    Object offering =
        Proxy.newProxyInstance(
            Hangups.class.getClassLoader(),
            new Class<?>[] {handler},
            (proxy, method, arguments) -> {
              if (method.getName().equals("handle")) {
                boolean unused = waiting.offer(NAME);
              }
              return null;
            });
    signal
        .getMethod("handle", signal, handler)
        .invoke(null, signal.getConstructor(String.class).newInstance(NAME), offering);
  }

  void handle(Runnable handler) {
    Thread thread =
        new Thread(
            () -> {
              while (awaited()) {
                handler.run();
              }
            },
            "sluice-reload");
    thread.setDaemon(true);
    thread.start();
  }

  private boolean awaited() {
    try {
      waiting.take();
      return true;
    } catch (InterruptedException ending) {
      return false;
    }
  }
}
