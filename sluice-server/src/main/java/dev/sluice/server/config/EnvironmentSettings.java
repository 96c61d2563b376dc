package dev.sluice.server.config;

import dev.sluice.server.InvalidSettingsException;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;

/** Settings from environment variables. */
public final class EnvironmentSettings {
  private static final String PREFIX = "SLUICE_";

  /** Other names of settings. */
  private static final Map<String, Setting<?>> ALIASES =
      Map.of(
          "SLUICE_BOOTSTRAP_KEY",
          SettingsCatalog.BOOTSTRAP_KEY,
          "REDIS_URL",
          SettingsCatalog.REDIS_URL);

  /** Variables of the launch scripts and of other commands than the server. */
  private static final Set<String> NOT_OURS =
      Set.of("SLUICE_LTS_HOME", "SLUICE_JAVA_FLAGS", "SLUICE_ADDRESS", "SLUICE_API_KEY");

  /** Kubernetes tells every container of a service named sluice, or sluice-something. */
  private static final Pattern SERVICE_LINK =
      Pattern.compile(
          "SLUICE_(\\w+_)?(SERVICE_HOST|SERVICE_PORT(_\\w+)?|PORT_\\d+_(TCP|UDP|SCTP)(_\\w+)?)");

  private static final Pattern SERVICE_PORT = Pattern.compile("SLUICE_(\\w+_)?PORT");
  private static final Pattern SERVICE_ADDRESS = Pattern.compile("(tcp|udp|sctp)://.*");

  private EnvironmentSettings() {}

  public static SettingsLayer read(Map<String, String> environment) {
    Map<String, Setting<?>> known = new HashMap<>(ALIASES);
    SettingsCatalog.ALL.forEach(setting -> known.put(setting.variable(), setting));
    SettingsLayer layer = new SettingsLayer();
    new TreeMap<>(environment)
        .forEach(
            (name, value) -> {
              Setting<?> setting = known.get(name);
              if (setting != null) {
                layer.put(setting, name, value);
              } else if (name.startsWith(PREFIX) && !isOfOthers(name, value)) {
                throw new InvalidSettingsException(
                    "unknown environment variable %s; 'sluice serve --print-config' lists the keys,"
                            .formatted(SettingType.shown(name))
                        + " and server.host is SLUICE_SERVER_HOST");
              }
            });
    return layer;
  }

  private static boolean isOfOthers(String name, String value) {
    return NOT_OURS.contains(name)
        || SERVICE_LINK.matcher(name).matches()
        || (SERVICE_PORT.matcher(name).matches() && SERVICE_ADDRESS.matcher(value).matches());
  }
}
