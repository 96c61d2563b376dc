package dev.sluice.server.support;

import dev.sluice.proto.internal.PemFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/*
 * Compares contents and not times: a link that is pointed to another file, as Kubernetes does it,
 * may lead to a file of the same time. A certificate and its key are written one after the other, so
 * a change is reported only when two checks in a row have read the same contents; otherwise the new
 * certificate could be loaded with the old key.
 *
 * The watch has a thread of its own, because reading a file on a network may take any time.
 */

/** Calls back when the contents of files have changed. */
public final class FileWatcher implements AutoCloseable {
  private static final long CHECK_SECONDS = 2;

  private final List<Path> files;
  private final ScheduledExecutorService timer =
      Executors.newSingleThreadScheduledExecutor(
          work -> {
            Thread thread = new Thread(work, "sluice-files");
            thread.setDaemon(true);
            return thread;
          });

  // Guarded by this.
  private String known;
  private String lastSeen;

  public FileWatcher(List<Path> files) {
    this.files = files;
    this.known = contents();
    this.lastSeen = known;
  }

  /** Calls {@code changed} once for each change from now on, on a thread of its own. */
  public @SuppressWarnings("FutureReturnValueIgnored") // it ends with the timer
  void start(Runnable changed) {
    Runnable work =
        () -> {
          if (check()) {
            changed.run();
          }
        };
    timer.scheduleWithFixedDelay(work, CHECK_SECONDS, CHECK_SECONDS, TimeUnit.SECONDS);
  }

  /** Marks the present contents as known, because the caller is about to read the files itself. */
  public void mark() {
    String now = contents();
    synchronized (this) {
      known = now;
      lastSeen = now;
    }
  }

  /** Checks once, and returns whether there is a change; reports each change once. */
  public boolean check() {
    String now = contents();
    synchronized (this) {
      boolean changed = !now.equals(known) && now.equals(lastSeen);
      lastSeen = now;
      if (changed) {
        known = now;
      }
      return changed;
    }
  }

  private String contents() {
    StringBuilder contents = new StringBuilder();
    files.forEach(file -> contents.append(contents(file)).append(' '));
    return contents.toString();
  }

  /** Returns a digest of the file; a constant for a pipe or a device, which is not read. */
  private static String contents(Path file) {
    if (Files.exists(file) && !Files.isRegularFile(file)) {
      return "special";
    }
    try {
      return Sha256.hex(PemFile.read("file", file));
    } catch (IOException | IllegalArgumentException unreadable) {
      return String.valueOf(unreadable.getMessage());
    }
  }

  @Override
  public void close() {
    timer.shutdownNow();
  }
}
