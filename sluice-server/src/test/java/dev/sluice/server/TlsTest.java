package dev.sluice.server;

import static dev.sluice.server.TestServer.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.sluice.proto.v1.ListQueuesRequest;
import dev.sluice.proto.v1.QueuesGrpc;
import dev.sluice.server.TestCertificates.Issued;
import io.grpc.Channel;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.shaded.io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.netty.handler.ssl.SslContextBuilder;
import io.grpc.stub.AbstractStub;
import io.grpc.stub.MetadataUtils;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The clients that are accepted and refused over TLS, in both protocols. */
@Timeout(60)
final class TlsTest {
  private static final String KEY = "key-for-tests";

  @TempDir private static Path certificates;
  private static Issued ca;
  private static Issued otherCa;
  private static Issued good;
  private static Issued expired;
  private static Issued elsewhere;
  private static Issued client;
  private static Issued expiredClient;
  private static Issued stranger;

  @TempDir private Path dir;
  private final List<ManagedChannel> channels = new ArrayList<>();
  private @Nullable SluiceServer server;

  /** How a client of either wire is set up: whom it trusts, and what it shows. */
  private record Client(@Nullable Issued trust, @Nullable Issued identity) {}

  @BeforeAll
  static void issue() throws Exception {
    TestCertificates issuer = new TestCertificates(certificates);
    ca = issuer.authority("ca");
    otherCa = issuer.authority("other-ca");
    good = issuer.server(ca, "good");
    expired = issuer.expired(ca, "expired");
    elsewhere = issuer.elsewhere(ca, "elsewhere");
    client = issuer.server(ca, "client");
    expiredClient = issuer.expired(ca, "expired-client");
    stranger = issuer.server(otherCa, "stranger");
  }

  @AfterEach
  void stop() {
    channels.forEach(ManagedChannel::shutdownNow);
    if (server != null) {
      server.close();
    }
  }

  private ServerConfig config() {
    return ServerConfig.defaults(dir.resolve("data")).withListen(ListenConfig.ANYWHERE);
  }

  private SluiceServer start(ServerConfig config) throws IOException {
    server = SluiceServer.start(config);
    return server;
  }

  private SluiceServer start(Issued shown, @Nullable Issued clientCa) throws IOException {
    return start(config().withTls(tls(shown, clientCa)));
  }

  private static TlsConfig tls(Issued shown, @Nullable Issued clientCa) {
    return new TlsConfig(
        shown.certificate(), shown.key(), clientCa == null ? null : clientCa.certificate());
  }

  /** A client without trust calls in plain text. */
  private Channel channel(Client client) throws IOException {
    NettyChannelBuilder builder = NettyChannelBuilder.forAddress("127.0.0.1", running().grpcPort());
    if (client.trust() == null) {
      builder.usePlaintext();
    } else {
      SslContextBuilder context =
          GrpcSslContexts.forClient().trustManager(client.trust().certificate().toFile());
      if (client.identity() != null) {
        context.keyManager(
            client.identity().certificate().toFile(), client.identity().key().toFile());
      }
      builder.sslContext(context.build());
    }
    ManagedChannel channel = builder.build();
    channels.add(channel);
    return channel;
  }

  private SluiceServer running() {
    if (server == null) {
      throw new IllegalStateException("not started");
    }
    return server;
  }

  private Status.Code grpc(Client client) throws IOException {
    try {
      var queues = QueuesGrpc.newBlockingStub(channel(client));
      assertThat(queues.listQueues(ListQueuesRequest.getDefaultInstance())).isNotNull();
      return Status.Code.OK;
    } catch (StatusRuntimeException refused) {
      return refused.getStatus().getCode();
    }
  }

