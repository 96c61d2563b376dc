package dev.sluice.server.support;

import com.fasterxml.jackson.core.JacksonException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A file that a list is kept in, readable by its owner alone. It is replaced as a whole: after a
 * crash there is the old one or the new one. A checksum detects damage.
 */
public final class JsonListFile<T> {
  private static final Logger LOG = LoggerFactory.getLogger(JsonListFile.class);
  private static final int FORMAT = 1;
  private static final String FORMAT_FIELD = "format";
  private static final String CHECKSUM_FIELD = "sha256";
  private static final int FIELDS = 3;
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
  private final String what;
  private final Class<T> type;
  private final Consumer<ObjectNode> migration;

  /** {@code what} are in it, each a {@code type}; that is its name, too. */
  public JsonListFile(Path directory, String what, Class<T> type) {
    this(directory, what, type, entry -> {});
  }

  /** {@code migration} adds the fields that an entry of an older version lacks. */
  public JsonListFile(Path directory, String what, Class<T> type, Consumer<ObjectNode> migration) {
    this.directory = directory;
    this.file = directory.resolve(what + ".json");
    this.what = what;
    this.type = type;
    this.migration = migration;
  }

  /** Reads the entries; none if there is no file. */
  public List<T> read() throws IOException {
    // A dangling link is an error: the file that it names is missing.
    if (!Files.exists(file, LinkOption.NOFOLLOW_LINKS)) {
      return List.of();
    }
    try {
      return read(JSON.readTree(Files.readAllBytes(file)));
    } catch (JacksonException unreadable) {
      throw damaged(unreadable.getOriginalMessage(), unreadable);
    }
  }

  private List<T> read(@Nullable JsonNode content) throws IOException {
    if (content == null || content.size() != FIELDS || !content.path(what).isArray()) {
      throw damaged("it must have format, sha256 and " + what, null);
    }
    JsonNode format = content.path(FORMAT_FIELD);
    if (!format.isInt() || format.intValue() != FORMAT) {
      throw new IOException(
          "the file of %s must be of format %d, but was %s: %s"
              .formatted(what, FORMAT, format, file));
    }
    JsonNode entries = content.path(what);
    // The checksum covers the content of the file, as any version wrote it.
    if (!checksum(entries).equals(content.path(CHECKSUM_FIELD).asText())) {
      throw damaged("its checksum is wrong", null);
    }
    for (JsonNode each : entries) {
      if (each instanceof ObjectNode entry) {
        migration.accept(entry);
      }
    }
    return JSON.readerForListOf(type).readValue(entries);
  }

  /** Why a server does not start with it. */
  public IOException damaged(String how, @Nullable Throwable cause) {
    return new IOException(
        "the file of %s is damaged; restore it, or delete it to start without %s: %s: %s"
            .formatted(what, what, file, how),
        cause);
  }

  /** Returns the error for a change that could not be written, for example to a full disk. */
  public ApiException notStored(IOException why) {
    LOG.atError()
        .addKeyValue("file", file)
        .addKeyValue("reason", why.getMessage())
        .log("not stored");
    return new ApiException(
        ErrorKind.UNAVAILABLE, "%s could not be stored: %s".formatted(what, why.getMessage()));
  }

  private static String checksum(JsonNode entries) throws IOException {
    return Sha256.hex(JSON.writeValueAsBytes(entries));
  }

  /** Returns when the disk has it. */
  public void write(List<T> all) throws IOException {
    ObjectNode content = JSON.createObjectNode();
    JsonNode entries = JSON.valueToTree(all);
    content.put(FORMAT_FIELD, FORMAT).put(CHECKSUM_FIELD, checksum(entries));
    content.set(what, entries);
    byte[] bytes = JSON.writeValueAsBytes(content);
    Path temporary = directory.resolve(what + ".json.tmp");
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
