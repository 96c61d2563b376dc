package dev.sluice.broker.internal.store.rocks;

import java.util.Locale;
import org.rocksdb.RocksDBException;
import org.rocksdb.Status;

/** Tells a full disk from other failures of a file system. */
final class DiskFullCause {
  private DiskFullCause() {}

  /** Returns whether {@code failure} reports a full disk or an exceeded disk quota. */
  static boolean isCause(Exception failure) {
    if (failure instanceof RocksDBException rocks
        && rocks.getStatus() != null
        && rocks.getStatus().getSubCode() == Status.SubCode.NoSpace) {
      return true;
    }
    String message = String.valueOf(failure.getMessage()).toLowerCase(Locale.ROOT);
    return message.contains("no space left on device") || message.contains("disk quota exceeded");
  }
}
