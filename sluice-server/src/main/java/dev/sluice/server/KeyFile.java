package dev.sluice.server;

import com.fasterxml.jackson.core.JacksonException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The file that keys are kept in, readable by its owner alone. It is replaced as a whole: after a
 * crash there is the old one or the new one. A checksum tells damage.
 */
final class KeyFile {
  static final String NAME = "keys.json";
  private static final String TEMPORARY = NAME + ".tmp";
  private static final int FORMAT = 1;
  private static final JsonMapper JSON =
      JsonMapper.builder()
          .enable(
              DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES,
              DeserializationFeature.FAIL_ON_TRAILING_TOKENS,
              DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES,
              DeserializationFeature.FAIL_ON_NULL_CREATOR_PROPERTIES)
          .build();

  private final Path directory;
  private final Path file;

  /**
   * What the file holds.
   *
   * @param format of the file
   * @param sha256 of the keys as they are written
   * @param keys all of them
   */
  private record Content(int format, String sha256, List<Key> keys) {}

  KeyFile(Path directory) {
    this.directory = directory;
    this.file = directory.resolve(NAME);
  }

  /** No keys if there is no file. */
  List<Key> read() throws IOException {
    if (!Files.exists(file)) {
      return List.of();
    }
    @Nullable Content content;
    try {
      content = JSON.readValue(Files.readAllBytes(file), Content.class);
    } catch (JacksonException unreadable) {
      throw damaged(unreadable.getOriginalMessage(), unreadable);
    }
    if (content == null) {
      throw damaged("it holds null", null);
    }
    if (content.format() != FORMAT) {
      throw new IOException(
          "the file of keys must be of format %d: %d, %s"
              .formatted(FORMAT, content.format(), file));
    }
    if (!KeyTokens.same(content.sha256(), checksum(content.keys()))) {
      throw damaged("its checksum is wrong", null);
    }
    return content.keys();
  }

  private IOException damaged(String how, @Nullable Throwable cause) {
    return new IOException(
        "the file of keys is damaged; restore it, or delete it to start without keys: %s: %s"
            .formatted(file, how),
        cause);
  }

  private static String checksum(List<Key> keys) throws IOException {
    return KeyTokens.sha256(JSON.writeValueAsBytes(keys));
  }

  /** Returns when the disk has it. */
  void write(List<Key> keys) throws IOException {
    byte[] bytes = JSON.writeValueAsBytes(new Content(FORMAT, checksum(keys), keys));
    Path temporary = directory.resolve(TEMPORARY);
    Files.deleteIfExists(temporary);
    try (FileChannel channel =
        FileChannel.open(
            temporary,
            Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
            ownerOnly())) {
      ByteBuffer rest = ByteBuffer.wrap(bytes);
      while (rest.hasRemaining()) {
        channel.write(rest);
      }
      channel.force(true);
    }
    Files.move(temporary, file, StandardCopyOption.ATOMIC_MOVE);
    try (FileChannel names = FileChannel.open(directory, StandardOpenOption.READ)) {
      names.force(true);
    }
  }

  private FileAttribute<?>[] ownerOnly() {
    return directory.getFileSystem().supportedFileAttributeViews().contains("posix")
        ? new FileAttribute<?>[] {
          PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"))
        }
        : new FileAttribute<?>[0];
  }
}
