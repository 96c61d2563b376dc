package dev.sluice.cli.simulate.scenario;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.dataformat.toml.TomlMapper;
import dev.sluice.cli.text.FileErrors;
import dev.sluice.cli.text.InvalidInputException;
import dev.sluice.cli.text.JsonWriter;
import dev.sluice.cli.text.Quoting;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Reads a scenario from TOML, with the overrides of the command line. */
public final class ScenarioFile {
  private static final TomlMapper TOML = new TomlMapper();
  private static final int MAX_BYTES = 64 << 20;

  private ScenarioFile() {}

  /**
   * Reads the scenario of a file.
   *
   * @param changes {@code key.path=value}, each of which overrides the file
   */
  public static Scenario read(Path file, List<String> changes) {
    ObjectNode root = parse(text(file), file.toString());
    changes.forEach(change -> change(root, change));
    Path folder = file.toAbsolutePath().getParent();
    return new ScenarioParser(
            TomlTable.root(file.toString(), root), folder == null ? Path.of("") : folder)
        .scenario();
  }

  public static String text(Path file) {
    try (InputStream in = Files.newInputStream(file)) {
      byte[] bytes = in.readNBytes(MAX_BYTES + 1);
      if (bytes.length > MAX_BYTES) {
        throw new InvalidInputException(
            "%s must have at most %d bytes".formatted(Quoting.of(file.toString()), MAX_BYTES));
      }
      return UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
    } catch (IOException unreadable) {
      throw FileErrors.cannotRead(file.toString(), unreadable);
    }
  }

  private static ObjectNode parse(String text, String name) {
    try {
      return (ObjectNode) TOML.readTree(text);
    } catch (JsonProcessingException malformed) {
      JsonLocation place = malformed.getLocation();
      throw new InvalidInputException(
          "%s is not valid TOML%s: %s"
              .formatted(
                  name,
                  place == null
                      ? ""
                      : ", line %d, column %d".formatted(place.getLineNr(), place.getColumnNr()),
                  malformed.getOriginalMessage()));
    }
  }

  /**
   * Replaces a value by a line of TOML; quotes around a value that is neither number nor truth may
   * be left out.
   */
  private static void change(ObjectNode root, String change) {
    int equals = change.indexOf('=');
    if (equals < 1) {
      throw new InvalidInputException(
          "--set must be KEY=VALUE, such as queues.mail.workers=8, but was " + Quoting.of(change));
    }
    String name = "--set " + Quoting.of(change);
    String key = change.substring(0, equals + 1);
    ObjectNode into = root;
    JsonNode path = parse(key + "0", name);
    JsonNode value = parseValue(change, key, name);
    while (true) {
      String each = path.fieldNames().next();
      path = path.get(each);
      value = value.get(each);
      if (!path.isObject()) {
        into.set(each, value);
        return;
      }
      into = into.get(each) instanceof ObjectNode there ? there : into.putObject(each);
    }
  }

  private static JsonNode parseValue(String change, String key, String name) {
    try {
      return parse(change, name);
    } catch (InvalidInputException bare) {
      return parse(key + JsonWriter.quote(change.substring(key.length()).strip()), name);
    }
  }
}
