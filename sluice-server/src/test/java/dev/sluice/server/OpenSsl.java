package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;

/** Makes keys and certificates as users do, with the command {@code openssl}. */
final class OpenSsl {
  static final String PASSPHRASE = "a secret";

  private final Path dir;

  OpenSsl(Path dir) {
    this.dir = dir;
  }

  /** Runs a shell command line in the directory; fails if the command does. */
  void run(String commandLine) throws Exception {
    Process process =
        new ProcessBuilder(List.of("sh", "-c", commandLine))
            .directory(dir.toFile())
            .redirectErrorStream(true)
            .start();
    process.getOutputStream().close();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor()).as("%s: %s", commandLine, output).isZero();
  }

  /** Writes a self-signed certificate for this machine. */
  Path certificate(Path key, String name) throws Exception {
    run(
        "openssl req -x509 -key '%s' -days 1 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1,DNS:localhost -out %s"
            .formatted(key, name));
    return dir.resolve(name);
  }
}
