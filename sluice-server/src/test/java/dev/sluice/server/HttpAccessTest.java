package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.broker.Broker;
import dev.sluice.server.HttpProbe.Reply;
import dev.sluice.server.auth.AccountQuotas;
import dev.sluice.server.auth.ApiKey;
import dev.sluice.server.auth.ApiKeyStore;
import dev.sluice.server.auth.Caller;
import dev.sluice.server.auth.Permission;
import dev.sluice.server.auth.Permission.Kind;
import dev.sluice.server.auth.QueueAuthorization;
import dev.sluice.server.auth.RevocationWatcher;
import dev.sluice.server.http.HostHeaderPolicy;
import dev.sluice.server.http.HttpRoute;
import dev.sluice.server.http.HttpServer;
import dev.sluice.server.http.routes.LimitRoutes;
import dev.sluice.server.http.routes.MonitoringRoutes;
import dev.sluice.server.http.routes.QueueEventRoutes;
import dev.sluice.server.http.routes.QueueRoutes;
import dev.sluice.server.operations.LimitOperations;
import dev.sluice.server.operations.QueueOperations;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.ErrorKind;
import dev.sluice.server.telemetry.ServerMetrics;
import dev.sluice.server.telemetry.Tracing;
import dev.sluice.server.transport.ProtocolListenerConfig;
import dev.sluice.server.transport.Readiness;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class HttpAccessTest {
  @TempDir Path dir;
  private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
  private Broker broker;
  private HttpServer server;
  private HttpProbe http;
  private volatile boolean storeFailed;

  @BeforeEach
  void start() throws IOException {
    broker = Broker.open(dir);
    AccountQuotas quotas = new AccountQuotas(ApiKeyStore.open(dir));
    QueueOperations queues =
        new QueueOperations(
            broker, new QueueAuthorization(broker), quotas, AccountQuotas.openCalls());
    ServerMetrics metrics = new ServerMetrics();
    server =
        new HttpServer(
            new ProtocolListenerConfig(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                TransportConfig.DEFAULTS,
                null),
            new RevocationWatcher(HttpAccessTest::authenticate, InstantSource.system()),
            HostHeaderPolicy.of(ServerConfig.defaults(dir)),
            Tracing.OFF,
            metrics.requests(),
            List.of(
                new QueueRoutes(queues),
                new LimitRoutes(LimitOperations.open(dir, quotas)),
                new QueueEventRoutes(queues, timer, timer),
                new MonitoringRoutes(queues, metrics, new Readiness(new Work()))));
    server.start();
    http = new HttpProbe(server.port());
  }

  @AfterEach
  void stop() {
    server.close(Duration.ZERO);
    broker.close();
    timer.shutdownNow();
  }

  /** The checks of a server, whose store has failed if {@link #storeFailed} is set. */
  private final class Work implements Readiness.HealthSource {
    @Override
    public void requireReady() {
      broker.view().ping();
    }

    @Override
    public void requireAlive() {
      if (storeFailed) {
        throw new ApiException(ErrorKind.UNAVAILABLE, "the broker has stopped: Input/output error");
      }
    }
  }

  private static Caller authenticate(@Nullable String authorization) {
    if ("Bearer root".equals(authorization)) {
      return new Caller("root", true, List.of(), ApiKey.NEVER);
    }
    if ("Bearer producer".equals(authorization)) {
      return new Caller(
          "producer", false, List.of(new Permission(Kind.PRODUCE, "q")), ApiKey.NEVER);
    }
    throw new ApiException(ErrorKind.UNAUTHENTICATED, "a key is needed");
  }

  private Reply as(String key, String method, String path, String body) {
    return http.send(
        http.request(path)
            .header("Authorization", "Bearer " + key)
            .method(method, BodyPublishers.ofString(body)));
  }

  @Test
  void healthz_is503_onceTheProcessMustBeStartedAgain() {
    assertThat(http.get("/healthz").status()).isEqualTo(200);
    storeFailed = true;
    Reply refused = http.get("/healthz");
    assertThat(refused.status()).isEqualTo(503);
    assertThat(refused.message()).isEqualTo("the broker has stopped: Input/output error");
  }

  @Test
  void everyRoute_requiresAKeyUnlessItIsOpen() {
    for (HttpRoute route : server.routes()) {
      String path = route.template().replace("{queue}", "q").replaceAll("\\{(key|name)}", "k");
      Reply reply = http.send(http.request(path).method(route.method(), BodyPublishers.noBody()));
      assertThat(reply.status()).as(path).isEqualTo(route.open() ? 200 : 401);
      if (!route.open()) {
        assertThat(reply.code()).isEqualTo("UNAUTHENTICATED");
        assertThat(reply.header("WWW-Authenticate")).isEqualTo("Bearer");
      }
    }
  }

  @Test
  void key_allowsItsPermissions() {
    assertThat(as("root", "POST", "/v1/queues", "{\"name\":\"q\"}").status()).isEqualTo(201);
    assertThat(as("root", "POST", "/v1/queues", "{\"name\":\"p\"}").status()).isEqualTo(201);
    String message = "{\"payload\":\"x\"}";
    assertThat(as("producer", "POST", "/v1/queues/q/messages", message).status()).isEqualTo(200);
    for (String refused :
        List.of(
            "POST /v1/queues/p/messages",
            "GET /v1/queues/q",
            "DELETE /v1/queues/q",
            "POST /v1/queues/q/purge",
            "GET /v1/queues/q/browse",
            "GET /v1/queues",
            "GET /v1/limits",
            "GET /v1/events",
            "GET /metrics")) {
      int space = refused.indexOf(' ');
      String method = refused.substring(0, space);
      String body = method.equals("POST") ? message : "";
      Reply reply = as("producer", method, refused.substring(space + 1), body);
      assertThat(reply.status()).as(refused).isEqualTo(403);
      assertThat(reply.code()).isEqualTo("PERMISSION_DENIED");
    }
    assertThat(as("producer", "GET", "/v1/queues", "").message())
        .isEqualTo("the API key does not allow this; it needs read on any name");
    assertThat(as("root", "GET", "/metrics", "").status()).isEqualTo(200);
  }

  @Test
  void origin_ofAnotherSiteIsRefused() {
    String own = "http://127.0.0.1:" + server.port();
    assertThat(http.send(http.request("/healthz").header("Origin", own)).status()).isEqualTo(200);
    for (String foreign : List.of("http://example.com", "null", "http://127.0.0.1:1")) {
      Reply refused = http.send(http.request("/healthz").header("Origin", foreign));
      assertThat(refused.status()).as(foreign).isEqualTo(403);
      assertThat(refused.code()).isEqualTo("PERMISSION_DENIED");
      assertThat(refused.message())
          .isEqualTo(
              "pages of other sites must not call this server: Origin must be that of Host"
                  + " 127.0.0.1:%d, but was %s",
              server.port(), foreign);
    }
  }

  @Test
  void ready_onlyWhileTheBrokerAnswers() {
    assertThat(http.get("/readyz").status()).isEqualTo(200);
    broker.close();
    Reply reply = http.get("/readyz");
    assertThat(reply.status()).isEqualTo(503);
    assertThat(reply.code()).isEqualTo("UNAVAILABLE");
    assertThat(http.get("/healthz").status()).isEqualTo(200);
  }
}
