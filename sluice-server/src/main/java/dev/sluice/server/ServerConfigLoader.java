package dev.sluice.server;

import dev.sluice.server.config.EnvironmentSettings;
import dev.sluice.server.config.FilaSettings;
import dev.sluice.server.config.ServerConfigBuilder;
import dev.sluice.server.config.Setting;
import dev.sluice.server.config.SettingsCatalog;
import dev.sluice.server.config.SettingsLayer;
import dev.sluice.server.config.SettingsTomlWriter;
import dev.sluice.server.config.TomlSettings;
import dev.sluice.server.telemetry.LogConfig;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Loads the settings of a server from flags, the environment and a file, in this order of
 * precedence. {@code docs/operations.md} lists the settings and their defaults.
 *
 * @since 0.1
 */
public final class ServerConfigLoader {
  private static final Path FILE = Path.of("sluice.toml");
  private static final Path FILA_FILE = Path.of("fila.toml");
  private static final Path FILA_SYSTEM_FILE = Path.of("/etc/fila/fila.toml");

  private final SettingsLayer given;
  private final ServerConfig config;
  private final LogConfig logging;
  private final List<String> warnings;
  private final String toml;

  private ServerConfigLoader(
      SettingsLayer given, ServerConfigBuilder draft, List<String> warnings) {
    this.given = given;
    given.applyTo(draft);
    this.config = draft.config();
    this.logging = new LogConfig(draft.logLevel, draft.logFormat);
    this.warnings = List.copyOf(warnings);
    this.toml = SettingsTomlWriter.print(given);
  }

  /**
   * Reads everything and creates nothing.
   *
   * @param workingDirectory where {@code sluice.toml} may be, else a {@code fila.toml}; other
   *     relative paths start here too
   * @param file the file to read instead; null for none
   * @param environment the environment variables
   * @param flags values by flag, such as {@code --grpc-port}
   * @return the settings
   * @throws InvalidSettingsException if anything breaks a rule
   */
  public static ServerConfigLoader read(
      Path workingDirectory,
      @Nullable Path file,
      Map<String, String> environment,
      Map<String, String> flags) {
    Path found = file == null ? existing(workingDirectory.resolve(FILE)) : file;
    Path fila = existing(workingDirectory.resolve(FILA_FILE));
    return read(
        workingDirectory,
        found,
        fila == null ? existing(FILA_SYSTEM_FILE) : fila,
        environment,
        flags);
  }

  /** The file of fila counts only without one of Sluice. */
  static ServerConfigLoader read(
      Path workingDirectory,
      @Nullable Path file,
      @Nullable Path filaFile,
      Map<String, String> environment,
      Map<String, String> flags) {
    SettingsLayer given = new SettingsLayer();
    List<String> warnings = new ArrayList<>();
    if (file != null) {
      given.override(TomlSettings.read(file));
      warnAboutFila(file, environment, warnings);
    } else if (filaFile != null || FilaSettings.isMeant(environment)) {
      FilaSettings fila = new FilaSettings();
      given.override(fila.read(filaFile, environment));
      warnings.addAll(fila.warnings());
    }
    given.override(EnvironmentSettings.read(environment));
    given.override(readFlags(flags));
    return new ServerConfigLoader(given, new ServerConfigBuilder(workingDirectory), warnings);
  }

  /** A file that may be there but cannot be seen is taken for one, so that reading it says why. */
  private static @Nullable Path existing(Path file) {
    return Files.notExists(file, LinkOption.NOFOLLOW_LINKS) ? null : file;
  }

  private static void warnAboutFila(
      Path file, Map<String, String> environment, List<String> warnings) {
    for (String variable : List.of(FilaSettings.DATA_VARIABLE, FilaSettings.KEY_VARIABLE)) {
      if (environment.containsKey(variable)) {
        warnings.add(variable + " has no effect together with " + file);
      }
    }
  }

  private static SettingsLayer readFlags(Map<String, String> flags) {
    SettingsLayer layer = new SettingsLayer();
    flags.forEach((flag, value) -> layer.put(flagged(flag), flag, value));
    return layer;
  }

  private static Setting<?> flagged(String flag) {
    return SettingsCatalog.ALL.stream()
        .filter(setting -> flag.equals(setting.flag()))
        .findFirst()
        .orElseThrow(() -> new InvalidSettingsException("unknown flag: " + flag));
  }

  /**
   * How the server is to be set up.
   *
   * @return for {@link SluiceServer#start}
   */
  public ServerConfig config() {
    return config;
  }

  /**
   * Returns warnings about settings that have no effect.
   *
   * @return a sentence each
   */
  public List<String> warnings() {
    return warnings;
  }

  /**
   * Every key with its value and effect, as a {@code sluice.toml}; a secret only as a comment.
   *
   * @return lines of TOML
   */
  public String toToml() {
    return toml;
  }

  /** Configures the logging of the process, and logs the warnings. */
  public void startLogging() {
    logging.start();
    warnings.forEach(log()::warn);
  }

  /**
   * Applies the settings of {@code next} that a running server can change: how it logs. Logs a
   * warning with the other settings that differ, which need a restart.
   *
   * @param next the settings that the same sources have now
   */
  public void reloadFrom(ServerConfigLoader next) {
    if (!next.logging.equals(LogConfig.current())) {
      next.startLogging();
      log()
          .atInfo()
          .addKeyValue("name", LogConfig.SECTION)
          .addKeyValue("changed", next.logging.settings())
          .log("reloaded");
    }
    List<String> waiting = next.needingRestart(this);
    if (!waiting.isEmpty()) {
      log().atWarn().addKeyValue("settings", waiting).log("changed settings need a restart");
    }
  }

  /** Returns the names of the settings that differ and that a running server cannot change. */
  List<String> needingRestart(ServerConfigLoader running) {
    List<String> names = new ArrayList<>();
    for (Setting<?> setting : given.differences(running.given)) {
      if (!setting.section().equals(LogConfig.SECTION)) {
        names.add(setting.name());
      }
    }
    boolean sameKey = Objects.equals(config.bootstrapKey(), running.config.bootstrapKey());
    if (!sameKey && names.stream().noneMatch(name -> name.startsWith("auth."))) {
      names.add(SettingsCatalog.BOOTSTRAP_KEY_FILE.name());
    }
    return names;
  }

  private static Logger log() {
    return LoggerFactory.getLogger(ServerConfigLoader.class);
  }
}
