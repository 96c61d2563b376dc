package dev.sluice.governor.internal.local;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.zip.CRC32C;

/**
 * A file of records, each with its length and its checksum. An appended record survives the end of
 * the process; only {@link #replace} survives the end of the machine for certain. Not thread-safe.
 */
final class Journal implements AutoCloseable {
  private static final int HEAD_BYTES = 8;
  private static final int LARGEST_RECORD = 64 << 20;

  private final Path file;
  private FileChannel channel;
  private long bytes;
  private boolean cut;

  /** Writes or reads one record. */
  @FunctionalInterface
  interface JournalRecord<T> {
    void with(T data) throws IOException;
  }

  private Journal(Path file, FileChannel channel) {
    this.file = file;
    this.channel = channel;
  }

  /**
   * Reads all records of a file, which is made if it is not there, and goes on behind the last. A
   * last record that was not written to its end is cut off, see {@link #wasCut}.
   *
   * @throws UncheckedIOException if it cannot be read
   * @throws IllegalStateException if it is damaged
   */
  static Journal open(Path file, Journal.JournalRecord<DataInputStream> each) {
    try {
      FileChannel channel =
          FileChannel.open(
              file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
      Journal journal = new Journal(file, channel);
      try {
        journal.read(each);
      } catch (IOException | RuntimeException failure) {
        channel.close();
        throw failure;
      }
      return journal;
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }

  private void read(Journal.JournalRecord<DataInputStream> each) throws IOException {
    byte[] all = Files.readAllBytes(file);
    ByteBuffer rest = ByteBuffer.wrap(all);
    while (rest.remaining() >= HEAD_BYTES) {
      int start = rest.position();
      int length = rest.getInt();
      int checksum = rest.getInt();
      if (!isWhole(all, rest.position(), length, checksum)) {
        requireTorn(all, start);
        rest.position(start);
        break;
      }
      each.with(new DataInputStream(new ByteArrayInputStream(all, rest.position(), length)));
      rest.position(rest.position() + length);
    }
    bytes = rest.position();
    cut = bytes < all.length;
    channel.truncate(bytes);
    channel.position(bytes);
  }

  private static boolean isWhole(byte[] all, int from, int length, int checksum) {
    return length > 0
        && length <= LARGEST_RECORD
        && length <= all.length - from
        && checksum(all, from, length) == checksum;
  }

  /** Only the last record can be torn: another one behind it means that the file is damaged. */
  private void requireTorn(byte[] all, int start) {
    ByteBuffer data = ByteBuffer.wrap(all);
    for (int at = start + 1; at <= all.length - HEAD_BYTES; at++) {
      if (isWhole(all, at + HEAD_BYTES, data.getInt(at), data.getInt(at + 4))) {
        throw new IllegalStateException(
            "%s is damaged at byte %d: restore it, or rename it to %s and reload"
                .formatted(file, start, damaged(file).getFileName()));
      }
    }
  }

  /** Returns the name to which an operator renames a damaged {@code file}. */
  static Path damaged(Path file) {
    return file.resolveSibling(file.getFileName() + ".damaged");
  }

  private static int checksum(byte[] bytes, int from, int length) {
    CRC32C sum = new CRC32C();
    sum.update(bytes, from, length);
    return (int) sum.getValue();
  }

  private static void add(DataOutputStream to, Journal.JournalRecord<DataOutputStream> record)
      throws IOException {
    ByteArrayOutputStream body = new ByteArrayOutputStream(128);
    record.with(new DataOutputStream(body));
    byte[] written = body.toByteArray();
    to.writeInt(written.length);
    to.writeInt(checksum(written, 0, written.length));
    to.write(written);
  }

  /**
   * Writes one record behind the last.
   *
   * @throws UncheckedIOException if it cannot be written; what is there is not to be trusted then
   */
  void append(Journal.JournalRecord<DataOutputStream> record) {
    try {
      ByteArrayOutputStream frame = new ByteArrayOutputStream(160);
      add(new DataOutputStream(frame), record);
      bytes += writeAll(channel, frame);
    } catch (IOException failure) {
      throw new UncheckedIOException(
          "%s cannot be written: %s".formatted(file, failure.getMessage()), failure);
    }
  }

  private static long writeAll(FileChannel to, ByteArrayOutputStream frames) throws IOException {
    ByteBuffer data = ByteBuffer.wrap(frames.toByteArray());
    while (data.hasRemaining()) {
      to.write(data);
    }
    return data.position();
  }

  /** Has these records instead, all or none of them. */
  void replace(Iterable<Journal.JournalRecord<DataOutputStream>> records) {
    Path next = file.resolveSibling(file.getFileName() + ".new");
    try {
      ByteArrayOutputStream frames = new ByteArrayOutputStream();
      DataOutputStream data = new DataOutputStream(frames);
      for (Journal.JournalRecord<DataOutputStream> record : records) {
        add(data, record);
      }
      FileChannel fresh =
          FileChannel.open(
              next,
              StandardOpenOption.CREATE,
              StandardOpenOption.TRUNCATE_EXISTING,
              StandardOpenOption.WRITE);
      long written;
      try {
        written = writeAll(fresh, frames);
        fresh.force(true);
        Files.move(next, file, StandardCopyOption.ATOMIC_MOVE);
      } catch (IOException failure) {
        fresh.close();
        throw failure;
      }
      channel.close();
      channel = fresh;
      bytes = written;
      forceDirectory();
    } catch (IOException failure) {
      throw new UncheckedIOException(
          "%s cannot be written: %s".formatted(next, failure.getMessage()), failure);
    }
  }

  /** Syncs the directory: without this, a power loss may remove the file itself. */
  private void forceDirectory() throws IOException {
    Path directory = file.toAbsolutePath().getParent();
    if (directory != null) {
      try (FileChannel names = FileChannel.open(directory, StandardOpenOption.READ)) {
        names.force(true);
      }
    }
  }

  /** Returns whether the file had an incomplete record at its end when it was opened. */
  boolean wasCut() {
    return cut;
  }

  long bytes() {
    return bytes;
  }

  @Override
  public void close() {
    try {
      channel.close();
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }
}
