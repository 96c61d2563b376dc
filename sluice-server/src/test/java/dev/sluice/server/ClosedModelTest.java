package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import dev.sluice.server.HttpProbe.Reply;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A server whose only model is closed by a damaged journal. */
@Timeout(60)
final class ClosedModelTest {
  @TempDir private Path dir;

  private TestServer start() throws IOException {
    Path budgets = dir.resolve("token-budget.json");
    Files.writeString(budgets, "{\"models\":{\"m\":{\"target_tpm\":60000}}}");
    return TestServer.start(ServerConfig.defaults(dir.resolve("data")).withGovernorFile(budgets));
  }

  private Path damageJournal() throws IOException {
    Path journal;
    try (Stream<Path> files = Files.list(dir.resolve("data/governor"))) {
      journal =
          files.filter(file -> file.toString().endsWith(".journal")).findFirst().orElseThrow();
    }
    byte[] content = Files.readAllBytes(journal);
    content[9] ^= 1;
    Files.write(journal, content);
    return journal;
  }

  private static ServingStatus health(TestServer server, String service) {
    HealthCheckRequest request = HealthCheckRequest.newBuilder().setService(service).build();
    return HealthGrpc.newBlockingStub(server.channel).check(request).getStatus();
  }

  @Test
  void closedModel_degradesTheServer_failsReloads_andIsRepairedByRenamingItsJournal()
      throws IOException {
    try (TestServer server = start()) {
      HttpProbe http = new HttpProbe(server.server.httpPort());
      assertThat(http.post("/v1/governor/requests", "{\"model\":\"m\",\"tokens\":100}").status())
          .isEqualTo(200);
    }
    Path journal = damageJournal();
    try (TestServer server = start()) {
      HttpProbe http = new HttpProbe(server.server.httpPort());
      await().until(() -> health(server, "sluice.v1.Governor") == ServingStatus.NOT_SERVING);
      assertThat(health(server, "")).isEqualTo(ServingStatus.SERVING);
      assertThat(health(server, "sluice.v1.Queues")).isEqualTo(ServingStatus.SERVING);
      assertThat(http.get("/healthz").status()).isEqualTo(200);
      JsonNode readiness = http.get("/readyz").json();
      assertThat(readiness.path("status").asText()).isEqualTo("ready");
      assertThat(readiness.path("degraded").toString()).isEqualTo("[\"governor\"]");

      Reply refused = http.post("/v1/governor/reload", "");
      assertThat(refused.code()).isEqualTo("FAILED_PRECONDITION");
      assertThat(refused.message()).startsWith("reloaded, but model m is closed: " + journal);

      Files.move(journal, journal.resolveSibling(journal.getFileName() + ".damaged"));
      assertThat(http.post("/v1/governor/reload", "").status()).isEqualTo(200);
      assertThat(http.get("/readyz").json().has("degraded")).isFalse();
      await().until(() -> health(server, "sluice.v1.Governor") == ServingStatus.SERVING);
    }
  }
}
