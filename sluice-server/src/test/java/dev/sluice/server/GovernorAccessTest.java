package dev.sluice.server;

import static dev.sluice.server.KeyedServer.BOOTSTRAP;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.proto.v1.ExplainTokensRequest;
import dev.sluice.proto.v1.GetGovernorStatusRequest;
import dev.sluice.proto.v1.GovernorGrpc;
import dev.sluice.proto.v1.GovernorStatus;
import dev.sluice.proto.v1.RequestTokensRequest;
import dev.sluice.proto.v1.TokenRequest;
import dev.sluice.testkit.load.SeedBudget;
import io.grpc.Status;
import java.io.IOException;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Permissions of the governor. */
@Timeout(60)
final class GovernorAccessTest {
  private static final String MODEL = "deepseek-r1";

  @TempDir Path dir;
  private KeyedServer server;

  @BeforeEach
  void start() throws IOException {
    server = new KeyedServer(ServerConfig.defaults(dir).withGovernorFile(SeedBudget.FILE));
  }

  @AfterEach
  void stop() {
    server.close();
  }

  private GovernorGrpc.GovernorBlockingStub as(String key) {
    return GovernorGrpc.newBlockingStub(server.with("Bearer " + key));
  }

  private static TokenRequest ask(String model, String tenant, String priority) {
    return TokenRequest.newBuilder()
        .setModel(model)
        .setTokens(1)
        .setTenant(tenant)
        .setPriority(priority)
        .build();
  }

  private String ask(String key, TokenRequest request) {
    Status asked =
        KeyedServer.statusOf(
            () ->
                as(key)
                    .requestTokens(RequestTokensRequest.newBuilder().setRequest(request).build()));
    Status explained =
        KeyedServer.statusOf(
            () ->
                as(key)
                    .explainTokens(ExplainTokensRequest.newBuilder().setRequest(request).build()));
    assertThat(explained.getCode()).isEqualTo(asked.getCode());
    return asked.isOk() ? "OK" : String.valueOf(asked.getDescription());
  }

  @Test
  void key_isRestrictedToItsModelsTenantsAndClasses() {
    String key =
        server
            .create(
                "governor:model:deepseek-r1",
                "governor:tenant:acme",
                "governor:class:P1_user",
                "governor:class:P2_batch")
            .getSecret();
    assertThat(ask(key, ask(MODEL, "acme", ""))).isEqualTo("OK");
    assertThat(ask(key, ask(MODEL, "acme", "P2_batch"))).isEqualTo("OK");
    assertThat(ask(key, ask(MODEL, "acme", "P0_clinical")))
        .endsWith("governor on class:P0_clinical");
    assertThat(ask(key, ask(MODEL, "other", ""))).endsWith("governor on tenant:other");
    assertThat(ask(key, ask(MODEL, "", ""))).endsWith("governor on tenant:");
    assertThat(ask(key, ask("OX7A3F8D", "acme", ""))).endsWith("governor on model:OX7A3F8D");
  }

  @Test
  void requestWithoutClass_needsTheLeastUrgentOne() {
    String urgent =
        server
            .create("governor:model:deepseek-r1", "governor:tenant:acme", "governor:class:P1_user")
            .getSecret();
    assertThat(ask(urgent, ask(MODEL, "acme", "P1_user"))).isEqualTo("OK");
    assertThat(ask(urgent, ask(MODEL, "acme", ""))).endsWith("governor on class:P2_batch");
  }

  @Test
  void asterisk_allowsAllNamesWithItsPrefix() {
    String key =
        server.create("governor:model:*", "governor:tenant:acme:*", "governor:class:*").getSecret();
    assertThat(ask(key, ask(MODEL, "acme:web", "P0_clinical"))).isEqualTo("OK");
    assertThat(ask(key, ask("OX7A3F8D", "acme:batch", ""))).isEqualTo("OK");
    assertThat(ask(key, ask(MODEL, "acme", ""))).endsWith("governor on tenant:acme");
    assertThat(ask(key, ask(MODEL, "", ""))).endsWith("governor on tenant:");
    assertThat(ask(server.create("governor:*").getSecret(), ask(MODEL, "", "P0_clinical")))
        .isEqualTo("OK");
  }

  private List<String> seen(String key) {
    return as(key)
        .getGovernorStatus(GetGovernorStatusRequest.getDefaultInstance())
        .getStatus()
        .getModelsList()
        .stream()
        .map(GovernorStatus.Model::getModel)
        .toList();
  }

  @Test
  void status_showsTheModelsThatTheKeyMayUse() {
    assertThat(seen(server.create("governor:model:OX7A3F8D").getSecret()))
        .containsExactly("OX7A3F8D");
    assertThat(seen(server.create("admin:*").getSecret())).hasSize(4);
    assertThat(seen(BOOTSTRAP)).hasSize(4);
    assertThat(seen(server.create("produce:*", "admin:q").getSecret())).isEmpty();
  }

  @Test
  void useOfAModel_allowsNoFeedback_andViceVersa() {
    HttpProbe http = new HttpProbe(server.httpPort());
    String path = "/v1/governor/models/deepseek-r1/feedback";
    String user =
        server.create("governor:model:*", "governor:tenant:*", "governor:class:*").getSecret();
    String proxy = server.create("governor:feedback:*").getSecret();
    assertThat(feedback(http, path, user)).isEqualTo(403);
    assertThat(feedback(http, path, proxy)).isNotEqualTo(403);
    assertThat(ask(proxy, ask(MODEL, "", ""))).endsWith("governor on model:deepseek-r1");
  }

  private static int feedback(HttpProbe http, String path, String key) {
    return http.send(
            http.request(path)
                .header("Authorization", "Bearer " + key)
                .POST(BodyPublishers.ofString("{\"status\":200}")))
        .status();
  }
}
