package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.server.auth.ApiKey;
import dev.sluice.server.auth.Caller;
import dev.sluice.server.auth.RevocationWatcher;
import dev.sluice.server.http.HandlerResult;
import dev.sluice.server.http.HostHeaderPolicy;
import dev.sluice.server.http.HttpListener;
import dev.sluice.server.http.HttpRequest;
import dev.sluice.server.http.HttpRoute;
import dev.sluice.server.http.HttpServer;
import dev.sluice.server.telemetry.ServerMetrics;
import dev.sluice.server.telemetry.Tracing;
import dev.sluice.server.transport.ProtocolListenerConfig;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Requests of one account that keep threads busy leave some to the requests of others. */
@Tag("any-jdk")
@Timeout(60)
final class HttpSharesTest {
  private static final String EVIL = "evil";
  private static final int SHARE = HttpListener.threads() / 2;

  private final CountDownLatch end = new CountDownLatch(1);
  private final AtomicInteger listing = new AtomicInteger();
  private final AtomicInteger handling = new AtomicInteger();
  private final HttpClient client = HttpClient.newHttpClient();
  private HttpServer server;

  /** Keeps the threads of the evil account until the end. */
  private HandlerResult block(HttpRequest request, AtomicInteger count) {
    if (request.caller().account().equals(EVIL)) {
      count.incrementAndGet();
      try {
        end.await();
      } catch (InterruptedException closing) {
        Thread.currentThread().interrupt();
      }
    }
    return HandlerResult.now(dev.sluice.server.http.HttpResponse.ok(Map.of()));
  }

  @BeforeEach
  void start() throws Exception {
    RevocationWatcher keys =
        new RevocationWatcher(
            account -> new Caller(String.valueOf(account), true, List.of(), ApiKey.NEVER),
            InstantSource.system());
    List<HttpRoute> routes =
        List.of(
            HttpRoute.of("GET", "/list", request -> block(request, listing)).listing(),
            HttpRoute.of("GET", "/one", request -> block(request, handling)));
    server =
        new HttpServer(
            new ProtocolListenerConfig(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                TransportConfig.DEFAULTS,
                null),
            keys,
            HostHeaderPolicy.of(ServerConfig.defaults(Path.of("none"))),
            Tracing.OFF,
            new ServerMetrics().requests(),
            List.of(() -> routes));
    server.start();
  }

  @AfterEach
  void stop() {
    end.countDown();
    server.close(Duration.ZERO);
  }

  private CompletableFuture<Integer> get(String account, String path) {
    return client
        .sendAsync(
            java.net.http.HttpRequest.newBuilder(
                    URI.create("http://localhost:%d%s".formatted(server.port(), path)))
                .header("Authorization", account)
                .build(),
            HttpResponse.BodyHandlers.discarding())
        .thenApply(HttpResponse::statusCode);
  }

  @Test
  void requestsOfOneAccount_leaveThreadsToOthers() throws Exception {
    List<CompletableFuture<Integer>> all = new ArrayList<>();
    for (int i = 0; i < HttpListener.threads(); i++) {
      all.add(get(EVIL, "/one"));
    }
    await().until(() -> handling.get() == SHARE);
    assertThat(get("good", "/one").get(20, TimeUnit.SECONDS)).isEqualTo(200);
    assertThat(handling).hasValue(SHARE);
    end.countDown();
    for (CompletableFuture<Integer> each : all) {
      assertThat(each.get(20, TimeUnit.SECONDS)).isEqualTo(200);
    }
  }

  @Test
  void listsOfOneAccount_haveOneThread() throws Exception {
    for (int i = 0; i < HttpListener.threads(); i++) {
      var unused = get(EVIL, "/list");
    }
    var unused = get(EVIL, "/one");
    await().until(() -> listing.get() == 1 && handling.get() == 1);
    assertThat(get("good", "/list").get(20, TimeUnit.SECONDS)).isEqualTo(200);
    assertThat(listing).hasValue(1);
  }
}
