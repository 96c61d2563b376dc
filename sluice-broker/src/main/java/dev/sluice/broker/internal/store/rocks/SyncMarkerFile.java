package dev.sluice.broker.internal.store.rocks;

import dev.sluice.broker.internal.store.StoreException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * A file that says how far the write-ahead log was synced and, of a closed store, where the
 * manifest ends: so that damage at their ends is not taken for a write that was cut short.
 *
 * <p>Written after each sync and itself not synced: its content is true, but after the end of the
 * machine it may be old. Two slots are written in turn, so that a torn one leaves the other. Locked
 * while open, so that no second process reads logs that the first one writes.
 */
public final class SyncMarkerFile implements AutoCloseable {
  public static final String FILE = "SYNCED";

  /** Stands in a slot for no manifest. */
  private static final ManifestFile OPEN = new ManifestFile(0, 0);

  /** Each slot in a sector of its own. */
  private static final int SLOT_BYTES = 512;

  private static final int CRC_AT = 5 * Long.BYTES;

  private final FileChannel file;
  private final ByteBuffer slot = ByteBuffer.allocate(SLOT_BYTES);
  private final CRC32C crc = new CRC32C();
  private long turn;
  private @Nullable WalPosition synced;
  private @Nullable ManifestFile closed;

  private SyncMarkerFile(FileChannel file) {
    this.file = file;
  }

  public static SyncMarkerFile open(Path dir) throws IOException {
    FileChannel file =
        FileChannel.open(
            dir.resolve(FILE),
            StandardOpenOption.CREATE,
            StandardOpenOption.READ,
            StandardOpenOption.WRITE);
    try {
      lock(file, dir);
      SyncMarkerFile mark = new SyncMarkerFile(file);
      mark.read(0);
      mark.read(1);
      return mark;
    } catch (IOException | RuntimeException e) {
      file.close();
      throw e;
    }
  }

  private static void lock(FileChannel file, Path dir) throws IOException {
    FileLock lock;
    try {
      lock = file.tryLock();
    } catch (OverlappingFileLockException e) {
      lock = null;
    }
    if (lock == null) {
      throw new StoreException(RocksStore.ALREADY_OPEN + ": " + dir);
    }
  }

  /** Returns the marker that was written last; null if there is none or it is damaged. */
  public @Nullable WalPosition synced() {
    return synced;
  }

  /** The manifest as the store left it; null if it was not closed. */
  @Nullable ManifestFile closed() {
    return closed;
  }

  void write(WalPosition position) throws IOException {
    write(position, OPEN);
  }

  /** The last word before the store is closed; this one is synced. */
  void writeClosed(WalPosition position, ManifestFile manifest) throws IOException {
    write(position, manifest);
    file.force(false);
  }

  private void write(WalPosition position, ManifestFile manifest) throws IOException {
    turn++;
    slot.clear().putLong(turn).putLong(position.log()).putLong(position.bytes());
    slot.putLong(manifest.number()).putLong(manifest.bytes());
    slot.putInt(checksum()).clear();
    file.write(slot, SLOT_BYTES * (turn & 1));
  }

  private void read(int index) throws IOException {
    slot.clear();
    if (file.read(slot, (long) SLOT_BYTES * index) < SLOT_BYTES) {
      return;
    }
    long written = slot.getLong(0);
    if (written > turn && slot.getInt(CRC_AT) == checksum()) {
      turn = written;
      slot.position(Long.BYTES);
      synced = new WalPosition(slot.getLong(), slot.getLong());
      ManifestFile manifest = new ManifestFile(slot.getLong(), slot.getLong());
      closed = manifest.equals(OPEN) ? null : manifest;
    }
  }

  private int checksum() {
    crc.reset();
    crc.update(slot.array(), 0, CRC_AT);
    return (int) crc.getValue();
  }

  @Override
  public void close() throws IOException {
    file.close();
  }
}
