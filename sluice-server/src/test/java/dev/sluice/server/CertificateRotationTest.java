package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.sluice.proto.v1.ConsumeRequest;
import dev.sluice.proto.v1.ConsumeResponse;
import dev.sluice.proto.v1.CreateQueueRequest;
import dev.sluice.proto.v1.Delivery;
import dev.sluice.proto.v1.EnqueueRequest;
import dev.sluice.proto.v1.ListQueuesRequest;
import dev.sluice.proto.v1.Message;
import dev.sluice.proto.v1.QueuesGrpc;
import dev.sluice.proto.v1.Settlement;
import dev.sluice.server.TestCertificates.Issued;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.shaded.io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.netty.handler.ssl.SslContextBuilder;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import javax.net.ssl.SSLSocket;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Certificates that are replaced under a server with open connections. */
@Timeout(300)
final class CertificateRotationTest {
  private static final int STREAMS = 1_000;
  private static final int CONNECTIONS = 50;
  private static final int HTTP_CONNECTIONS = 20;

  @TempDir private Path dir;
  private final List<ManagedChannel> channels = new ArrayList<>();
  private TestCertificates issuer;
  private Issued ca;
  private Issued first;
  private Issued second;
  private Path certificate;
  private Path key;
  private Path clientCa;
  private @Nullable SluiceServer server;

  @BeforeEach
  void issue() throws Exception {
    issuer = new TestCertificates(dir);
    ca = issuer.authority("ca");
    first = issuer.server(ca, "first");
    second = issuer.server(ca, "second");
    certificate = dir.resolve("live.pem");
    key = dir.resolve("live.key");
    clientCa = dir.resolve("live-ca.pem");
    install(first);
    replace(ca.certificate(), clientCa);
  }

  @AfterEach
  void stop() {
    channels.forEach(ManagedChannel::shutdownNow);
    if (server != null) {
      server.close();
    }
  }

  private void install(Issued issued) throws IOException {
    replace(issued.certificate(), certificate);
    replace(issued.key(), key);
  }

  private static void replace(Path from, Path to) throws IOException {
    Files.copy(from, to, StandardCopyOption.REPLACE_EXISTING);
  }

  private SluiceServer start(@Nullable Path authority) throws IOException {
    SluiceServer started =
        SluiceServer.start(
            ServerConfig.defaults(dir.resolve("data"))
                .withListen(ListenConfig.ANYWHERE)
                .withTls(new TlsConfig(certificate, key, authority)));
    server = started;
    return started;
  }

  private ManagedChannel channel(SluiceServer to, @Nullable Issued identity) throws IOException {
    SslContextBuilder context = GrpcSslContexts.forClient().trustManager(ca.certificate().toFile());
    if (identity != null) {
      context.keyManager(identity.certificate().toFile(), identity.key().toFile());
    }
    ManagedChannel channel =
        NettyChannelBuilder.forAddress("127.0.0.1", to.grpcPort())
            .sslContext(context.build())
            .build();
    channels.add(channel);
    return channel;
  }

  private static BigInteger serial(Issued issued) throws Exception {
    return TlsProbe.certificate(issued.certificate()).getSerialNumber();
  }

  private void assertShown(SluiceServer by, Issued expected) throws Exception {
    TlsProbe probe = TlsProbe.of(ca.certificate(), null);
    assertThat(probe.shown(by.grpcPort()).getSerialNumber()).isEqualTo(serial(expected));
    assertThat(probe.shown(by.httpPort()).getSerialNumber()).isEqualTo(serial(expected));
  }

  /** A consumer stream with a prefetch of one message. */
  private static final class Worker {
    final Recorded<ConsumeResponse> answers = new Recorded<>();
    final StreamObserver<ConsumeRequest> requests;
    private @Nullable Delivery held;

    Worker(ManagedChannel channel) {
      requests = QueuesGrpc.newStub(channel).consume(answers);
      requests.onNext(
          ConsumeRequest.newBuilder()
              .setOpen(ConsumeRequest.Open.newBuilder().setQueue("q").setPrefetch(1))
              .build());
    }

    void awaitOpen() throws InterruptedException {
      assertThat(answers.next().hasOpened()).isTrue();
    }

    void take() throws InterruptedException {
      held = answers.next().getDeliveries().getDeliveries(0);
    }

    void ack() throws InterruptedException {
      assertThat(held).isNotNull();
      requests.onNext(
          ConsumeRequest.newBuilder()
              .setSettle(
                  ConsumeRequest.Settlements.newBuilder()
                      .addSettlements(
                          Settlement.newBuilder()
                              .setId(held.getId())
                              .setLeaseToken(held.getLeaseToken())
                              .setAck(Settlement.Ack.getDefaultInstance())))
              .build());
      assertThat(answers.next().getSettled().getFailuresList()).isEmpty();
    }
  }

  private static void enqueue(ManagedChannel channel) {
    Message message = Message.newBuilder().setPayload(ByteString.copyFromUtf8("x")).build();
    EnqueueRequest.Builder request = EnqueueRequest.newBuilder().setQueue("q");
    for (int i = 0; i < STREAMS; i++) {
      request.addMessages(message);
    }
    QueuesGrpc.newBlockingStub(channel).enqueue(request.build());
  }

