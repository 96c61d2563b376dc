package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.server.auth.ApiKey;
import dev.sluice.server.auth.Caller;
import dev.sluice.server.auth.RevocationWatcher;
import dev.sluice.server.http.HandlerResult;
import dev.sluice.server.http.HostHeaderPolicy;
import dev.sluice.server.http.HttpRequest;
import dev.sluice.server.http.HttpResponse;
import dev.sluice.server.http.HttpRoute;
import dev.sluice.server.http.HttpServer;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.ErrorKind;
import dev.sluice.server.telemetry.ServerMetrics;
import dev.sluice.server.telemetry.Tracing;
import dev.sluice.server.transport.MemoryBudgets;
import dev.sluice.server.transport.ProtocolListenerConfig;
import dev.sluice.server.transport.RequestMemoryBudget;
import dev.sluice.server.transport.RequestTurns;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Large HTTP requests of one account are parsed and answered one at a time. */
@Tag("any-jdk")
@Timeout(60)
final class HttpLargeRequestsTest {
  private static final String EVIL = "evil";
  private static final int LARGE = RequestTurns.BYTES_AT_ONCE;

  /** The bodies of four large requests, two for each account. */
  private final MemoryBudgets memory =
      new MemoryBudgets(
          new RequestMemoryBudget(4L * LARGE + 100),
          MemoryBudgets.ofHeap().work(),
          MemoryBudgets.ofHeap().unread(),
          MemoryBudgets.ofHeap().answers());

  private final RevocationWatcher keys =
      new RevocationWatcher(this::authenticate, InstantSource.system());
  private final Map<String, CompletableFuture<Boolean>> handled = new ConcurrentHashMap<>();
  private volatile @Nullable String revoked;
  private HttpServer server;
  private HttpProbe http;

  /** The account is the first word of the header. */
  private Caller authenticate(@Nullable String authorization) {
    String given = String.valueOf(authorization);
    if (given.equals(revoked)) {
      throw new ApiException(ErrorKind.UNAUTHENTICATED, "the key was revoked");
    }
    return new Caller(given.split(" ", 2)[0], true, List.of(), ApiKey.NEVER);
  }

  /** Answers when a test says so, and holds no thread meanwhile. */
  private HandlerResult hold(HttpRequest request) {
    CompletableFuture<Boolean> answer = new CompletableFuture<>();
    handled.put(name(request), answer);
    return HandlerResult.later(answer, done -> HttpResponse.ok(Map.of()));
  }

  /** Goes on without the body, and is never answered. */
  private HandlerResult parse(HttpRequest request) {
    request.parsed().run();
    return hold(request);
  }

  private static String name(HttpRequest request) {
    return new String(request.body(), StandardCharsets.US_ASCII).trim();
  }

  @BeforeEach
  void start() throws Exception {
    List<HttpRoute> routes =
        List.of(
            HttpRoute.of("POST", "/hold", this::hold), HttpRoute.of("POST", "/parse", this::parse));
    server =
        new HttpServer(
            new ProtocolListenerConfig(
                    new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                    TransportConfig.DEFAULTS,
                    null)
                .withMemory(memory),
            keys,
            HostHeaderPolicy.of(ServerConfig.defaults(Path.of("none"))),
            Tracing.OFF,
            new ServerMetrics().requests(),
            List.of(() -> routes));
    server.start();
    http = new HttpProbe(server.port());
  }

  @AfterEach
  void stop() {
    handled.values().forEach(each -> each.complete(true));
    server.close(Duration.ZERO);
  }

  private CompletableFuture<HttpProbe.Reply> post(String key, String path, String body) {
    return http.sendLater(
        http.request(path).header("Authorization", key).POST(BodyPublishers.ofString(body)));
  }

  private static String large(String name) {
    return name + " ".repeat(LARGE);
  }

  private void awaitHandled(String... names) {
    await().until(() -> handled.keySet().equals(Set.of(names)));
  }

  /** Requests that wait for their turn end with their key. */
  private void awaitWaiting(int requests) {
    await().until(() -> keys.count() == requests);
  }

  private void answer(String name) {
    CompletableFuture<Boolean> answer = handled.get(name);
    assertThat(answer).isNotNull();
    answer.complete(true);
  }

