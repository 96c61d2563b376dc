package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.proto.v1.AdminGrpc;
import dev.sluice.proto.v1.CreateApiKeyRequest;
import dev.sluice.proto.v1.CreateApiKeyResponse;
import dev.sluice.proto.v1.LimitsGrpc;
import dev.sluice.proto.v1.Permission;
import dev.sluice.proto.v1.QueuesGrpc;
import dev.sluice.proto.v1.RevokeApiKeyRequest;
import dev.sluice.server.auth.Caller;
import dev.sluice.server.auth.Credential;
import dev.sluice.server.auth.RevocationWatcher;
import dev.sluice.server.http.HttpRoute;
import dev.sluice.server.transport.ProtocolListenerConfig;
import io.grpc.Channel;
import io.grpc.ClientInterceptors;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.MetadataUtils;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** A server that asks for keys, by a clock that is set by hand, and clients of it. */
final class KeyedServer implements AutoCloseable {
  static final String BOOTSTRAP = "bootstrap-for-tests";
  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  final AtomicLong nowMs = new AtomicLong(1_800_000_000_000L);
  private final SluiceServer server;
  private final ManagedChannel channel;

  KeyedServer(Path dir) throws IOException {
    this(ServerConfig.defaults(dir), listen -> listen);
  }

  KeyedServer(ServerConfig given) throws IOException {
    this(given, listen -> listen);
  }

  KeyedServer(Path dir, UnaryOperator<ProtocolListenerConfig> tuned) throws IOException {
    this(ServerConfig.defaults(dir), tuned);
  }

  private KeyedServer(ServerConfig given, UnaryOperator<ProtocolListenerConfig> tuned)
      throws IOException {
    ServerConfig config = given.withListen(ListenConfig.ANYWHERE).withBootstrapKey(BOOTSTRAP);
    server = SluiceServer.start(config, () -> Instant.ofEpochMilli(nowMs.get()), tuned);
    channel = NettyChannelBuilder.forAddress("127.0.0.1", server.grpcPort()).usePlaintext().build();
  }

  /** Asks for no key. */
  static RevocationWatcher open() {
    return new RevocationWatcher(authorization -> Caller.ANYBODY, InstantSource.system());
  }

  /** A key that stays valid. */
  static Credential by(Caller caller) {
    return new RevocationWatcher(authorization -> caller, InstantSource.system())
        .authenticate(null, "connection");
  }

  int grpcPort() {
    return server.grpcPort();
  }

  int httpPort() {
    return server.httpPort();
  }

  /** Calls of gRPC that are being answered. */
  int openCalls() {
    return server.openCalls();
  }

  /** Calls that wait for tickets of the governor. */
  int ticketWaits() {
    return server.ticketWaits();
  }

  /** Calls that end with their key. */
  int watchedCalls() {
    return server.watchedCalls();
  }

  List<HttpRoute> httpRoutes() {
    return server.httpRoutes();
  }

  /** Calls that have this header, or none. */
  Channel with(@Nullable String authorization) {
    Metadata headers = new Metadata();
    if (authorization != null) {
      headers.put(AUTHORIZATION, authorization);
    }
    return ClientInterceptors.intercept(
        channel, MetadataUtils.newAttachHeadersInterceptor(headers));
  }

  AdminGrpc.AdminBlockingStub admin(String key) {
    return AdminGrpc.newBlockingStub(with("Bearer " + key));
  }

  QueuesGrpc.QueuesBlockingStub queues(String key) {
    return QueuesGrpc.newBlockingStub(with("Bearer " + key));
  }

  LimitsGrpc.LimitsBlockingStub limits(String key) {
    return LimitsGrpc.newBlockingStub(with("Bearer " + key));
  }

  /** Made by the bootstrap key; permissions are written {@code kind:pattern}. */
  CreateApiKeyResponse create(String... permissions) {
    return admin(BOOTSTRAP).createApiKey(request(permissions).build());
  }

  void revoke(String id) {
    var done = admin(BOOTSTRAP).revokeApiKey(RevokeApiKeyRequest.newBuilder().setId(id).build());
    assertThat(done).isNotNull();
  }

  static CreateApiKeyRequest.Builder request(String... permissions) {
    return CreateApiKeyRequest.newBuilder()
        .setName("test")
        .addAllPermissions(Arrays.stream(permissions).map(KeyedServer::permission).toList());
  }

  static Permission permission(String text) {
    int colon = text.indexOf(':');
    return Permission.newBuilder()
        .setKind(text.substring(0, colon))
        .setPattern(text.substring(colon + 1))
        .build();
  }

  /** How a call ends. */
  static Status statusOf(Runnable call) {
    try {
      call.run();
      return Status.OK;
    } catch (StatusRuntimeException refused) {
      return refused.getStatus();
    }
  }

  static Status.Code codeOf(Runnable call) {
    return statusOf(call).getCode();
  }

  @Override
  public void close() {
    channel.shutdownNow();
    server.close();
  }
}
