package dev.sluice.server;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The settings that one source gives, such as a file. */
final class SettingsLayer {
  /** A value and where it was found; it may be a secret, so that it has no {@code toString}. */
  static final class Given {
    final String origin;
    final String text;

    Given(String origin, String text) {
      this.origin = origin;
      this.text = text;
    }
  }

  private final Map<Setting<?>, Given> given = new LinkedHashMap<>();

  /** Checks the value. */
  void put(Setting<?> setting, String origin, String text) {
    setting.kind().parse(origin, text);
    refuseSecond(given.get(setting), origin);
    refuseSecond(given.get(rival(setting)), origin);
    given.put(setting, new Given(origin, text));
  }

  private static void refuseSecond(@Nullable Given first, String origin) {
    if (first != null) {
      throw new SettingsException(
          "%s and %s say the same twice: give one of them".formatted(first.origin, origin));
    }
  }

  /** The setting that says the same in another way; itself if there is none. */
  private static Setting<?> rival(Setting<?> setting) {
    if (setting.equals(SettingsTable.BOOTSTRAP_KEY)) {
      return SettingsTable.BOOTSTRAP_KEY_FILE;
    }
    return setting.equals(SettingsTable.BOOTSTRAP_KEY_FILE) ? SettingsTable.BOOTSTRAP_KEY : setting;
  }

  /** What {@code higher} gives counts before what is here. */
  void override(SettingsLayer higher) {
    higher.given.forEach(
        (setting, value) -> {
          given.remove(rival(setting));
          given.put(setting, value);
        });
  }

  /** With defaults for what is not given. */
  void applyTo(SettingsDraft draft) {
    for (Setting<?> setting : SettingsTable.ALL) {
      Given value = given.get(setting);
      String byDefault = setting.byDefault();
      if (value != null) {
        setting.apply(value.origin, value.text, draft);
      } else if (byDefault != null) {
        setting.apply(setting.name(), byDefault, draft);
      }
    }
  }

  /** What is given; null for the default. */
  @Nullable String text(Setting<?> setting) {
    Given value = given.get(setting);
    return value == null ? null : value.text;
  }

  /** Returns the settings whose values differ; a setting that is not given has its default. */
  List<Setting<?>> differences(SettingsLayer other) {
    List<Setting<?>> found = new ArrayList<>();
    for (Setting<?> setting : SettingsTable.ALL) {
      if (!Objects.equals(valueOf(setting), other.valueOf(setting))) {
        found.add(setting);
      }
    }
    return found;
  }

  private @Nullable String valueOf(Setting<?> setting) {
    String text = text(setting);
    return text == null ? setting.byDefault() : text;
  }
}
