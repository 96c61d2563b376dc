package dev.sluice.broker;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;

/**
 * The calls and results of a broker's clients, in a file that outlives their process: each line is
 * written at once, and the file cache survives a kill. Words of a line:
 *
 * <pre>
 *   open                                           a process begins
 *   send number queue producer                     about to enqueue
 *   sent number id                                 that is confirmed
 *   refused number                                 that is refused: it must not be stored
 *   got number queue group id token attempts leased   a delivery; leased at that broker time
 *   try operation token wall [nanos]               about to settle or extend
 *   done operation token wall                      that is confirmed
 *   late operation token wall                      that is refused: the lease has ended
 *   close queue                                    a consumer is about to be closed
 *   clock broker machine                           two clocks at one instant, until the next line
 *   wal log bytes                                  so far the store has synced
 *   free                                           throttles are about to be taken away
 *   drained                                        nothing is left
 *   broken reason                                  something happened that never may
 * </pre>
 */
final class KillLog implements AutoCloseable {
  private final FileChannel file;

  KillLog(Path path) {
    try {
      file = FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  void add(Object... words) {
    StringBuilder line = new StringBuilder(128);
    for (Object word : words) {
      line.append(line.isEmpty() ? "" : " ").append(word);
    }
    add(line.append('\n').toString().getBytes(UTF_8));
  }

  private synchronized void add(byte[] line) {
    try {
      ByteBuffer bytes = ByteBuffer.wrap(line);
      while (bytes.hasRemaining()) {
        file.write(bytes);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Something happened that never may. */
  void broken(String what, Throwable why) {
    add("broken", what, why.toString().replace('\n', ' '));
  }

  /** The lines; removes one that a kill cut short. */
  static List<String[]> read(Path path) throws IOException {
    if (!Files.exists(path)) {
      return List.of();
    }
    String text = Files.readString(path);
    String whole = text.substring(0, text.lastIndexOf('\n') + 1);
    if (whole.length() < text.length()) {
      Files.writeString(path, whole);
    }
    return whole.lines().map(line -> line.split(" ", -1)).toList();
  }

  static String word(LeaseToken token) {
    return token.epoch() + ":" + token.number();
  }

  static LeaseToken token(String word) {
    String[] parts = word.split(":", -1);
    return new LeaseToken(Integer.parseInt(parts[0]), Long.parseLong(parts[1]));
  }

  @Override
  public void close() throws IOException {
    file.close();
  }
}
