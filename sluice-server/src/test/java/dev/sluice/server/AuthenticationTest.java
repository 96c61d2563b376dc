package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.proto.v1.AdminGrpc;
import dev.sluice.proto.v1.CreateApiKeyResponse;
import dev.sluice.proto.v1.GetServerInfoRequest;
import dev.sluice.proto.v1.LimitsGrpc;
import dev.sluice.proto.v1.ListApiKeysRequest;
import dev.sluice.proto.v1.QueuesGrpc;
import dev.sluice.server.auth.ApiKeyStore;
import dev.sluice.server.auth.ApiKeyTokens;
import dev.sluice.server.fila.v1.FilaAdminGrpc;
import dev.sluice.server.fila.v1.FilaServiceGrpc;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.PrototypeMarshaller;
import io.grpc.Status;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class AuthenticationTest {
  @TempDir Path dir;

  @Test
  void everyMethod_needsAKey() throws Exception {
    try (KeyedServer server = new KeyedServer(dir)) {
      List<MethodDescriptor<?, ?>> methods =
          Stream.of(
                  QueuesGrpc.getServiceDescriptor(),
                  LimitsGrpc.getServiceDescriptor(),
                  AdminGrpc.getServiceDescriptor(),
                  FilaServiceGrpc.getServiceDescriptor(),
                  FilaAdminGrpc.getServiceDescriptor())
              .<MethodDescriptor<?, ?>>flatMap(service -> service.getMethods().stream())
              .toList();
      assertThat(methods).hasSizeGreaterThan(25);
      for (MethodDescriptor<?, ?> method : methods) {
        assertThat(call(server.with(null), method).getCode())
            .as(method.getFullMethodName())
            .isEqualTo(Status.Code.UNAUTHENTICATED);
      }
    }
  }

  @Test
  void overHttp_malformedKeys_areRefused() throws Exception {
    try (KeyedServer server = new KeyedServer(dir)) {
      String key = KeyedServer.BOOTSTRAP;
      assertThat(raw(server, key.getBytes(StandardCharsets.US_ASCII))).startsWith("HTTP/1.1 200 ");
      for (String more : List.of("ä", "ключ", " x", "\r\n x")) {
        assertThat(raw(server, (key + more).getBytes(StandardCharsets.UTF_8)))
            .as(more)
            .startsWith("HTTP/1.1 401 ")
            .contains("a valid API key is required: authorization: Bearer KEY")
            .doesNotContain(key);
      }
      for (String more : List.of("\0", "\u007f")) {
        assertThat(raw(server, (key + more).getBytes(StandardCharsets.US_ASCII)))
            .startsWith("HTTP/1.1 400 ")
            .contains("the request is not proper HTTP/1.1");
      }
    }
  }

  private static String raw(KeyedServer server, byte[] key) throws IOException {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.httpPort())) {
      OutputStream out = socket.getOutputStream();
      out.write(
          "GET /v1/info HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer "
              .getBytes(StandardCharsets.US_ASCII));
      out.write(key);
      out.write("\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
      return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  private static <Q, A> Status call(Channel channel, MethodDescriptor<Q, A> method)
      throws Exception {
    CompletableFuture<Status> end = new CompletableFuture<>();
    ClientCall<Q, A> call = channel.newCall(method, CallOptions.DEFAULT);
    call.start(
        new ClientCall.Listener<>() {
          @Override
          public void onClose(Status status, Metadata trailers) {
            end.complete(status);
          }
        },
        new Metadata());
    var requests = (PrototypeMarshaller<Q>) method.getRequestMarshaller();
    call.sendMessage(Objects.requireNonNull(requests.getMessagePrototype()));
    call.halfClose();
    call.request(1);
    return end.get(10, TimeUnit.SECONDS);
  }

  @Test
  void everyInvalidKey_getsTheSameAnswer() throws Exception {
    try (KeyedServer server = new KeyedServer(dir)) {
      String valid = server.create("admin:*").getSecret();
      CreateApiKeyResponse revoked = server.create("admin:*");
      server.revoke(revoked.getId());
      List<Status> answers = new ArrayList<>();
      for (String header :
          new @Nullable String[] {
            null,
            "",
            "Bearer",
            "Bearer ",
            "Basic " + valid,
            "Digest " + valid,
            valid,
            "Bearer" + valid,
            "Bearer  " + valid,
            "Bearer " + valid + "0",
            "Bearer " + valid.substring(1),
            "Bearer " + valid.toUpperCase(Locale.ROOT),
            "Bearer " + ApiKeyTokens.hash(valid),
            "Bearer " + KeyedServer.BOOTSTRAP + "x",
            "Bearer " + revoked.getSecret(),
            "Bearer " + revoked.getId(),
            "Bearer " + "x".repeat(4_000)
          }) {
        answers.add(info(server, header));
      }
      assertThat(answers).extracting(Status::getCode).containsOnly(Status.Code.UNAUTHENTICATED);
      assertThat(answers)
          .extracting(Status::getDescription)
          .containsOnly("a valid API key is required: authorization: Bearer KEY");
      assertThat(info(server, "Bearer " + valid).isOk()).isTrue();
      assertThat(info(server, "bearer " + valid).isOk()).isTrue();
      assertThat(info(server, "Bearer " + KeyedServer.BOOTSTRAP).isOk()).isTrue();
    }
  }

  private static Status info(KeyedServer server, @Nullable String header) {
    var admin = AdminGrpc.newBlockingStub(server.with(header));
    return KeyedServer.statusOf(
        () -> admin.getServerInfo(GetServerInfoRequest.getDefaultInstance()));
  }

  @Test
  void expiry_endsAKeyAtThatInstant() throws Exception {
    try (KeyedServer server = new KeyedServer(dir)) {
      long end = server.nowMs.get() + 1_000;
      String key =
          server
              .admin(KeyedServer.BOOTSTRAP)
              .createApiKey(KeyedServer.request("admin:*").setExpiresAtMs(end).build())
              .getSecret();
      server.nowMs.set(end - 1);
      assertThat(info(server, "Bearer " + key).isOk()).isTrue();
      server.nowMs.set(end);
      assertThat(info(server, "Bearer " + key).getCode()).isEqualTo(Status.Code.UNAUTHENTICATED);
    }
  }

  @Test
  void restart_keepsKeysAndRevocations() throws Exception {
    CreateApiKeyResponse kept;
    CreateApiKeyResponse revoked;
    try (KeyedServer server = new KeyedServer(dir)) {
      kept = server.create("produce:foo.*", "admin:*");
      revoked = server.create("admin:*");
      server.revoke(revoked.getId());
    }
    try (KeyedServer server = new KeyedServer(dir)) {
      assertThat(info(server, "Bearer " + kept.getSecret()).isOk()).isTrue();
      assertThat(info(server, "Bearer " + revoked.getSecret()).isOk()).isFalse();
      var keys =
          server.admin(KeyedServer.BOOTSTRAP).listApiKeys(ListApiKeysRequest.getDefaultInstance());
      assertThat(keys.getApiKeysList()).hasSize(1);
      assertThat(keys.getApiKeys(0).getId()).isEqualTo(kept.getId());
      assertThat(keys.getApiKeys(0).getPermissionsList())
          .containsExactly(
              KeyedServer.permission("produce:foo.*"), KeyedServer.permission("admin:*"));
    }
  }

  @Test
  void withoutBootstrapKey_noKeyIsNeeded() throws Exception {
    try (TestServer server = TestServer.start(dir)) {
      var info =
          AdminGrpc.newBlockingStub(server.channel)
              .getServerInfo(GetServerInfoRequest.getDefaultInstance());
      assertThat(info.getVersion()).matches("\\d+\\.\\d+\\.\\d+.*");
      assertThat(info.getStartedAtMs()).isPositive();
    }
  }

  @Test
  void hostBeyondLoopback_requiresABootstrapKey() throws Exception {
    ServerConfig open =
        ServerConfig.defaults(dir).withListen(ListenConfig.ANYWHERE.withHost("0.0.0.0"));
    assertThatThrownBy(() -> SluiceServer.start(open))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("loopback")
        .hasMessageContaining("0.0.0.0");
    SluiceServer.start(open.withBootstrapKey("secret")).close();
    SluiceServer.start(open.withListen(ListenConfig.ANYWHERE.withHost("localhost"))).close();
    SluiceServer.start(open.withListen(ListenConfig.ANYWHERE.withHost("127.0.0.2"))).close();
  }

  @Test
  void start_withADamagedKeyFile_fails_andReleasesTheDirectory() throws Exception {
    new KeyedServer(dir).close();
    Files.writeString(dir.resolve(ApiKeyStore.FILE), "{");
    assertThatThrownBy(() -> new KeyedServer(dir))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("damaged")
        .hasMessageContaining(ApiKeyStore.FILE);
    Files.delete(dir.resolve(ApiKeyStore.FILE));
    new KeyedServer(dir).close();
  }

  @Test
  void bootstrapKey_isNotShownAndMustFitAHeader() {
    ServerConfig config = ServerConfig.defaults(dir);
    assertThat(config.withBootstrapKey("hidden").toString()).doesNotContain("hidden");
    for (String bad : List.of("", " ", "a b", "a\n", "é", "x".repeat(257))) {
      assertThatThrownBy(() -> config.withBootstrapKey(bad))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("visible ASCII");
    }
  }
}
