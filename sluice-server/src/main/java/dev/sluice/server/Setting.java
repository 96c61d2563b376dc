package dev.sluice.server;

import java.util.Locale;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * One key of the configuration, the same in the file, the environment and the documentation.
 *
 * @param name section and key, such as {@code server.host}
 * @param flag the option of {@code sluice serve}; null for none
 * @param kind what its values look like
 * @param byDefault the value that it has unless given; null for none
 * @param effect one sentence
 * @param setter puts the value where the server looks for it
 */
record Setting<T>(
    String name,
    @Nullable String flag,
    SettingKind<T> kind,
    @Nullable String byDefault,
    String effect,
    BiConsumer<SettingsDraft, T> setter) {
  String section() {
    return name.substring(0, name.indexOf('.'));
  }

  String key() {
    return name.substring(name.indexOf('.') + 1);
  }

  /** The environment variable. */
  String variable() {
    return "SLUICE_" + name.replace('.', '_').toUpperCase(Locale.ROOT);
  }

  void apply(String origin, String text, SettingsDraft draft) {
    setter.accept(draft, kind.parse(origin, text));
  }
}
