package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.server.auth.AccountQuotas;
import dev.sluice.server.grpc.AccountCallExecutor;
import dev.sluice.server.grpc.AuthenticationInterceptor;
import dev.sluice.server.grpc.GrpcServer;
import dev.sluice.server.http.HostHeaderPolicy;
import dev.sluice.server.http.HttpServer;
import dev.sluice.server.telemetry.ServerMetrics;
import dev.sluice.server.telemetry.Tracing;
import dev.sluice.server.transport.AccountExecutors;
import dev.sluice.server.transport.BindAddress;
import dev.sluice.server.transport.ProtocolListenerConfig;
import dev.sluice.server.transport.Readiness;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Why a server cannot listen, also if another process takes the port meanwhile. */
final class BindAddressTest {
  private static final InetAddress LOOPBACK = InetAddress.getLoopbackAddress();
  private final ServerMetrics metrics = new ServerMetrics();
  private ServerSocket taken;
  private ProtocolListenerConfig there;

  @BeforeEach
  void take() throws IOException {
    taken = new ServerSocket(0, 1, LOOPBACK);
    InetSocketAddress address = new InetSocketAddress(LOOPBACK, taken.getLocalPort());
    there = new ProtocolListenerConfig(address, TransportConfig.DEFAULTS, null);
  }

  @AfterEach
  void free() throws IOException {
    taken.close();
  }

  private String inUse(String wire) {
    return "cannot listen for %s on %s:%d: address already in use; %s"
        .formatted(
            wire,
            there.address().getHostString(),
            taken.getLocalPort(),
            wire.equals("HTTP")
                ? "set server.http_port (--http-port) to another port, or to off to serve gRPC alone"
                : "set server.grpc_port (--grpc-port) to another port");
  }

  @Test
  void requireFree_namesThePortInUse() throws IOException {
    InetSocketAddress any = new InetSocketAddress(LOOPBACK, 0);
    BindAddress.requireFree(any, any);
    assertThatThrownBy(() -> BindAddress.requireFree(there.address(), any))
        .hasMessage(inUse("gRPC"));
    assertThatThrownBy(() -> BindAddress.requireFree(any, there.address()))
        .hasMessage(inUse("HTTP"));
    BindAddress.requireFree(any, null);
    taken.close();
    BindAddress.requireFree(there.address(), any);
    assertThatThrownBy(() -> BindAddress.requireFree(there.address(), there.address()))
        .hasMessage(inUse("HTTP"));
  }

  @Test
  void grpc_onAPortInUse_namesTheSetting() {
    GrpcServer grpc =
        new GrpcServer(
            there,
            new AccountCallExecutor(new AccountExecutors(2), Runnable::run),
            new AuthenticationInterceptor(KeyedServer.open(), AccountQuotas.openCalls()),
            new Readiness(() -> {}),
            metrics.requests(),
            List.of());
    assertThatThrownBy(grpc::start).isInstanceOf(IOException.class).hasMessage(inUse("gRPC"));
    grpc.close(Duration.ZERO);
  }

  @Test
  void http_onAPortInUse_namesTheSetting() {
    HttpServer http =
        new HttpServer(
            there,
            KeyedServer.open(),
            HostHeaderPolicy.of(ServerConfig.defaults(Path.of("none"))),
            Tracing.OFF,
            metrics.requests(),
            List.of());
    assertThatThrownBy(http::start).isInstanceOf(IOException.class).hasMessage(inUse("HTTP"));
  }

  @Test
  void cannotListen_writesAddressesThatCanBeTyped() {
    InetSocketAddress six = InetSocketAddress.createUnresolved("::1", 5555);
    assertThat(BindAddress.cannotListen("gRPC", six, new IOException("Permission denied")))
        .hasMessageMatching("cannot listen for gRPC on \\[[0-9:]+]:5555: Permission denied");
  }
}
