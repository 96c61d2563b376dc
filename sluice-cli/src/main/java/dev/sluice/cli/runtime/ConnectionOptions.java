package dev.sluice.cli.runtime;

import dev.sluice.cli.text.FileErrors;
import dev.sluice.cli.text.InvalidInputException;
import dev.sluice.cli.text.Quoting;
import dev.sluice.client.SluiceClient;
import dev.sluice.client.SluiceClientBuilder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options of a connection: address, API key, TLS, timeout. */
public final class ConnectionOptions {
  public static final String ADDRESS_VARIABLE = "SLUICE_ADDRESS";
  public static final String KEY_VARIABLE = "SLUICE_API_KEY";
  private static final String DEFAULT_ADDRESS = "127.0.0.1:5555";
  private static final int MAX_PORT = 65_535;

  @Option(
      names = "--server",
      paramLabel = "HOST:PORT",
      description = "The server's gRPC address. Default: SLUICE_ADDRESS, else 127.0.0.1:5555.")
  private @Nullable String server;

  @Option(
      names = "--api-key",
      paramLabel = "KEY",
      description = "The API key. Default: SLUICE_API_KEY. The process list shows it to others.")
  private @Nullable String apiKey;

  @Option(names = "--api-key-file", paramLabel = "FILE", description = "A file with the API key.")
  private @Nullable Path apiKeyFile;

  @Option(names = "--tls", description = "Use TLS.")
  private boolean tls;

  @Option(
      names = "--tls-ca",
      paramLabel = "FILE",
      description = "Use TLS and trust the certificates in this PEM file.")
  private @Nullable Path tlsCa;

  @Option(
      names = "--tls-cert",
      paramLabel = "FILE",
      description = "Use TLS with the client certificate in this PEM file.")
  private @Nullable Path tlsCert;

  @Option(
      names = "--tls-key",
      paramLabel = "FILE",
      description = "The private key of --tls-cert: unencrypted PEM, RSA or EC.")
  private @Nullable Path tlsKey;

  @Option(
      names = "--timeout",
      paramLabel = "DURATION",
      converter = OptionConverters.PeriodConverter.class,
      description = "The longest wait for a response. Default: 30s.")
  private Duration timeout = Duration.ofSeconds(30);

  /** Returns whether the command line has --server. */
  public boolean given() {
    return server != null;
  }

  boolean overTls() {
    return tls || tlsCa != null || tlsCert != null;
  }

  /** Returns the address for messages. */
  public String address(Map<String, String> environment) {
    return server != null ? server : environment.getOrDefault(ADDRESS_VARIABLE, DEFAULT_ADDRESS);
  }

  boolean hasKey(Map<String, String> environment) {
    return apiKey != null || apiKeyFile != null || environment.containsKey(KEY_VARIABLE);
  }

  /** Returns a client, which connects on first use. */
  public SluiceClient connect(Map<String, String> environment) {
    String address = address(environment);
    int colon = address.lastIndexOf(':');
    String host = colon < 0 ? "" : address.substring(0, colon);
    int port = colon < 0 ? 0 : port(address.substring(colon + 1));
    if (host.isBlank() || port < 1 || port > MAX_PORT) {
      throw new InvalidInputException(
          "%s must be HOST:PORT with a port from 1 to %d, but was %s"
              .formatted(
                  server == null ? ADDRESS_VARIABLE : "--server", MAX_PORT, Quoting.of(address)));
    }
    SluiceClientBuilder builder = SluiceClient.builder(host, port).callTimeout(timeout);
    try {
      authenticate(builder, environment);
      secure(builder);
      return builder.build();
    } catch (IllegalArgumentException invalid) {
      throw new InvalidInputException(String.valueOf(invalid.getMessage()));
    }
  }

  private static int port(String text) {
    return text.matches("[0-9]{1,5}") ? Integer.parseInt(text) : 0;
  }

  private void authenticate(SluiceClientBuilder builder, Map<String, String> environment) {
    if (apiKey != null && apiKeyFile != null) {
      throw new InvalidInputException("--api-key and --api-key-file cannot be combined");
    }
    String key = apiKeyFile == null ? apiKey : read(apiKeyFile);
    String used = key == null ? environment.get(KEY_VARIABLE) : key;
    if (used != null) {
      builder.apiKey(used);
    }
  }

  private static String read(Path file) {
    try {
      return Files.readString(file).strip();
    } catch (IOException unreadable) {
      throw FileErrors.cannotRead(file.toString(), unreadable);
    }
  }

  private void secure(SluiceClientBuilder builder) {
    if ((tlsCert == null) != (tlsKey == null)) {
      throw new InvalidInputException("--tls-cert and --tls-key require each other");
    }
    if (tls) {
      builder.tls();
    }
    if (tlsCa != null) {
      builder.trust(tlsCa);
    }
    if (tlsCert != null && tlsKey != null) {
      builder.identity(tlsCert, tlsKey);
    }
  }
}
