package dev.sluice.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.Governor;
import dev.sluice.governor.GovernorStatus;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** docs/recipes/llm-streaming.md against a provider that streams, refuses, and breaks off. */
@Timeout(120)
final class StreamingModelTest {
  private static final String MODEL = "deepseek-r1";
  private static final String WHOLE =
      """
      data: {"choices":[{"delta":{"content":"Hel"}}]}

      data: {"choices":[{"delta":{"content":"lo"}}]}

      data: {"choices":[],"usage":{"total_tokens":137}}

      data: [DONE]

      """;

  private final Deque<Integer> statuses = new ArrayDeque<>();
  private final List<String> pieces = new ArrayList<>();

  /** Of refusals whose body has no end, until the caller goes. */
  private final CountDownLatch endless = new CountDownLatch(2);

  private boolean refusalsEnd = true;
  private String body = WHOLE;
  private HttpServer provider;
  private Governor governor;
  private StreamingModel model;

  @BeforeEach
  void start() throws IOException {
    provider = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    provider.createContext("/", this::answer);
    provider.start();
    governor =
        Governor.create(
            BudgetConfig.read(Pages.ROOT.resolve("examples/governor/token-budget.json")));
    URI uri = URI.create("http://127.0.0.1:" + provider.getAddress().getPort() + "/");
    model = new StreamingModel(governor, uri, MODEL);
  }

  @AfterEach
  void stop() {
    governor.close();
    provider.stop(0);
  }

  private void answer(HttpExchange exchange) throws IOException {
    try (exchange) {
      int status = statuses.isEmpty() ? 200 : statuses.remove();
      exchange.getResponseHeaders().set("Content-Type", "text/event-stream");
      exchange.getResponseHeaders().set("retry-after-ms", "50");
      byte[] events = body.getBytes(StandardCharsets.UTF_8);
      if (status != 200) {
        exchange.getResponseHeaders().set("x-ratelimit-remaining-tokens", "200000");
        exchange.sendResponseHeaders(status, refusalsEnd ? -1 : 0);
        if (!refusalsEnd) {
          writeUntilTheCallerGoes(exchange.getResponseBody());
        }
        return;
      }
      // One byte more than there will be, if the body is to break off.
      exchange.sendResponseHeaders(200, body.equals(WHOLE) ? 0 : events.length + 1);
      try (OutputStream out = exchange.getResponseBody()) {
        out.write(events);
      }
    }
  }

  private void writeUntilTheCallerGoes(OutputStream out) {
    try {
      while (endless.getCount() > 0) {
        out.write(body.getBytes(StandardCharsets.UTF_8));
      }
    } catch (IOException gone) {
      endless.countDown();
    }
  }

  private GovernorStatus.Model standing() {
    return governor.blocking().status().models().get(MODEL);
  }

  /** Tokens that accrued meanwhile in a full bucket are not returned once more. */
  private void assertSettled(long least) {
    assertThat(standing().counts().tokensConsumed()).isBetween(least, 2_006L);
    assertThat(standing().running()).isZero();
  }

  @Test
  void response_isSettledWithItsUsage() throws Exception {
    assertThat(model.ask("acme", "Say hello.", 1_000, pieces::add)).isEqualTo(137);
    assertThat(pieces).containsExactly("Hel", "lo");
    assertSettled(137);
  }

  @Test
  void response429_isReportedToTheGovernor_andRetried() throws Exception {
    statuses.add(429);
    assertThat(model.ask("acme", "Say hello.", 1_000, pieces::add)).isEqualTo(137);
    assertThat(standing().provider().throttled()).isEqualTo(1);
    assertSettled(137);
  }

  @Test
  void brokenStream_isSettledWithTheReceivedTokens() {
    body = WHOLE.substring(0, WHOLE.indexOf("data: {\"choices\":[],"));
    assertThatThrownBy(() -> model.ask("acme", "Say hello.", 1_000, pieces::add))
        .isInstanceOf(UncheckedIOException.class);
    assertThat(pieces).containsExactly("Hel", "lo");
    assertSettled(5); // 3 of the prompt, 2 pieces
  }

  @Test
  void failedRequest_isSettledWithZero() {
    statuses.add(500);
    assertThatThrownBy(() -> model.ask("acme", "Say hello.", 1_000, pieces::add))
        .hasMessage("the provider answered 500");
    assertSettled(0);
  }

  @Test
  void refusedRequests_closeTheirConnections() throws Exception {
    refusalsEnd = false;
    statuses.addAll(List.of(429, 500));
    assertThatThrownBy(() -> model.ask("acme", "Say hello.", 1_000, pieces::add))
        .hasMessage("the provider answered 500");
    assertThat(endless.await(60, TimeUnit.SECONDS)).isTrue();
    assertSettled(0);
  }
}
