package dev.sluice.broker;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.broker.internal.store.rocks.SyncMarkerFile;
import dev.sluice.broker.internal.store.rocks.WalFiles;
import dev.sluice.broker.internal.store.rocks.WalPosition;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.NavigableMap;
import java.util.Random;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Loss of power, played with files: a child process writes, syncs and acknowledges until it is
 * killed; then of a copy of its directory everything is cut that no sync had reached.
 *
 * <p>The kill alone would prove nothing about syncing, as the file cache outlives the process.
 */
final class PowerLoss {
  /** How much of what was not synced is lost. */
  enum Cut {
    /** All of it. */
    EARLIEST,
    /** From a random byte on. */
    TORN
  }

  private PowerLoss() {}

  /** Kills {@code child} some time after it has printed that it acknowledged something. */
  static void kill(Process child, Random random) throws IOException, InterruptedException {
    try {
      if (child.inputReader().readLine() == null) {
        throw new AssertionError("the child process has acknowledged nothing");
      }
      Thread.sleep(random.nextInt(100, 500));
    } finally {
      child.destroyForcibly().waitFor();
    }
  }

  /** Copies a directory as the loss of power may leave it. */
  static void cut(Path from, Path to, WalPosition acknowledged, Cut cut, Random random)
      throws IOException {
    StoreImage.copy(from, to);
    WalPosition durable = acknowledged;
    if (cut == Cut.EARLIEST) {
      // Never synced, it may not have reached the disk.
      Files.delete(to.resolve(SyncMarkerFile.FILE));
    } else {
      durable = later(acknowledged, marked(to));
    }
    NavigableMap<Long, Path> logs = WalFiles.in(to);
    Path newest = logs.lastEntry().getValue();
    // A log between the two was synced by RocksDB itself, if table files took its place.
    long kept = logs.lastKey() == durable.log() ? durable.bytes() : 0;
    if (cut == Cut.TORN) {
      kept += random.nextLong(Files.size(newest) - kept + 1);
    }
    try (RandomAccessFile file = new RandomAccessFile(newest.toFile(), "rw")) {
      file.setLength(kept);
    }
  }

  private static @Nullable WalPosition marked(Path dir) throws IOException {
    try (SyncMarkerFile mark = SyncMarkerFile.open(dir)) {
      return mark.synced();
    }
  }

  private static WalPosition later(WalPosition one, @Nullable WalPosition other) {
    if (other == null || one.log() > other.log()) {
      return one;
    }
    return one.log() == other.log() && one.bytes() > other.bytes() ? one : other;
  }

  /**
   * The results that clients have seen, in a file that no power loss touches. A line begins with
   * what is about to happen, {@code try}, or with how far the log was synced when it was
   * acknowledged, and goes on with {@code +id} for a message stored and {@code -id} for one
   * deleted.
   */
  static final class Ledger implements AutoCloseable {
    private final FileChannel file;

    Ledger(Path path) throws IOException {
      file = FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }

    void attempt(Collection<String> changes) throws IOException {
      append("try " + String.join(" ", changes));
    }

    void acknowledge(WalPosition durable, Collection<String> changes) throws IOException {
      append(durable.log() + ":" + durable.bytes() + " " + String.join(" ", changes));
    }

    private synchronized void append(String line) throws IOException {
      ByteBuffer bytes = ByteBuffer.wrap((line + "\n").getBytes(UTF_8));
      while (bytes.hasRemaining()) {
        file.write(bytes);
      }
    }

    @Override
    public void close() throws IOException {
      file.close();
    }
  }

  /** The rules after a power loss. */
  static final class Promises {
    private final Set<String> present = new HashSet<>();
    private final Set<String> absent = new HashSet<>();
    private WalPosition durable = new WalPosition(0, 0);

    private Promises() {}

    /** Reads the lines of a ledger and removes a line that the kill cut short. */
    static Promises read(Path ledger) throws IOException {
      Promises promises = new Promises();
      String text = Files.readString(ledger);
      String whole = text.substring(0, text.lastIndexOf('\n') + 1);
      whole.lines().forEach(promises::line);
      Files.writeString(ledger, whole);
      return promises;
    }

    private void line(String line) {
      List<String> words = List.of(line.split(" ", -1));
      boolean acknowledged = !words.get(0).equals("try");
      if (acknowledged) {
        String[] place = words.get(0).split(":", -1);
        durable = new WalPosition(Long.parseLong(place[0]), Long.parseLong(place[1]));
      }
      for (String change : words.subList(1, words.size())) {
        String id = change.substring(1);
        if (change.startsWith("-")) {
          // A message that was about to be deleted may or may not be stored.
          present.remove(id);
        }
        if (acknowledged) {
          (change.startsWith("-") ? absent : present).add(id);
        }
      }
    }

    WalPosition durable() {
      return durable;
    }

    int size() {
      return present.size() + absent.size();
    }

    /** The broken promises. */
    List<String> broken(Set<String> found) {
      List<String> broken = new ArrayList<>();
      present.stream()
          .filter(id -> !found.contains(id))
          .map(id -> "lost " + id)
          .forEach(broken::add);
      absent.stream().filter(found::contains).map(id -> "back " + id).forEach(broken::add);
      return broken;
    }
  }
}
