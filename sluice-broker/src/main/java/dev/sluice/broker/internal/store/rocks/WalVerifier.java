package dev.sluice.broker.internal.store.rocks;

import dev.sluice.broker.internal.store.StoreException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Map;
import java.util.NavigableMap;
import org.jspecify.annotations.Nullable;

/**
 * Reads the write-ahead logs before RocksDB does, and more strictly.
 *
 * <p>Refuses damage, a batch that is missing between two others, and an end before the place that
 * is known to be synced. A torn write is accepted where it can be one: behind that place, and with
 * no batch after it.
 */
public final class WalVerifier {
  private final NavigableMap<Long, Path> logs;
  private Path file = Path.of("");
  private @Nullable Path torn;

  /** The sequence number that the next batch must have; negative before the first. */
  private long expected = -1;

  private WalVerifier(NavigableMap<Long, Path> logs) {
    this.logs = logs;
  }

  /** Throws {@link StoreException} unless all that was synced is there and undamaged. */
  public static void check(Path dir, @Nullable WalPosition synced) throws IOException {
    NavigableMap<Long, Path> logs = WalFiles.in(dir);
    if (synced != null && logs.tailMap(synced.log(), true).isEmpty()) {
      throw new StoreException(
          "open: the log that was synced last is missing: log=" + synced.log() + ": " + dir);
    }
    new WalVerifier(logs).check(synced);
  }

  private void check(@Nullable WalPosition synced) throws IOException {
    for (Map.Entry<Long, Path> log : logs.entrySet()) {
      file = log.getValue();
      RecordLogReader.End end = RecordLogReader.read(file, this::batch);
      if (synced != null && log.getKey() == synced.log() && end.bytes() < synced.bytes()) {
        throw damaged("synced data is missing: end=" + end.bytes() + " not " + synced.bytes());
      }
      if (end.torn()) {
        torn = file;
      }
    }
  }

  /** A batch starts with its sequence number and the count of its changes. */
  private void batch(ByteBuffer start) {
    if (torn != null) {
      throw damaged("a batch follows the torn end of " + torn);
    }
    if (start.remaining() < RecordLogReader.START_BYTES) {
      throw damaged("a batch is too short");
    }
    long sequence = start.getLong(0);
    if (expected >= 0 && sequence != expected) {
      throw damaged("batches are missing: sequence=" + sequence + " not " + expected);
    }
    expected = sequence + Integer.toUnsignedLong(start.getInt(Long.BYTES));
  }

  private StoreException damaged(String what) {
    return new StoreException("open: damaged: " + what + ": " + file);
  }
}
