package dev.sluice.server.config;

import dev.sluice.server.RedisConfig;
import org.jspecify.annotations.Nullable;

/** Writes settings as a file that can be read again. */
public final class SettingsTomlWriter {
  /** The value of a required setting that is not set; the server refuses it. */
  private static final String UNSET = "\"\"";

  private SettingsTomlWriter() {}

  public static String print(SettingsLayer given) {
    StringBuilder lines = new StringBuilder();
    String section = "";
    for (Setting<?> setting : SettingsCatalog.ALL) {
      if (!setting.section().equals(section)) {
        lines.append(section.isEmpty() ? "" : "\n");
        section = setting.section();
        lines.append('[').append(section).append("]\n");
      }
      lines.append("# ").append(setting.effect()).append('\n');
      lines.append(line(setting, given.text(setting))).append('\n');
    }
    return lines.toString();
  }

  private static String line(Setting<?> setting, @Nullable String given) {
    String text = given == null ? setting.byDefault() : given;
    if (text == null || isNothing(setting, text)) {
      return "# " + setting.key() + " = " + UNSET;
    }
    return switch (setting.kind().form()) {
      case SECRET -> "# " + setting.key() + " is set and not shown";
      case NUMBER -> setting.key() + " = " + Long.parseLong(text);
      case NUMBER_OR_OFF ->
          setting.key() + " = " + (isNumber(text) ? "" + Long.parseLong(text) : quoted("off"));
      case TEXT -> setting.key() + " = " + quoted(text);
    };
  }

  private static boolean isNumber(String text) {
    return !text.isEmpty() && Character.isDigit(text.charAt(0));
  }

  private static boolean isNothing(Setting<?> setting, String text) {
    return setting.equals(SettingsCatalog.REDIS_URL) && RedisConfig.isNone(text);
  }

  /** Settings have no control characters. */
  private static String quoted(String text) {
    return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"") + '"';
  }
}
