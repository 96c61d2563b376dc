package dev.sluice.server.config;

import java.util.Locale;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * One key of the configuration, the same in the file, the environment and the documentation.
 *
 * @param name section and key, such as {@code server.host}
 * @param flag the option of {@code sluice serve}; null for none
 * @param kind the type of its values
 * @param byDefault the value that it has unless given; null for none
 * @param effect one sentence
 * @param setter puts the value where the server looks for it
 */
public record Setting<T>(
    String name,
    @Nullable String flag,
    SettingType<T> kind,
    @Nullable String byDefault,
    String effect,
    BiConsumer<ServerConfigBuilder, T> setter) {
  public String section() {
    return name.substring(0, name.indexOf('.'));
  }

  String key() {
    return name.substring(name.indexOf('.') + 1);
  }

  /** The environment variable. */
  public String variable() {
    return "SLUICE_" + name.replace('.', '_').toUpperCase(Locale.ROOT);
  }

  void apply(String origin, String text, ServerConfigBuilder draft) {
    setter.accept(draft, kind.parse(origin, text));
  }
}
