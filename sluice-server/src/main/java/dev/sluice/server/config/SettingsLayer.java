package dev.sluice.server.config;

import dev.sluice.server.InvalidSettingsException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The settings that one source gives, such as a file. */
public final class SettingsLayer {
  /** A value and where it was found; it may be a secret, so that it has no {@code toString}. */
  static final class SettingValue {
    final String origin;
    final String text;

    SettingValue(String origin, String text) {
      this.origin = origin;
      this.text = text;
    }
  }

  private final Map<Setting<?>, SettingsLayer.SettingValue> given = new LinkedHashMap<>();

  /** Checks the value. */
  public void put(Setting<?> setting, String origin, String text) {
    setting.kind().parse(origin, text);
    refuseSecond(given.get(setting), origin);
    refuseSecond(given.get(rival(setting)), origin);
    given.put(setting, new SettingsLayer.SettingValue(origin, text));
  }

  private static void refuseSecond(SettingsLayer.@Nullable SettingValue first, String origin) {
    if (first != null) {
      throw new InvalidSettingsException(
          "%s and %s both set the same key; set one".formatted(first.origin, origin));
    }
  }

  /** The setting that says the same in another way; itself if there is none. */
  private static Setting<?> rival(Setting<?> setting) {
    if (setting.equals(SettingsCatalog.BOOTSTRAP_KEY)) {
      return SettingsCatalog.BOOTSTRAP_KEY_FILE;
    }
    return setting.equals(SettingsCatalog.BOOTSTRAP_KEY_FILE)
        ? SettingsCatalog.BOOTSTRAP_KEY
        : setting;
  }

  /** Overrides the values of this layer by those of {@code higher}. */
  public void override(SettingsLayer higher) {
    higher.given.forEach(
        (setting, value) -> {
          given.remove(rival(setting));
          given.put(setting, value);
        });
  }

  /** Applies the settings, and the defaults of the others, to {@code draft}. */
  public void applyTo(ServerConfigBuilder draft) {
    for (Setting<?> setting : SettingsCatalog.ALL) {
      SettingsLayer.SettingValue value = given.get(setting);
      String byDefault = setting.byDefault();
      if (value != null) {
        setting.apply(value.origin, value.text, draft);
      } else if (byDefault != null) {
        setting.apply(setting.name(), byDefault, draft);
      }
    }
  }

  /** Returns the value of a setting as text; null if the default applies. */
  @Nullable String text(Setting<?> setting) {
    SettingsLayer.SettingValue value = given.get(setting);
    return value == null ? null : value.text;
  }

  /** Returns the settings whose values differ; a setting that is not given has its default. */
  public List<Setting<?>> differences(SettingsLayer other) {
    List<Setting<?>> found = new ArrayList<>();
    for (Setting<?> setting : SettingsCatalog.ALL) {
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
