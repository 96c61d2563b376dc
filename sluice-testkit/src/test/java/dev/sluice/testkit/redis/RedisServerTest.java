package dev.sluice.testkit.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.sluice.testkit.Await;
import dev.sluice.testkit.Programs;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.List;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Tag("any-jdk")
@Timeout(60)
class RedisServerTest {
  private static final long HOUR_MICROS = 3_600_000_000L;
  private static final long SLACK_MICROS = 60_000_000L;

  @Test
  void command_everyKindOfAnswer() {
    try (RedisServer server = RedisServer.start()) {
      assertThat(server.command("SET", "k", "grüße\r\n")).isEqualTo("OK");
      assertThat(server.command("GET", "k")).isEqualTo("grüße\r\n");
      assertThat(server.command("GET", "none")).isNull();
      assertThat(server.command("INCR", "n")).isEqualTo(1L);
      assertThat(server.command("MGET", "n", "none")).isEqualTo(Arrays.asList("1", null));
      assertThat(server.command("KEYS", "none*")).isEqualTo(List.of());
      assertThatThrownBy(() -> server.command("INCR", "k")).hasMessageContaining("not an integer");
    }
  }

  @Test
  void close_leavesNeitherProcessNorFolder() {
    RedisServer server = RedisServer.start();
    ProcessHandle process = ProcessHandle.of(server.pid()).orElseThrow();
    List<ProcessHandle> children = process.children().toList();
    assertThat(process.info().command()).hasValueSatisfying(c -> assertThat(c).contains("redis"));
    assertThat(children).as("the watcher").hasSize(1);

    server.close();
    assertThat(process.isAlive()).isFalse();
    assertThat(server.dir()).doesNotExist();
    Await.until(
        () -> "the end of the watcher",
        Duration.ofSeconds(10),
        () -> children.stream().noneMatch(child -> Processes.runs(child.pid())));
    server.close();
  }

  @Test
  void kill_refusesThenRestartOnTheSamePortIsEmpty() {
    try (RedisServer server = RedisServer.start()) {
      server.command("SET", "k", "v");
      String uri = server.uri();
      server.kill();
      assertThat(server.isAlive()).isFalse();
      assertThatThrownBy(() -> server.command("PING")).isInstanceOf(UncheckedIOException.class);
      server.restart();
      assertThat(server.uri()).isEqualTo(uri).isEqualTo("redis://127.0.0.1:" + server.port());
      assertThat(server.command("GET", "k")).isNull();
    }
  }

  @Test
  void restart_keepsData_andRestartEmptyDropsIt() {
    try (RedisServer server = RedisServer.builder().data().start()) {
      server.command("SET", "k", "v");
      server.restart();
      assertThat(server.command("GET", "k")).isEqualTo("v");
      server.restartEmpty();
      assertThat(server.command("GET", "k")).isNull();
      server.command("SET", "k", "w");
      server.kill();
      server.restart();
      assertThat(server.command("GET", "k")).isEqualTo("w");
    }
  }

  @Test
  void pause_answersOnlyAfterResume() throws Exception {
    try (RedisServer server = RedisServer.start();
        Socket socket = new Socket(RedisConsole.loopback(), server.port())) {
      server.pause();
      socket.getOutputStream().write("PING\r\n".getBytes(StandardCharsets.US_ASCII));
      assertThat(server.isAlive()).isTrue();
      assertThat(socket.getInputStream().available()).isZero();
      server.resume();
      assertThat(socket.getInputStream().readNBytes(7)).asString().isEqualTo("+PONG\r\n");
      server.pause();
    }
  }

  @Test
  void password_isRequired() {
    try (RedisServer server = RedisServer.builder().password("secret").start()) {
      RedisConsole stranger = new RedisConsole(server.port(), List.of());
      assertThatThrownBy(() -> stranger.command(List.of("PING"))).hasMessageContaining("NOAUTH");
      assertThat(server.command("PING")).isEqualTo("PONG");
      assertThat(server.uri()).isEqualTo("redis://:secret@127.0.0.1:" + server.port());
    }
  }

  @Test
  void password_ofAUser() {
    try (RedisServer server = RedisServer.builder().password("alice", "secret").start()) {
      assertThat(server.command("ACL", "WHOAMI")).isEqualTo("alice");
      RedisConsole stranger = new RedisConsole(server.port(), List.of("default", ""));
      assertThatThrownBy(() -> stranger.command(List.of("PING"))).hasMessageContaining("WRONGPASS");
      assertThat(server.uri()).isEqualTo("redis://alice:secret@127.0.0.1:" + server.port());
    }
  }

