package dev.sluice.broker.internal.store;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Ordered tables of rows that change by whole batches.
 *
 * <p>One thread writes and one thread syncs, at the same time; any thread reads. After a {@link
 * StoreException} from {@link #write} or {@link #sync} nothing is known about what is stored: the
 * store must be closed and opened again.
 */
public interface Store extends AutoCloseable {

  /** Receives the rows of {@link #scan}. */
  interface RowVisitor {
    /** Returns whether to go on. */
    boolean row(byte[] key, byte[] value);
  }

  /**
   * Applies all of {@code rows} or, should the machine stop meanwhile, nothing of it. On return
   * readers see it, and it survives the end of the process; not yet that of the machine.
   */
  void write(RowBatch rows);

  /** On return everything written before the call survives the end of the machine. */
  void sync();

  byte @Nullable [] get(StoreTable table, byte[] key);

  /** As {@link #get} for each of {@code keys}, in their order. */
  List<byte @Nullable []> getAll(StoreTable table, List<byte[]> keys);

  /** Rows from {@code from} on, up to but without {@code to}, in the order of unsigned bytes. */
  void scan(StoreTable table, byte[] from, byte[] to, RowVisitor visitor);

  /** Returns the free space of the disk, less what is still to be written to table files. */
  long freeBytes();

  @Override
  void close();
}
