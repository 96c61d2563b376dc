package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.cli.runtime.ConnectionOptions;
import dev.sluice.server.ListenConfig;
import dev.sluice.server.RedisConfig;
import dev.sluice.server.ServerConfig;
import dev.sluice.server.SluiceServer;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A real server, and the command line run against it. */
final class CliServer implements AutoCloseable {
  private final SluiceServer server;
  private final @Nullable String key;

  /** Asks for {@code key} if there is one. */
  CliServer(Path dir, @Nullable String key) throws IOException {
    this(ServerConfig.defaults(dir), key);
  }

  private CliServer(ServerConfig config, @Nullable String key) throws IOException {
    ServerConfig anywhere = config.withListen(ListenConfig.ANYWHERE);
    this.server = SluiceServer.start(key == null ? anywhere : anywhere.withBootstrapKey(key));
    this.key = key;
  }

  /** With the budgets of a file. */
  static CliServer governed(Path dir, Path budgets) throws IOException {
    return new CliServer(ServerConfig.defaults(dir).withGovernorFile(budgets), null);
  }

  /** With the budgets of a file, kept in Redis. */
  static CliServer governed(Path dir, Path budgets, RedisConfig redis) throws IOException {
    return new CliServer(
        ServerConfig.defaults(dir).withGovernorFile(budgets).withRedis(redis), null);
  }

  String address() {
    return "127.0.0.1:" + server.grpcPort();
  }

  int httpPort() {
    return server.httpPort();
  }

  Map<String, String> environment() {
    Map<String, String> environment = new HashMap<>();
    environment.put(ConnectionOptions.ADDRESS_VARIABLE, address());
    if (key != null) {
      environment.put(ConnectionOptions.KEY_VARIABLE, key);
    }
    return environment;
  }

  Cli run(String... args) {
    return run(new Cli.Setting(), args);
  }

  Cli run(Cli.Setting setting, String... args) {
    return Cli.run(setting.environment(environment()), args);
  }

  /** Runs a command that must succeed and returns its output. */
  String ok(String... args) {
    Cli cli = run(args);
    assertThat(cli.err()).isEmpty();
    assertThat(cli.exitCode()).isZero();
    return cli.out();
  }

  /** The objects it prints, one a line, if all goes well. */
  List<Map<String, Object>> json(String... args) {
    return ok(args).lines().map(JsonReader::readObject).toList();
  }

  /** Runs a command that must fail with this exit code and returns its error message. */
  String fails(int exitCode, String... args) {
    Cli cli = run(args);
    assertThat(cli.out()).isEmpty();
    assertThat(cli.exitCode()).as(cli.err()).isEqualTo(exitCode);
    return cli.err();
  }

  @Override
  public void close() {
    server.close();
  }
}
