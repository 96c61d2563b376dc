package dev.sluice.server;

import dev.sluice.proto.internal.PemFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/*
 * Compares contents and not times: a link that is set to another file, as Kubernetes does it, may
 * lead to one of the same time. Files of one set are written one after the other, so a change counts
 * once two looks in a row have seen the same; otherwise a new certificate would meet the old key.
 *
 * It has a thread of its own, because reading a file on a network may take any time.
 */

/** Calls back when the contents of files have changed. */
final class FileWatch implements AutoCloseable {
  private static final long LOOK_SECONDS = 2;

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

  FileWatch(List<Path> files) {
    this.files = files;
    this.known = contents();
    this.lastSeen = known;
  }

  /** Calls {@code changed} once for each change from now on, on a thread of its own. */
  @SuppressWarnings("FutureReturnValueIgnored") // it ends with the timer
  void start(Runnable changed) {
    Runnable work =
        () -> {
          if (look()) {
            changed.run();
          }
        };
    timer.scheduleWithFixedDelay(work, LOOK_SECONDS, LOOK_SECONDS, TimeUnit.SECONDS);
  }

  /** Takes the present contents for known: they are read by another way. */
  void mark() {
    String now = contents();
    synchronized (this) {
      known = now;
      lastSeen = now;
    }
  }

  /** Looks once, and returns whether there is a change; one change is returned once. */
  boolean look() {
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

  /** Returns a digest; of what is there but is no file, such as a pipe, always the same. */
  private static String contents(Path file) {
    if (Files.exists(file) && !Files.isRegularFile(file)) {
      return "special";
    }
    try {
      byte[] bytes = PemFile.read("file", file);
      return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
    } catch (IOException | IllegalArgumentException unreadable) {
      return String.valueOf(unreadable.getMessage());
    } catch (NoSuchAlgorithmException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  @Override
  public void close() {
    timer.shutdownNow();
  }
}
