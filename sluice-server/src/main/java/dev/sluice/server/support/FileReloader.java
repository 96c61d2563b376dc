package dev.sluice.server.support;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * Reloads files while the server runs. A file that cannot be used does not keep the others from
 * being reloaded.
 *
 * <p>Thread-safe. Reloads run one at a time.
 */
public final class FileReloader {
  private final List<Reloadable> registered = new CopyOnWriteArrayList<>();

  /** Adds {@code file} to the files that {@link #run()} reloads. */
  public void register(Reloadable file) {
    registered.add(file);
  }

  /** Reloads all registered files and logs a line for each, or one that there is none. */
  public synchronized void run() {
    if (registered.isEmpty()) {
      LifecycleLog.nothingToReload();
    }
    registered.forEach(FileReloader::reload);
  }

  /** Reloads one file and logs a line. */
  public synchronized void run(Reloadable one) {
    reload(one);
  }

  private static void reload(Reloadable each) {
    try {
      LifecycleLog.reloaded(each.name(), each.reload());
    } catch (IOException | RuntimeException refused) {
      LifecycleLog.notReloaded(each.name(), refused);
    }
  }
}
