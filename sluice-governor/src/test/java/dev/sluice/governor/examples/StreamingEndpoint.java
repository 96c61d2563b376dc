package dev.sluice.governor.examples;

import com.fasterxml.jackson.databind.json.JsonMapper;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import dev.sluice.governor.Governor;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;

/**
 * A streaming answer that is guarded by a grant. The body of a request is the prompt; {@code
 * X-Max-Tokens} says how long the answer may be. Granted, the answer comes in events, the
 * reservation is extended with every one of them, and settled by what was sent in the end, also if
 * the reader goes away. Otherwise the answer is 429 with {@code waitMs} and {@code queuePosition};
 * who comes again with the same {@code Idempotency-Key} finds its place in line.
 */
public final class StreamingEndpoint implements HttpHandler {
  private static final int OK = 200;
  private static final int TOO_LARGE = 413;
  private static final int TOO_MANY = 429;
  private static final long MILLIS = 1_000;
  private static final JsonMapper JSON = new JsonMapper();

  private final Governor governor;
  private final String model;
  private final Function<String, Iterator<String>> provider;

  /**
   * An endpoint of one model.
   *
   * @param governor of its tokens
   * @param model which
   * @param provider answers a prompt, token by token
   */
  public StreamingEndpoint(
      Governor governor, String model, Function<String, Iterator<String>> provider) {
    this.governor = governor;
    this.model = model;
    this.provider = provider;
  }

  @Override
  public void handle(HttpExchange exchange) throws IOException {
    try (exchange) {
      String prompt = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
      long most = Long.parseLong(exchange.getRequestHeaders().getFirst("X-Max-Tokens"));
      TokenRequest request =
          TokenRequest.of(model, tokens(prompt) + most).withPriorityClass("P1_user");
      String key = exchange.getRequestHeaders().getFirst("Idempotency-Key");
      TokenDecision outcome =
          governor.blocking().request(key == null ? request : request.withIdempotencyKey(key));
      if (outcome instanceof TokenDecision.Granted granted) {
        stream(exchange, prompt, granted);
      } else if (outcome instanceof TokenDecision.Queued queued) {
        refuse(exchange, queued);
      } else if (outcome instanceof TokenDecision.Denied denied) {
        answer(exchange, TOO_MANY, Map.of("error", denied.message()));
      } else if (outcome instanceof TokenDecision.Impossible impossible) {
        answer(exchange, TOO_LARGE, Map.of("error", impossible.message()));
      }
    }
  }

  /** About four letters a token: a real one counts by the provider's rules. */
  private static long tokens(String prompt) {
    return 1 + prompt.length() / 4L;
  }

  private void stream(HttpExchange exchange, String prompt, TokenDecision.Granted granted)
      throws IOException {
    long used = tokens(prompt);
    try {
      exchange.getResponseHeaders().set("Content-Type", "text/event-stream");
      exchange.sendResponseHeaders(OK, 0);
      OutputStream out = exchange.getResponseBody();
      Iterator<String> tokens = provider.apply(prompt);
      // Not beyond what is reserved, whatever the provider has to say.
      while (used < granted.tokens() && tokens.hasNext()) {
        String token = tokens.next();
        used++;
        governor.blocking().extend(granted.reservation());
        out.write(("data: " + token + "\n\n").getBytes(StandardCharsets.UTF_8));
        out.flush();
      }
    } finally {
      governor.blocking().settle(granted.reservation(), used);
    }
  }

  private static void refuse(HttpExchange exchange, TokenDecision.Queued queued)
      throws IOException {
    Map<String, Object> fields = new TreeMap<>();
    fields.put("queuePosition", queued.queuePosition());
    fields.put("binding", queued.binding());
    fields.put("ticket", queued.ticket());
    // Left out if unknown, as while all slots of the model are taken.
    queued.retryAfter().ifPresent(wait -> fields.put("waitMs", wait.toMillis()));
    queued.eta().ifPresent(eta -> fields.put("etaMs", eta.toMillis()));
    queued
        .eta()
        .ifPresent(
            eta -> {
              long seconds = (eta.toMillis() + MILLIS - 1) / MILLIS;
              exchange.getResponseHeaders().set("Retry-After", String.valueOf(seconds));
            });
    answer(exchange, TOO_MANY, fields);
  }

  private static void answer(HttpExchange exchange, int status, Map<String, Object> fields)
      throws IOException {
    byte[] body = JSON.writeValueAsBytes(new TreeMap<>(fields));
    exchange.getResponseHeaders().set("Content-Type", "application/json");
    exchange.sendResponseHeaders(status, body.length);
    exchange.getResponseBody().write(body);
  }
}
