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
import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.ErrorKind;
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
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests of one account that keep threads busy leave some to the requests of others. */
@Tag("any-jdk")
@Timeout(60)
final class HttpSharesTest {
  private static final String EVIL = "evil";
  private static final int SHARE = HttpListener.threads() / 2;

  private final CountDownLatch end = new CountDownLatch(1);
  private final Set<String> authenticated = ConcurrentHashMap.newKeySet();
  private volatile boolean revoked;
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

  /** The account is the first word of the header. */
  private Caller caller(@Nullable String authorization) {
    if (revoked) {
      throw new ApiException(ErrorKind.UNAUTHENTICATED, "the key was revoked");
    }
    String given = String.valueOf(authorization);
    authenticated.add(given);
    return new Caller(given.split(" ", 2)[0], true, List.of(), ApiKey.NEVER);
  }

  @BeforeEach
  void start() throws Exception {
    RevocationWatcher keys = new RevocationWatcher(this::caller, InstantSource.system());
    List<HttpRoute> routes =
        List.of(
            HttpRoute.of("GET", "/list", request -> block(request, listing)).listing(),
            HttpRoute.of("GET", "/one", request -> block(request, handling)),
            HttpRoute.of("DELETE", "/one", request -> block(request, handling)),
            HttpRoute.of("POST", "/one", request -> block(request, handling)));
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
    return send(account, "GET", path);
  }

  private CompletableFuture<Integer> send(String account, String method, String path) {
    return client
        .sendAsync(
            java.net.http.HttpRequest.newBuilder(
                    URI.create("http://localhost:%d%s".formatted(server.port(), path)))
                .header("Authorization", account)
                .method(method, java.net.http.HttpRequest.BodyPublishers.noBody())
                .build(),
            HttpResponse.BodyHandlers.discarding())
        .thenApply(HttpResponse::statusCode);
  }

  @ParameterizedTest
  @ValueSource(strings = {"GET", "DELETE", "POST"})
  void requestThatWaitsForAThread_isNotExecutedOnceItsKeyIsRevoked(String method) throws Exception {
    for (int i = 0; i < SHARE; i++) {
      assertThat(get(EVIL, "/one")).isNotDone();
    }
    await().until(() -> handling.get() == SHARE);
    String last = EVIL + " last";
    CompletableFuture<Integer> waiting = send(last, method, "/one");
    await().until(() -> authenticated.contains(last));
    revoked = true;
    end.countDown();
    assertThat(waiting.get(20, TimeUnit.SECONDS)).isEqualTo(401);
    assertThat(handling).hasValue(SHARE);
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
