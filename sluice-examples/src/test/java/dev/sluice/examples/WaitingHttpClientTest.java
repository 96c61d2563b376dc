package dev.sluice.examples;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.sluice.Limit;
import dev.sluice.ManualClock;
import dev.sluice.TokenBucket;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** docs/recipes/http-client.md against a server that refuses. */
@Timeout(30)
final class WaitingHttpClientTest {
  private static final Duration SECOND = Duration.ofSeconds(1);

  private final List<Long> arrivals = Collections.synchronizedList(new ArrayList<>());

  /** Of the answers to come; no header and 200 when there are no more. */
  private final List<String> retryAfters = Collections.synchronizedList(new ArrayList<>());

  private HttpServer server;
  private HttpRequest request;

  @BeforeEach
  void serve() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext("/", this::answer);
    server.start();
    URI uri = URI.create("http://127.0.0.1:" + server.getAddress().getPort() + "/");
    request = HttpRequest.newBuilder(uri).build();
  }

  @AfterEach
  void stop() {
    server.stop(0);
  }

  private void answer(HttpExchange exchange) throws IOException {
    arrivals.add(System.nanoTime());
    try (exchange) {
      Iterator<String> next = retryAfters.iterator();
      if (next.hasNext()) {
        exchange.getResponseHeaders().set("Retry-After", next.next());
        next.remove();
        exchange.sendResponseHeaders(429, -1);
      } else {
        exchange.sendResponseHeaders(200, -1);
      }
    }
  }

  private static int status(CompletableFuture<HttpResponse<Void>> response) {
    return response.join().statusCode();
  }

  @Test
  void calls_waitForTokens_inOrder() {
    ManualClock clock = ManualClock.create();
    TokenBucket turns = TokenBucket.builder().limit(Limit.perSecond(1)).clock(clock).build();
    WaitingHttpClient client = new WaitingHttpClient(HttpClient.newHttpClient(), turns, 3);
    List<CompletableFuture<HttpResponse<Void>>> calls = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      calls.add(client.send(request, HttpResponse.BodyHandlers.discarding()));
    }
    assertThat(status(calls.get(0))).isEqualTo(200);
    assertThat(turns.waiters()).isEqualTo(2);
    clock.advance(SECOND);
    assertThat(status(calls.get(1))).isEqualTo(200);
    assertThat(calls.get(2)).isNotDone();
    clock.advance(SECOND);
    assertThat(status(calls.get(2))).isEqualTo(200);
    assertThat(arrivals).hasSize(3);
  }

  @Test
  void retryAfter_delaysAllCallers() {
    retryAfters.add("1");
    WaitingHttpClient client =
        new WaitingHttpClient(HttpClient.newHttpClient(), TokenBucket.perSecond(100), 2);
    assertThat(status(client.send(request, HttpResponse.BodyHandlers.discarding()))).isEqualTo(200);
    assertThat(arrivals).hasSize(2);
    assertThat(arrivals.get(1) - arrivals.get(0)).isGreaterThanOrEqualTo(SECOND.toNanos());
  }

  @Test
  void retryAfterDate_isHonored_andTheLastRefusalReturned() {
    retryAfters.add(
        DateTimeFormatter.RFC_1123_DATE_TIME.format(Instant.now().atOffset(ZoneOffset.UTC)));
    retryAfters.add("60");
    WaitingHttpClient client =
        new WaitingHttpClient(HttpClient.newHttpClient(), TokenBucket.perSecond(100), 2);
    assertThat(status(client.send(request, HttpResponse.BodyHandlers.discarding()))).isEqualTo(429);
    CompletableFuture<HttpResponse<Void>> next =
        client.send(request, HttpResponse.BodyHandlers.discarding());
    assertThat(next).isNotDone();
    assertThat(arrivals).hasSize(2);
  }

  /** Nothing, words, no such date, more than a long has, and more milliseconds than that. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "soon",
        "-1",
        "Wed, 99 Oct 2026 07:28:00 GMT",
        "99999999999999999999",
        "9223372036854775807"
      })
  void invalidRetryAfter_returnsTheResponse(String retryAfter) {
    retryAfters.add(retryAfter);
    WaitingHttpClient client =
        new WaitingHttpClient(HttpClient.newHttpClient(), TokenBucket.perSecond(100), 1);
    assertThat(status(client.send(request, HttpResponse.BodyHandlers.discarding()))).isEqualTo(429);
  }

  @Test
  void refusalWithoutRetryAfter_isRetriedAfterASecond() {
    retryAfters.add("");
    WaitingHttpClient client =
        new WaitingHttpClient(HttpClient.newHttpClient(), TokenBucket.perSecond(100), 2);
    assertThat(status(client.send(request, HttpResponse.BodyHandlers.discarding()))).isEqualTo(200);
    assertThat(arrivals.get(1) - arrivals.get(0)).isGreaterThanOrEqualTo(SECOND.toNanos());
  }
}
