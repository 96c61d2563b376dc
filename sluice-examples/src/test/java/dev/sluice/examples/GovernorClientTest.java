package dev.sluice.examples;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.client.GovernorClient;
import dev.sluice.client.SluiceClient;
import dev.sluice.client.TokenDecision;
import dev.sluice.client.TokenRequest;
import dev.sluice.server.ListenConfig;
import dev.sluice.server.ServerConfig;
import dev.sluice.server.SluiceServer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The example of docs/governor.md that goes over the network, run. */
@Timeout(120)
final class GovernorClientTest {
  @TempDir Path directory;
  private final Provider provider = (model, tokens) -> new Answer("hello", 137);

  @Test
  void callsUnderABudget() throws Exception {
    ServerConfig config =
        ServerConfig.defaults(directory)
            .withListen(ListenConfig.ANYWHERE)
            .withGovernorFile(Pages.ROOT.resolve("examples/governor/token-budget.json"));
    try (SluiceServer server = SluiceServer.start(config)) {
      callsUnderABudget(server.grpcPort());
    }
  }

  private void callsUnderABudget(int port) throws Exception {
    try (SluiceClient client = SluiceClient.connect("localhost", port)) {
      GovernorClient governor = client.governor();
      TokenRequest request = TokenRequest.of("deepseek-r1", 5_000).withTenant("acme");
      String answer =
          governor.call( // waits, calls, settles
              request.withMaxWait(Duration.ofSeconds(30)),
              grant -> {
                Answer answered = provider.complete(grant.model(), grant.tokens());
                grant.used(answered.totalTokens());
                return answered.text();
              });
      assertThat(answer).isEqualTo("hello");

      TokenDecision outcome = governor.request(request); // granted, queued or denied, at once
      CompletableFuture<TokenDecision> turn =
          governor.acquireAsync(request, place -> show(place.eta()));
      turn.cancel(false); // leaves the waiting list, or returns the grant
      assertThat(outcome).isInstanceOf(TokenDecision.Granted.class);
    }
  }

  private static void show(Optional<Duration> eta) {
    assertThat(eta).isPresent();
  }

  private interface Provider {
    Answer complete(String model, long tokens);
  }

  private record Answer(String text, long totalTokens) {}
}
