package dev.sluice.server.config;

import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.dataformat.toml.TomlMapper;
import dev.sluice.server.InvalidSettingsException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;

/** A file of TOML: sections, and keys in them. */
public final class TomlSettings {
  private static final TomlMapper TOML = new TomlMapper();

  private TomlSettings() {}

  /** A {@code sluice.toml}. */
  public static SettingsLayer read(Path file) {
    SettingsLayer layer = new SettingsLayer();
    Consumer<String> refuse =
        name -> {
          throw unknown(file, name);
        };
    values(file, refuse)
        .forEach(
            (name, value) -> {
              Setting<?> setting = SettingsCatalog.find(name);
              if (setting == null) {
                throw unknown(file, name);
              }
              put(layer, setting, origin(file, name), value);
            });
    return layer;
  }

  /** Returns values by section and key; calls {@code stray} with keys outside of sections. */
  static Map<String, JsonNode> values(Path file, Consumer<String> stray) {
    JsonNode root = parse(file);
    Map<String, JsonNode> values = new LinkedHashMap<>();
    root.properties()
        .forEach(
            section -> {
              if (!section.getValue().isObject()) {
                stray.accept(section.getKey());
              }
              // Such a value has no keys.
              section
                  .getValue()
                  .properties()
                  .forEach(
                      key -> values.put(section.getKey() + "." + key.getKey(), key.getValue()));
            });
    return values;
  }

  private static JsonNode parse(Path file) {
    String text = ConfigFileReader.read(file, file.toString());
    try {
      return TOML.readTree(text);
    } catch (JsonProcessingException malformed) {
      JsonLocation place = malformed.getLocation();
      throw new InvalidSettingsException(
          "%s is not valid TOML%s: %s"
              .formatted(
                  file,
                  place == null
                      ? ""
                      : ", line %d, column %d".formatted(place.getLineNr(), place.getColumnNr()),
                  malformed.getOriginalMessage()));
    }
  }

  static String origin(Path file, String name) {
    return file + ": " + name;
  }

  private static InvalidSettingsException unknown(Path file, String name) {
    int dot = name.indexOf('.');
    String known = dot < 0 ? "" : SettingsCatalog.namesIn(name.substring(0, dot));
    return new InvalidSettingsException(
        "%s: unknown key %s; there %s"
            .formatted(
                file,
                SettingType.shown(name),
                known.isEmpty()
                    ? "are the sections " + SettingsCatalog.sections()
                    : "are " + known));
  }

  /** A number is written as such, anything else as text. */
  static void put(SettingsLayer layer, Setting<?> setting, String origin, JsonNode value) {
    SettingType.Form form = setting.kind().form();
    if (!fits(form, value)) {
      throw new InvalidSettingsException(
          "%s must be %s%s"
              .formatted(
                  origin,
                  switch (form) {
                    case NUMBER -> "a whole number";
                    case NUMBER_OR_OFF -> "a whole number, or \"off\" in quotes";
                    case TEXT, SECRET -> "text in quotes";
                  },
                  form == SettingType.Form.SECRET
                      ? ""
                      : ", but was " + SettingType.shown(value.toString())));
    }
    layer.put(setting, origin, value.asText());
  }

  private static boolean fits(SettingType.Form form, JsonNode value) {
    return switch (form) {
      case NUMBER -> value.isIntegralNumber();
      case NUMBER_OR_OFF -> value.isIntegralNumber() || value.asText().equals("off");
      case TEXT, SECRET -> value.isTextual();
    };
  }
}