  @Test
  void reload_thousandOpenStreams_noneIsDropped() throws Exception {
    SluiceServer running = start(null);
    List<ManagedChannel> connections = new ArrayList<>();
    for (int i = 0; i < CONNECTIONS; i++) {
      connections.add(channel(running, null));
    }
    QueuesGrpc.newBlockingStub(connections.get(0))
        .createQueue(CreateQueueRequest.newBuilder().setName("q").build());
    List<Worker> workers = new ArrayList<>();
    for (int i = 0; i < STREAMS; i++) {
      workers.add(new Worker(connections.get(i % CONNECTIONS)));
    }
    List<SSLSocket> http = new ArrayList<>();
    TlsProbe probe = TlsProbe.of(ca.certificate(), null);
    for (int i = 0; i < HTTP_CONNECTIONS; i++) {
      http.add(probe.connect(running.httpPort()));
      assertThat(TlsProbe.ask(http.get(i))).contains("200");
    }
    for (Worker worker : workers) {
      worker.awaitOpen();
    }
    enqueue(connections.get(0));
    for (Worker worker : workers) {
      worker.take();
    }
    int open = running.grpcConnections();
    assertThat(open).isGreaterThanOrEqualTo(CONNECTIONS);

    for (Issued next : List.of(second, issuer.server(ca, "third"), issuer.server(ca, "fourth"))) {
      install(next);
      running.reload();
      assertShown(running, next);
    }

    assertThat(running.openStreams()).isEqualTo(STREAMS);
    for (Worker worker : workers) {
      worker.ack();
    }
    enqueue(connections.get(CONNECTIONS - 1));
    for (Worker worker : workers) {
      worker.take();
    }
    for (SSLSocket socket : http) {
      assertThat(TlsProbe.ask(socket)).contains("200");
      socket.close();
    }
  }

  @Test
  void reload_invalidFiles_changeNothingAndReportTheReason() throws Exception {
    SluiceServer running = start(clientCa);
    Path garbage = Files.writeString(dir.resolve("garbage"), "-----BEGIN nothing");
    Issued expired = issuer.expired(ca, "expired");
    Issued known = issuer.server(ca, "known");

    assertRefused(running, garbage, certificate, "PEM certificates: " + certificate);
    assertRefused(
        running, second.certificate(), certificate, "must be that of the tls certificate");
    assertRefused(running, garbage, key, "an unencrypted PEM key in PKCS #8");
    assertRefused(running, garbage, clientCa, "PEM certificates: " + clientCa);
    install(expired);
    assertNotReloaded(running, "the tls certificate must be valid now: from ");
    Files.delete(certificate);
    assertNotReloaded(running, "the tls certificate does not exist: " + certificate);

    TlsProbe probe = TlsProbe.of(ca.certificate(), known);
    assertThat(probe.shown(running.grpcPort()).getSerialNumber()).isEqualTo(serial(first));
    assertThat(probe.shown(running.httpPort()).getSerialNumber()).isEqualTo(serial(first));
    install(second);
    running.reload();
    TlsProbe after = TlsProbe.of(ca.certificate(), known);
    assertThat(after.shown(running.grpcPort()).getSerialNumber()).isEqualTo(serial(second));
    assertThat(after.shown(running.httpPort()).getSerialNumber()).isEqualTo(serial(second));
  }

  private void assertRefused(SluiceServer running, Path bad, Path place, String reason)
      throws Exception {
    replace(bad, place);
    assertNotReloaded(running, reason);
    install(first);
    replace(ca.certificate(), clientCa);
  }

  private static void assertNotReloaded(SluiceServer running, String reason) {
    try (CapturedLog log = new CapturedLog()) {
      running.reload();
      assertThat(log.text())
          .contains("reload failed; the previous version stays in use")
          .contains("name=\"tls.cert_file\"", reason)
          .doesNotContain("\tat ");
    }
  }

  @Test
  void reload_clientAuthority_appliesToNewConnections_alsoToResumedSessions() throws Exception {
    Issued otherCa = issuer.authority("other-ca");
    Issued known = issuer.server(ca, "known");
    Issued other = issuer.server(otherCa, "other");
    SluiceServer running = start(clientCa);
    ManagedChannel open = channel(running, known);
    QueuesGrpc.newBlockingStub(open)
        .createQueue(CreateQueueRequest.newBuilder().setName("q").build());
    Worker worker = new Worker(open);
    worker.awaitOpen();
    TlsProbe probe = TlsProbe.of(ca.certificate(), known);
    SSLSocket socket = probe.connect(running.httpPort());
    assertThat(TlsProbe.ask(socket)).contains("200");
    assertThatThrownBy(() -> call(channel(running, other)))
        .isInstanceOf(StatusRuntimeException.class);

    replace(otherCa.certificate(), clientCa);
    running.reload();

    call(channel(running, other));
    TlsProbe welcome = TlsProbe.of(ca.certificate(), other);
    try (SSLSocket another = welcome.connect(running.httpPort())) {
      assertThat(TlsProbe.ask(another)).contains("200");
    }
    assertThatThrownBy(() -> call(channel(running, known)))
        .isInstanceOf(StatusRuntimeException.class);
    assertThatThrownBy(
            () -> {
              try (SSLSocket resumed = probe.connect(running.httpPort())) {
                TlsProbe.ask(resumed);
              }
            })
        .isInstanceOf(IOException.class);
    assertThat(TlsProbe.ask(socket)).contains("200");
    socket.close();
    enqueue(open);
    worker.take();
    worker.ack();
  }

  private static void call(ManagedChannel channel) {
    var unused =
        QueuesGrpc.newBlockingStub(channel).listQueues(ListQueuesRequest.getDefaultInstance());
  }

  @Test
  void changedFiles_areReloadedWithoutASignal() throws Exception {
    SluiceServer running = start(null);
    assertShown(running, first);
    install(second);
    await().atMost(Duration.ofSeconds(60)).untilAsserted(() -> assertShown(running, second));
  }
}
