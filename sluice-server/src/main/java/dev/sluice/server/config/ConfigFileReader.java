package dev.sluice.server.config;

import dev.sluice.server.InvalidSettingsException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/** A file that a person has written. */
final class ConfigFileReader {
  /** The largest file; a larger one is a mistake, such as the name of another file. */
  private static final int MAX_BYTES = 1 << 20;

  private ConfigFileReader() {}

  /** {@code origin} says who names the file. */
  static String read(Path file, String origin) {
    try (InputStream input = Files.newInputStream(file)) {
      byte[] bytes = input.readNBytes(MAX_BYTES + 1);
      if (bytes.length > MAX_BYTES) {
        throw new InvalidSettingsException(origin + " must have at most " + MAX_BYTES + " bytes");
      }
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
    } catch (NoSuchFileException missing) {
      throw new InvalidSettingsException(origin + " does not exist");
    } catch (CharacterCodingException binary) {
      throw new InvalidSettingsException(origin + " must be UTF-8 text");
    } catch (IOException unreadable) {
      throw new InvalidSettingsException(
          "%s cannot be read: %s".formatted(origin, unreadable.getMessage()));
    }
  }
}
