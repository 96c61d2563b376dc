package dev.sluice.server.support;

import dev.sluice.server.ListenConfig;
import dev.sluice.server.ServerConfig;
import dev.sluice.server.TlsConfig;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Logs the start, reload and stop of a server. */
public final class LifecycleLog {
  /** Has the name of the server, which the lines show. */
  private static final Logger LOG = LoggerFactory.getLogger("dev.sluice.server.SluiceServer");

  private LifecycleLog() {}

  public static void starting(ServerConfig config) {
    LOG.atInfo()
        .addKeyValue("version", BuildVersion.number())
        .addKeyValue("host", config.listen().host())
        .addKeyValue("grpc_port", config.listen().grpcPort())
        .addKeyValue("http_port", httpPort(config.listen().httpPort()))
        .addKeyValue("data_dir", config.dataDirectory())
        .addKeyValue("auth", config.bootstrapKey() == null ? "off" : "on")
        .addKeyValue("tls", tls(config.tls()))
        .addKeyValue("limits", config.redis() == null ? "local" : "redis")
        .addKeyValue("traces", config.telemetry().endpoint() == null ? "off" : "on")
        .log("starting");
  }

  /**
   * Warns of settings that are allowed but unsafe. The data directory must be open: the broker has
   * made it private by then unless it has another owner.
   */
  public static void unsafeSettings(ServerConfig config, InetSocketAddress address) {
    unsafeSettings(config, address.getAddress().isLoopbackAddress())
        .forEach(each -> LOG.warn("unsafe: {}", each));
  }

  public static List<String> unsafeSettings(ServerConfig config, boolean loopback) {
    List<String> found = new ArrayList<>();
    if (!loopback && config.bootstrapKey() != null && config.tls() == null) {
      found.add(
          "API keys travel in plaintext, because server.host is not loopback and there is no TLS;"
              + " set tls.cert_file and tls.key_file, or let a proxy encrypt");
    }
    if (config.redis() != null && !config.redis().hasPassword()) {
      found.add(
          "redis.url has no password: callers that reach Redis can change every limit and budget");
    }
    if (config.redis() != null && config.redis().sendsPasswordInPlaintext()) {
      found.add(
          "the password in redis.url travels in plaintext, because Redis is not on loopback and"
              + " there is no TLS; use rediss://");
    }
    if (isOpenToOthers(config.dataDirectory())) {
      found.add(
          "the data directory has another owner and other users can read it; set its mode to 700: "
              + config.dataDirectory());
    }
    return found;
  }

  private static boolean isOpenToOthers(Path directory) {
    try {
      return Files.getPosixFilePermissions(directory).stream()
          .anyMatch(each -> each.name().startsWith("OTHERS"));
    } catch (IOException | UnsupportedOperationException unknown) {
      return false;
    }
  }

  private static String httpPort(int port) {
    return port == ListenConfig.OFF ? "off" : Integer.toString(port);
  }

  private static String tls(@Nullable TlsConfig tls) {
    if (tls == null) {
      return "off";
    }
    return tls.clientCa() == null ? "on" : "mutual";
  }

  public static void withoutEffect(List<String> names) {
    if (!names.isEmpty()) {
      LOG.atInfo().addKeyValue("names", names).log("the budget file has keys without effect");
    }
  }

  /** Logs the models that could not be opened, with the reasons. */
  public static void closedModels(Map<String, String> reasons) {
    reasons.forEach(
        (model, reason) ->
            LOG.atError()
                .addKeyValue("model", model)
                .addKeyValue("reason", reason)
                .log("a model of the governor is closed; all others work"));
  }

  public static void ready(int grpcPort, int httpPort) {
    LOG.atInfo()
        .addKeyValue("grpc_port", grpcPort)
        .addKeyValue("http_port", httpPort(httpPort))
        .log("ready");
  }

  public static void refused(Exception reason) {
    LOG.atError().addKeyValue("reason", reason.getMessage()).log("cannot start");
  }

  /** Something that is done every second was not, this time. */
  public static void failed(RuntimeException why) {
    LOG.error("a check failed and is repeated in a second", why);
  }

  /** {@code changed} is empty if the content is the same as before. */
  static void reloaded(String name, String changed) {
    LOG.atInfo()
        .addKeyValue("name", name)
        .addKeyValue("changed", changed.isEmpty() ? "nothing" : changed)
        .log("reloaded");
  }

  static void notReloaded(String name, Exception reason) {
    LOG.atError()
        .addKeyValue("name", name)
        .addKeyValue("reason", reason.getMessage())
        .log("reload failed; the previous version stays in use");
  }

  static void nothingToReload() {
    LOG.info("nothing to reload: neither governor.file nor tls.cert_file is set");
  }

  public static void draining() {
    LOG.info("draining: new calls are refused, open calls may end");
  }

  public static void closed() {
    LOG.info("closed: all acknowledged data is stored");
  }
}