  private void assertNoTrace() {
    await().until(() -> memory.inbound().used() == 0 && server.openRequests() == 0);
    assertThat(keys.count()).isZero();
  }

  @Test
  void largeRequestsOfOneAccount_areHandledOneAtATime_andOthersOvertake() {
    CompletableFuture<HttpProbe.Reply> first = post(EVIL, "/hold", large("first"));
    awaitHandled("first");
    CompletableFuture<HttpProbe.Reply> second = post(EVIL, "/hold", large("second"));
    awaitWaiting(1);
    CompletableFuture<HttpProbe.Reply> good = post("good", "/hold", large("good"));
    CompletableFuture<HttpProbe.Reply> small = post(EVIL, "/hold", "small");
    awaitHandled("first", "good", "small");
    answer("good");
    answer("small");
    assertThat(good.join().status()).isEqualTo(200);
    assertThat(small.join().status()).isEqualTo(200);
    assertThat(handled).doesNotContainKey("second");
    answer("first");
    awaitHandled("first", "good", "small", "second");
    answer("second");
    assertThat(first.join().status()).isEqualTo(200);
    assertThat(second.join().status()).isEqualTo(200);
    assertNoTrace();
  }

  @Test
  void requestThatWaits_makesRoomForAnotherAccount() {
    CompletableFuture<HttpProbe.Reply> first = post(EVIL, "/hold", large("first"));
    awaitHandled("first");
    CompletableFuture<HttpProbe.Reply> second = post(EVIL, "/hold", large("second"));
    awaitWaiting(1);
    CompletableFuture<HttpProbe.Reply> a = post("good", "/hold", large("a"));
    awaitHandled("first", "a");
    CompletableFuture<HttpProbe.Reply> b = post("good", "/hold", large("b"));
    awaitWaiting(2);
    CompletableFuture<HttpProbe.Reply> other = post("other", "/hold", large("other"));
    awaitHandled("first", "a", "other");
    assertThat(second.join().status()).isEqualTo(503);
    handled.values().forEach(each -> each.complete(true));
    awaitHandled("first", "a", "other", "b");
    answer("b");
    assertThat(Stream.of(first, a, b, other).map(each -> each.join().status())).containsOnly(200);
    assertNoTrace();
  }

  @Test
  void requestThatWaits_endsWithItsKey() {
    CompletableFuture<HttpProbe.Reply> first = post(EVIL, "/hold", large("first"));
    awaitHandled("first");
    CompletableFuture<HttpProbe.Reply> second = post(EVIL + " 2", "/hold", large("second"));
    awaitWaiting(1);
    revoked = EVIL + " 2";
    keys.check();
    assertThat(second.join().status()).isEqualTo(401);
    answer("first");
    assertThat(first.join().status()).isEqualTo(200);
    assertNoTrace();
    assertThat(handled.keySet()).containsExactly("first");
  }

  @Test
  void requestWhoseClientLeavesWhileItWaits_isNotHandledAndLeavesNoTrace() throws IOException {
    CompletableFuture<HttpProbe.Reply> first = post(EVIL, "/hold", large("first"));
    awaitHandled("first");
    try (Socket client = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
      String body = large("second");
      String request =
          "POST /hold HTTP/1.1\r\nHost: localhost:%d\r\nAuthorization: %s\r\nContent-Length: %d\r\n\r\n%s"
              .formatted(server.port(), EVIL, body.length(), body);
      client.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
      awaitWaiting(1);
    }
    awaitWaiting(0);
    await().until(() -> memory.inbound().used() < 2 * LARGE);
    answer("first");
    assertThat(first.join().status()).isEqualTo(200);
    assertNoTrace();
    assertThat(handled.keySet()).containsExactly("first");
  }

  @Test
  void requestThatHasParsedItsBody_keepsNoTurn() {
    CompletableFuture<HttpProbe.Reply> first = post(EVIL, "/parse", large("first"));
    CompletableFuture<HttpProbe.Reply> second = post(EVIL, "/parse", large("second"));
    awaitHandled("first", "second");
    answer("first");
    answer("second");
    assertThat(first.join().status()).isEqualTo(200);
    assertThat(second.join().status()).isEqualTo(200);
    assertNoTrace();
  }
}