  private HttpResponse<String> get(Client client, String path, String... headers) throws Exception {
    HttpClient.Builder builder = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1);
    if (client.trust() != null) {
      builder.sslContext(context(client));
    }
    String scheme = client.trust() == null ? "http" : "https";
    URI uri = URI.create(scheme + "://127.0.0.1:" + running().httpPort() + path);
    HttpRequest.Builder request = HttpRequest.newBuilder(uri).timeout(Duration.ofSeconds(20));
    if (headers.length > 0) {
      request.headers(headers);
    }
    return builder.build().send(request.build(), BodyHandlers.ofString());
  }

  private static SSLContext context(Client client) throws Exception {
    KeyStore trust = KeyStore.getInstance("PKCS12");
    trust.load(null, null);
    if (client.trust() != null) {
      trust.setCertificateEntry("ca", certificate(client.trust()));
    }
    TrustManagerFactory trusted =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trusted.init(trust);
    KeyStore shown = KeyStore.getInstance("PKCS12");
    shown.load(null, null);
    if (client.identity() != null) {
      X509Certificate[] chain = {certificate(client.identity())};
      shown.setKeyEntry("me", client.identity().keys().getPrivate(), new char[0], chain);
    }
    KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    keys.init(shown, new char[0]);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(keys.getKeyManagers(), trusted.getTrustManagers(), null);
    return context;
  }

  private static X509Certificate certificate(Issued issued) throws Exception {
    try (InputStream in = Files.newInputStream(issued.certificate())) {
      return (X509Certificate) CertificateFactory.getInstance("X.509").generateCertificate(in);
    }
  }

  private void assertWelcome(Client client) throws Exception {
    assertThat(grpc(client)).isEqualTo(Status.Code.OK);
    assertThat(get(client, "/v1/queues").statusCode()).isEqualTo(200);
  }

  private void assertShutOut(Client client) throws Exception {
    assertThat(grpc(client)).isEqualTo(Status.Code.UNAVAILABLE);
    assertThatThrownBy(() -> get(client, "/v1/queues")).isInstanceOf(IOException.class);
  }

  @Test
  void tls_trustedAuthority_isAccepted() throws Exception {
    start(good, null);
    assertWelcome(new Client(ca, null));
    assertWelcome(new Client(ca, client));
    assertWelcome(new Client(ca, stranger));
  }

  @Test
  void tls_plainCallerOrWrongAuthority_isRefused_andDelaysNoOther() throws Exception {
    start(good, null);
    assertShutOut(new Client(null, null));
    assertShutOut(new Client(otherCa, null));
    assertWelcome(new Client(ca, null));
  }

  @Test
  void plain_tlsCaller_isRefused_andDelaysNoOther() throws Exception {
    start(config());
    assertShutOut(new Client(ca, null));
    assertWelcome(new Client(null, null));
  }

  @Test
  void tls_expiredOrForAnotherHost_isRefusedByTheClient() throws Exception {
    start(expired, null);
    assertShutOut(new Client(ca, null));
    running().close();
    start(elsewhere, null);
    assertShutOut(new Client(ca, null));
  }

  @Test
  void mutualTls_onlyCertificatesOfTheAuthority_areAccepted() throws Exception {
    start(good, ca);
    assertShutOut(new Client(null, null));
    assertShutOut(new Client(ca, null));
    assertShutOut(new Client(ca, stranger));
    assertShutOut(new Client(ca, expiredClient));
    assertShutOut(new Client(otherCa, client));
    assertWelcome(new Client(ca, client));
    assertThatThrownBy(() -> get(new Client(ca, null), "/healthz")).isInstanceOf(IOException.class);
  }

  @Test
  void tls_withKeys_requiresBoth() throws Exception {
    start(config().withTls(tls(good, ca)).withBootstrapKey(KEY));
    Client known = new Client(ca, client);
    assertThat(grpc(known)).isEqualTo(Status.Code.UNAUTHENTICATED);
    assertThat(get(known, "/v1/queues").statusCode()).isEqualTo(401);
    assertThat(get(known, "/v1/queues", "Authorization", "Bearer " + KEY).statusCode())
        .isEqualTo(200);
    assertThatThrownBy(
            () -> get(new Client(ca, null), "/v1/queues", "Authorization", "Bearer " + KEY))
        .isInstanceOf(IOException.class);
    var queues = QueuesGrpc.newBlockingStub(channel(known));
    assertThat(withKey(queues, KEY).listQueues(ListQueuesRequest.getDefaultInstance())).isNotNull();
    assertRefused(
        () -> withKey(queues, "wrong").listQueues(ListQueuesRequest.getDefaultInstance()),
        Status.Code.UNAUTHENTICATED,
        "key");
  }

  private static <S extends AbstractStub<S>> S withKey(S stub, String key) {
    Metadata headers = new Metadata();
    headers.put(
        Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER), "Bearer " + key);
    return stub.withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers));
  }

  @Test
  void oldProtocols_areRefusedOnBothWires() throws Exception {
    start(good, null);
    for (int port : new int[] {running().grpcPort(), running().httpPort()}) {
      try (SSLSocket socket =
          (SSLSocket)
              context(new Client(ca, null))
                  .getSocketFactory()
                  .createSocket(InetAddress.getLoopbackAddress(), port)) {
        socket.setEnabledProtocols(new String[] {"TLSv1.1"});
        assertThatThrownBy(socket::startHandshake).isInstanceOf(SSLException.class);
      }
      try (SSLSocket socket =
          (SSLSocket)
              context(new Client(ca, null))
                  .getSocketFactory()
                  .createSocket(InetAddress.getLoopbackAddress(), port)) {
        socket.setEnabledProtocols(new String[] {"TLSv1.2"});
        socket.startHandshake();
        assertThat(socket.getSession().getProtocol()).isEqualTo("TLSv1.2");
      }
    }
  }

  @Test
  void applicationProtocols_offerOnlySupportedOnes() throws Exception {
    start(good, null);
    assertThat(negotiated(running().grpcPort(), "h2", "http/1.1")).isEqualTo("h2");
    assertThat(negotiated(running().httpPort(), "h2", "http/1.1")).isIn("", "http/1.1");
  }

  private String negotiated(int port, String... offered) throws Exception {
    try (SSLSocket socket =
        (SSLSocket)
            context(new Client(ca, null))
                .getSocketFactory()
                .createSocket(InetAddress.getLoopbackAddress(), port)) {
      SSLParameters parameters = socket.getSSLParameters();
      parameters.setApplicationProtocols(offered);
      socket.setSSLParameters(parameters);
      socket.startHandshake();
      return socket.getApplicationProtocol();
    }
  }

  @Test
  void filaClient_overTlsAndMutualTls_worksAsWithout() throws Exception {
    start(good, null);
    assertFilaWorks(new FilaClient(managed(new Client(ca, null))));
    running().close();
    server =
        SluiceServer.start(
            config()
                .withTls(tls(good, ca))
                .withListen(ListenConfig.ANYWHERE)
                .withBootstrapKey(KEY));
    FilaClient keyless = new FilaClient(managed(new Client(ca, client)));
    assertRefused(() -> keyless.create("q"), Status.Code.UNAUTHENTICATED, "key");
    Metadata headers = new Metadata();
    headers.put(
        Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER), "Bearer " + KEY);
    ManagedChannel keyed =
        NettyChannelBuilder.forAddress("127.0.0.1", running().grpcPort())
            .sslContext(
                GrpcSslContexts.forClient()
                    .trustManager(ca.certificate().toFile())
                    .keyManager(client.certificate().toFile(), client.key().toFile())
                    .build())
            .intercept(MetadataUtils.newAttachHeadersInterceptor(headers))
            .build();
    channels.add(keyed);
    FilaClient fila = new FilaClient(keyed);
    fila.create("keyed");
    assertFilaDelivers(fila, "keyed");
  }

  private ManagedChannel managed(Client client) throws IOException {
    return (ManagedChannel) channel(client);
  }

  private static void assertFilaWorks(FilaClient fila) throws Exception {
    fila.create("q");
    assertFilaDelivers(fila, "q");
    assertRefused(() -> fila.enqueue("nowhere", "x"), Status.Code.NOT_FOUND, "nowhere");
  }

  private static void assertFilaDelivers(FilaClient fila, String queue) throws Exception {
    String id = fila.enqueue(queue, "hello");
    FilaClient.Stream stream = fila.consume(queue);
    assertThat(stream.next().getMetadata().getAttemptCount()).isZero();
    fila.nack(queue, id);
    var again = stream.next();
    assertThat(again.getId()).isEqualTo(id);
    assertThat(again.getMetadata().getAttemptCount()).isEqualTo(1);
    fila.ack(queue, id);
    assertThat(fila.stats(queue).getDepth()).isZero();
    stream.cancel();
  }

  @Test
  void waitingCaller_leavingOverTls_isDetected() throws Exception {
    start(good, null);
    HttpClient http =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .sslContext(context(new Client(ca, null)))
            .build();
    URI base = URI.create("https://127.0.0.1:" + running().httpPort());
    var made =
        http.send(
            HttpRequest.newBuilder(base.resolve("/v1/queues"))
                .POST(BodyPublishers.ofString("{\"name\":\"q\"}"))
                .build(),
            BodyHandlers.ofString());
    assertThat(made.statusCode()).isBetween(200, 201);
    String body = "{\"wait_ms\":30000}";
    try (Socket socket =
        context(new Client(ca, null))
            .getSocketFactory()
            .createSocket(InetAddress.getLoopbackAddress(), running().httpPort())) {
      socket
          .getOutputStream()
          .write(
              "POST /v1/queues/q/receive HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s"
                  .formatted(body.length(), body)
                  .getBytes(StandardCharsets.US_ASCII));
      await().until(() -> consumers() == 1);
    }
    await().until(() -> consumers() == 0);
  }

  private int consumers() throws Exception {
    String stats = get(new Client(ca, null), "/v1/queues/q").body();
    return new ObjectMapper().readTree(stats).at("/stats/consumers").asInt(-1);
  }

  @Test
  void bind_elsewhereNeedsKeysOrVerifiedCertificates() throws Exception {
    ListenConfig everywhere = new ListenConfig("0.0.0.0", 0, 0);
    assertThatThrownBy(() -> SluiceServer.start(config().withListen(everywhere)))
        .hasMessageContaining("loopback");
    assertThatThrownBy(
            () -> SluiceServer.start(config().withListen(everywhere).withTls(tls(good, null))))
        .hasMessageContaining("loopback");
    start(config().withListen(everywhere).withTls(tls(good, ca)));
    assertWelcome(new Client(ca, client));
  }

  @Test
  void badFiles_areNamedBeforeAnythingListens() throws Exception {
    Path garbage = Files.writeString(dir.resolve("garbage.pem"), "not a certificate");
    Path broken =
        Files.writeString(
            dir.resolve("broken.pem"),
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    Path badKey =
        Files.writeString(
            dir.resolve("bad.key"),
            "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n");
    Path pkcs1 =
        Files.writeString(
            dir.resolve("pkcs1.key"),
            "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n");
    Path missing = dir.resolve("missing.pem");
    assertNotStarted(new TlsConfig(missing, good.key(), null), "does not exist", missing);
    assertNotStarted(new TlsConfig(good.certificate(), missing, null), "does not exist", missing);
    assertNotStarted(
        new TlsConfig(good.certificate(), good.key(), missing), "does not exist", missing);
    assertNotStarted(new TlsConfig(dir, good.key(), null), "cannot be read", dir);
    assertNotStarted(new TlsConfig(garbage, good.key(), null), "PEM certificates", garbage);
    assertNotStarted(new TlsConfig(broken, good.key(), null), "PEM certificates", broken);
    assertNotStarted(
        new TlsConfig(good.certificate(), good.key(), garbage), "PEM certificates", garbage);
    assertNotStarted(new TlsConfig(good.certificate(), pkcs1, null), "PKCS #1", pkcs1);
    assertNotStarted(new TlsConfig(good.certificate(), badKey, null), "RSA or EC", badKey);
    assertNotStarted(
        new TlsConfig(good.certificate(), client.key(), null), "must be that of", client.key());
    assertThat(dir.resolve("data")).doesNotExist();
  }

  private void assertNotStarted(TlsConfig tls, String words, Path file) {
    assertThatThrownBy(() -> SluiceServer.start(config().withTls(tls)))
        .isInstanceOfAny(IOException.class, IllegalArgumentException.class)
        .hasMessageContaining(words)
        .hasMessageContaining(file.toString());
  }
}