  @Test
  void tls_certificateIsForTheLoopbackAddress() throws Exception {
    try (RedisServer server = RedisServer.builder().tls().start()) {
      assertThat(server.uri()).isEqualTo("rediss://127.0.0.1:" + server.tlsPort());
      try (SSLSocket socket =
          (SSLSocket)
              trusting(server).getSocketFactory().createSocket("127.0.0.1", server.tlsPort())) {
        SSLParameters parameters = socket.getSSLParameters();
        parameters.setEndpointIdentificationAlgorithm("HTTPS");
        socket.setSSLParameters(parameters);
        OutputStream out = socket.getOutputStream();
        out.write("PING\r\n".getBytes(StandardCharsets.US_ASCII));
        out.flush();
        assertThat(socket.getInputStream().readNBytes(7)).asString().isEqualTo("+PONG\r\n");
      }
    }
  }

  private static SSLContext trusting(RedisServer server) throws Exception {
    KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
    trusted.load(null, null);
    try (InputStream pem = Files.newInputStream(server.certificate())) {
      trusted.setCertificateEntry(
          "redis", CertificateFactory.getInstance("X.509").generateCertificate(pem));
    }
    TrustManagerFactory managers =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    managers.init(trusted);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, managers.getTrustManagers(), null);
    return context;
  }

  @Test
  void clockOffset_isTheServersTimeAndCanBeSet() {
    try (RedisServer server = RedisServer.builder().clockOffset(Duration.ofHours(-1)).start()) {
      assertThat(server.micros()).isCloseTo(now() - HOUR_MICROS, within(SLACK_MICROS));
      server.clockOffset(Duration.ofHours(1));
      assertThat(server.micros()).isCloseTo(now() + HOUR_MICROS, within(SLACK_MICROS));
      assertThat(server.command("EVAL", "return redis.call('TIME')[1]", "0").toString())
          .isGreaterThan(Long.toString(now() / 1_000_000 + 3000));
      // Expiry follows the wrong clock, waiting the right one.
      server.command("SET", "k", "v", "PX", "1");
      Await.until(
          () -> "the end of k", Duration.ofSeconds(10), () -> server.command("GET", "k") == null);
      assertThat(server.command("BLPOP", "none", "0.05")).isNull();
      server.restart();
      assertThat(server.micros()).isCloseTo(now() + HOUR_MICROS, within(SLACK_MICROS));
      server.pause();
      server.kill();
      assertThat(server.isAlive()).isFalse();
    }
  }

  @Test
  void micros_isTheTimeOfDay() {
    try (RedisServer server = RedisServer.start()) {
      assertThat(server.micros()).isCloseTo(now(), within(SLACK_MICROS));
      assertThatThrownBy(() -> server.clockOffset(Duration.ZERO))
          .hasMessageContaining("without clockOffset()");
    }
  }

  private static long now() {
    return ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
  }

  @Test
  void replicaOf_replicatesThePrimary() {
    try (RedisServer primary = RedisServer.builder().password("alice", "secret").start()) {
      primary.command("SET", "k", "v");
      try (RedisServer replica = RedisServer.builder().replicaOf(primary).start()) {
        assertThat(replica.command("GET", "k")).isEqualTo("v");
        assertThatThrownBy(() -> replica.command("SET", "k", "w")).hasMessageContaining("READONLY");
      }
    }
  }

  @Test
  void start_badOption_reportsTheServersMessage() {
    RedisServer.Builder bad = RedisServer.builder().config("maxmemory", "plenty");
    assertThatThrownBy(bad::start)
        .hasMessageContaining("ended as it started")
        .hasMessageContaining("plenty");
  }

  @Test
  void find_missingProgram_namesTheCommandThatInstallsIt() {
    assertThatThrownBy(() -> Programs.find("redis-server", "/nowhere:/proc"))
        .isInstanceOf(IllegalStateException.class)
        .hasMessage("redis-server is not on the PATH: ./test installs it");
  }

  @Test
  void start_portTakenByAnotherIsNoticed() {
    try (RedisServer first = RedisServer.start()) {
      RedisServer.Builder second =
          RedisServer.builder().config("port", Integer.toString(first.port()));
      assertThatThrownBy(second::start).isInstanceOf(RedisProcess.PortTakenException.class);
      assertThat(first.command("PING")).isEqualTo("PONG");
    }
  }
}
