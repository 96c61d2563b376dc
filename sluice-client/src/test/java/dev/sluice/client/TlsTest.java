package dev.sluice.client;

import static dev.sluice.client.Failures.assertFails;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.client.SluiceClientException.Code;
import dev.sluice.proto.v1.ListQueuesRequest;
import dev.sluice.proto.v1.ListQueuesResponse;
import dev.sluice.proto.v1.QueuesGrpc;
import dev.sluice.server.ListenConfig;
import dev.sluice.server.ServerConfig;
import dev.sluice.server.SluiceServer;
import dev.sluice.server.TlsConfig;
import io.grpc.Grpc;
import io.grpc.Server;
import io.grpc.TlsServerCredentials;
import io.grpc.TlsServerCredentials.ClientAuth;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.time.Duration;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Against a gRPC server with certificates of its own, made here. */
final class TlsTest {
  private static final String PASSWORD = "changeit";

  @TempDir Path dir;

  @Test
  void tls_serverRequiresACertificate_callersWithoutOneAreRefused() throws Exception {
    makeCertificate("server");
    makeCertificate("client");
    Server server =
        Grpc.newServerBuilderForPort(
                0,
                TlsServerCredentials.newBuilder()
                    .keyManager(certificate("server").toFile(), key("server").toFile())
                    .trustManager(certificate("client").toFile())
                    .clientAuth(ClientAuth.REQUIRE)
                    .build())
            .addService(new NoQueues())
            .build()
            .start();
    try (SluiceClient known =
            SluiceClient.builder("127.0.0.1", server.getPort())
                .trust(certificate("server"))
                .identity(certificate("client"), key("client"))
                .build();
        SluiceClient nobody =
            SluiceClient.builder("127.0.0.1", server.getPort())
                .trust(certificate("server"))
                .build();
        SluiceClient careful =
            SluiceClient.builder("127.0.0.1", server.getPort())
                .trust(certificate("client"))
                .identity(certificate("client"), key("client"))
                .build();
        SluiceClient plain = SluiceClient.connect("127.0.0.1", server.getPort())) {
      assertThat(known.queues()).isEmpty();
      assertFails(Code.UNAVAILABLE, nobody::queues);
      assertFails(Code.UNAVAILABLE, careful::queues);
      assertFails(Code.UNAVAILABLE, plain::queues);
    } finally {
      server.shutdownNow();
    }
  }

  @Test
  void tls_realServerWithKeys_needsCertificateAndKey() throws Exception {
    makeCertificate("server");
    makeCertificate("client");
    for (Path clientCa : Arrays.asList(null, certificate("client"))) {
      ServerConfig config =
          ServerConfig.defaults(dir.resolve("data" + (clientCa == null ? "" : "-mutual")))
              .withListen(ListenConfig.ANYWHERE)
              .withBootstrapKey("key")
              .withTls(new TlsConfig(certificate("server"), key("server"), clientCa));
      try (SluiceServer server = SluiceServer.start(config);
          SluiceClient known = known(server).apiKey("key").build();
          SluiceClient wrongKey = known(server).apiKey("wrong").build();
          SluiceClient noKey = known(server).build();
          SluiceClient bare =
              SluiceClient.builder("127.0.0.1", server.grpcPort())
                  .trust(certificate("server"))
                  .apiKey("key")
                  .build();
          SluiceClient plain =
              SluiceClient.builder("127.0.0.1", server.grpcPort()).apiKey("key").build()) {
        known.createQueue("q", QueueConfig.defaults());
        try (Producer producer = known.producer("q", ProducerConfig.defaults());
            MessageConsumer received = known.consume("q", 256)) {
          assertThat(producer.send(Message.of("x")).join()).isNotEmpty();
          received.poll(1, Duration.ofSeconds(10)).get(0).ack().join();
        }
        assertThat(known.queue("q").depth()).isZero();
        assertFails(Code.UNAUTHENTICATED, wrongKey::queues);
        assertFails(Code.UNAUTHENTICATED, noKey::queues);
        assertFails(Code.UNAVAILABLE, plain::queues);
        if (clientCa == null) {
          assertThat(bare.queues()).isNotEmpty();
        } else {
          assertFails(Code.UNAVAILABLE, bare::queues);
        }
      }
    }
  }

  private SluiceClientBuilder known(SluiceServer server) {
    return SluiceClient.builder("127.0.0.1", server.grpcPort())
        .trust(certificate("server"))
        .identity(certificate("client"), key("client"));
  }

  /** A server with nothing on it. */
  private static final class NoQueues extends QueuesGrpc.QueuesImplBase {
    @Override
    public void listQueues(ListQueuesRequest request, StreamObserver<ListQueuesResponse> call) {
      call.onNext(ListQueuesResponse.getDefaultInstance());
      call.onCompleted();
    }
  }

  private Path certificate(String name) {
    return dir.resolve(name + ".pem");
  }

  private Path key(String name) {
    return dir.resolve(name + ".key");
  }

  private void makeCertificate(String name) throws Exception {
    Path store = dir.resolve(name + ".p12");
    Path keytool = Path.of(System.getProperty("java.home"), "bin", "keytool");
    List<String> command =
        List.of(
            keytool.toString(),
            "-genkeypair",
            "-alias",
            name,
            "-keyalg",
            "EC",
            "-dname",
            "CN=" + name,
            "-ext",
            "san=ip:127.0.0.1",
            "-storetype",
            "PKCS12",
            "-keystore",
            store.toString(),
            "-storepass",
            PASSWORD);
    Process made = new ProcessBuilder(command).redirectErrorStream(true).start();
    String said = new String(made.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(made.waitFor()).as(said).isZero();
    KeyStore keys = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(store)) {
      keys.load(in, PASSWORD.toCharArray());
    }
    writePem(certificate(name), "CERTIFICATE", keys.getCertificate(name).getEncoded());
    writePem(key(name), "PRIVATE KEY", keys.getKey(name, PASSWORD.toCharArray()).getEncoded());
  }

  private static void writePem(Path file, String kind, byte[] bytes) throws IOException {
    Files.writeString(
        file,
        "-----BEGIN %s-----%n%s%n-----END %s-----%n"
            .formatted(kind, Base64.getMimeEncoder().encodeToString(bytes), kind));
  }
}
