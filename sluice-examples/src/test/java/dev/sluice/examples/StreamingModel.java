package dev.sluice.examples;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import dev.sluice.governor.Governor;
import dev.sluice.governor.ProviderResponse;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Iterator;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** docs/recipes/llm-streaming.md: answers come piece by piece, under the budget of the model. */
public final class StreamingModel {
  private static final JsonMapper JSON = new JsonMapper();

  private final HttpClient http = HttpClient.newHttpClient();
  private final Governor governor;
  private final URI endpoint;
  private final String model;

  public StreamingModel(Governor governor, URI endpoint, String model) {
    this.governor = governor;
    this.endpoint = endpoint;
    this.model = model;
  }

  /** Streams the answer to a prompt; returns the tokens that it cost. */
  public long ask(String tenant, String prompt, int maxOutput, Consumer<String> reader)
      throws IOException, InterruptedException {
    while (true) {
      TokenDecision.Granted grant = reserve(tenant, promptTokens(prompt) + maxOutput);
      Usage usage = new Usage();
      try {
        HttpResponse<Stream<String>> response = call(prompt, maxOutput);
        try (Stream<String> lines = response.body()) { // of a refusal too: it has the connection
          governor
              .blocking()
              .feedback(model, told(response)); // before settle: a refusal stops the others too
          if (response.statusCode() == 200) {
            usage.atLeast(promptTokens(prompt));
            read(lines, grant, usage, reader);
            return usage.tokens;
          }
          if (response.statusCode() != 429) {
            throw new IOException("the provider answered " + response.statusCode());
          }
        }
      } finally {
        governor
            .blocking()
            .settle(grant.reservation(), usage.tokens); // the rest returns to the budget
      }
    }
  }

  /** Reserves the most that input and output can use; waits if necessary. */
  private TokenDecision.Granted reserve(String tenant, long tokens) throws IOException {
    TokenDecision outcome =
        governor
            .blocking()
            .request(
                TokenRequest.of(model, tokens)
                    .withPriorityClass("P1_user")
                    .withTenant(tenant)
                    .withMaxWait(Duration.ofMinutes(1)));
    if (outcome instanceof TokenDecision.Queued queued) {
      outcome = governor.await(queued.ticket()).join().orElseThrow();
    }
    if (outcome instanceof TokenDecision.Granted granted) {
      return granted;
    }
    throw new IOException("no tokens: " + outcome);
  }

  private void read(
      Stream<String> lines, TokenDecision.Granted grant, Usage usage, Consumer<String> reader)
      throws IOException {
    for (Iterator<String> each = lines.iterator(); each.hasNext(); ) {
      String line = each.next();
      if (!line.startsWith("data: {")) {
        continue; // empty lines, and [DONE]
      }
      JsonNode event = JSON.readTree(line.substring("data: ".length()));
      String piece = event.at("/choices/0/delta/content").asText("");
      if (!piece.isEmpty()) {
        usage.atLeast(usage.tokens + 1); // until the provider says what it really was
        governor.blocking().extend(grant.reservation()); // it lives as long again
        reader.accept(piece);
      }
      usage.atLeast(event.at("/usage/total_tokens").asLong());
    }
  }

  private HttpResponse<Stream<String>> call(String prompt, int maxOutput)
      throws IOException, InterruptedException {
    Map<String, Object> body =
        Map.of("model", model, "prompt", prompt, "max_tokens", maxOutput, "stream", true);
    HttpRequest request =
        HttpRequest.newBuilder(endpoint)
            .POST(HttpRequest.BodyPublishers.ofByteArray(JSON.writeValueAsBytes(body)))
            .build();
    return http.send(request, HttpResponse.BodyHandlers.ofLines());
  }

  private static ProviderResponse told(HttpResponse<?> response) {
    Map<String, String> headers =
        response.headers().map().entrySet().stream()
            .collect(Collectors.toMap(Map.Entry::getKey, each -> each.getValue().get(0)));
    return new ProviderResponse(response.statusCode(), headers);
  }

  /** About four letters a token: a real one counts by the provider's rules. */
  private static long promptTokens(String prompt) {
    return 1 + prompt.length() / 4L;
  }

  /** The known usage, also when the stream breaks. */
  private static final class Usage {
    private long tokens;

    void atLeast(long known) {
      tokens = Math.max(tokens, known);
    }
  }
}
