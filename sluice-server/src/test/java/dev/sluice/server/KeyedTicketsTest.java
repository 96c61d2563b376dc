package dev.sluice.server;

import static dev.sluice.server.KeyedServer.BOOTSTRAP;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.proto.v1.CreateApiKeyResponse;
import dev.sluice.proto.v1.GovernorGrpc;
import dev.sluice.proto.v1.PollTicketRequest;
import dev.sluice.proto.v1.PollTicketResponse;
import dev.sluice.proto.v1.RequestTokensRequest;
import dev.sluice.proto.v1.SettleReservationRequest;
import dev.sluice.proto.v1.TokenDecision;
import dev.sluice.proto.v1.TokenRequest;
import dev.sluice.proto.v1.WatchTicketRequest;
import dev.sluice.proto.v1.WatchTicketResponse;
import io.grpc.Status.Code;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Calls that wait for tickets of the governor while their key is revoked. */
@Tag("any-jdk")
@Timeout(90)
final class KeyedTicketsTest {
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  @TempDir Path dir;
  private KeyedServer server;
  private HttpProbe http;
  private CreateApiKeyResponse key;
  private String reservation = "";
  private String ticket = "";

  /** Model {@code one} has one request at a time: that of the ticket waits. */
  @BeforeEach
  void start() throws Exception {
    Path budgets = dir.resolve("token-budget.json");
    Files.writeString(budgets, GovernedServer.BUDGETS.formatted(600_000));
    server = new KeyedServer(ServerConfig.defaults(dir.resolve("data")).withGovernorFile(budgets));
    http = new HttpProbe(server.httpPort());
    key = server.create("governor:*");
    reservation = ask().getGranted().getReservation();
    ticket = ask().getQueued().getTicket();
    assertThat(ticket).isNotEmpty();
  }

  @AfterEach
  void stop() {
    server.close();
  }

  private GovernorGrpc.GovernorBlockingStub governor() {
    return GovernorGrpc.newBlockingStub(server.with("Bearer " + BOOTSTRAP));
  }

  private TokenDecision ask() {
    TokenRequest wanted = TokenRequest.newBuilder().setModel("one").setTokens(10).build();
    return governor()
        .requestTokens(RequestTokensRequest.newBuilder().setRequest(wanted).build())
        .getDecision();
  }

  private void awaitWaiting() {
    await().atMost(PATIENCE).until(() -> server.ticketWaits() == 1);
  }

  /** The ticket is granted right after its follower's key was revoked. */
  private void revokeAndGrant() {
    server.revoke(key.getId());
    var settle =
        SettleReservationRequest.newBuilder().setReservation(reservation).setActualTokens(1);
    assertThat(governor().settleReservation(settle.build())).isNotNull();
  }

  @Test
  void waitingList_showsTicketsToAdminsOfAllOnly() {
    assertThat(line("read:model:one")).contains("\"total\":1", "\"ticket\":\"\"");
    assertThat(line("admin:*")).contains(ticket);
    assertThat(line("read:model:slow", "governor:*")).contains("read on model:one");
  }

  private String line(String... permissions) {
    return http.send(
            http.request("/v1/governor/models/one/waiting-list")
                .header("Authorization", "Bearer " + server.create(permissions).getSecret()))
        .response()
        .body();
  }

  @Test
  void pollOverGrpc_endsWithoutADecision() throws Exception {
    Recorded<PollTicketResponse> poll = new Recorded<>();
    GovernorGrpc.newStub(server.with("Bearer " + key.getSecret()))
        .pollTicket(
            PollTicketRequest.newBuilder().setTicket(ticket).setWaitMs(60_000).build(), poll);
    awaitWaiting();
    revokeAndGrant();
    assertThat(poll.end().getCode()).isEqualTo(Code.UNAUTHENTICATED);
    assertThat(poll.isEmpty()).isTrue();
    await().atMost(PATIENCE).until(() -> server.watchedCalls() == 0);
  }

  @Test
  void pollOverHttp_endsWithoutADecision() {
    CompletableFuture<HttpProbe.Reply> poll =
        http.sendLater(
            http.request("/v1/governor/tickets/" + ticket + "?waitMs=60000")
                .timeout(PATIENCE)
                .header("Authorization", "Bearer " + key.getSecret()));
    awaitWaiting();
    revokeAndGrant();
    assertThat(poll.join().status()).isEqualTo(401);
  }

  @Test
  void watchOverGrpc_endsWithoutADecision() throws Exception {
    Recorded<WatchTicketResponse> watch = new Recorded<>();
    GovernorGrpc.newStub(server.with("Bearer " + key.getSecret()))
        .watchTicket(WatchTicketRequest.newBuilder().setTicket(ticket).build(), watch);
    assertThat(watch.next().getDecision().hasQueued()).isTrue();
    revokeAndGrant();
    assertThat(watch.end().getCode()).isEqualTo(Code.UNAUTHENTICATED);
    while (!watch.isEmpty()) {
      assertThat(watch.next().getDecision().hasQueued()).isTrue();
    }
  }

  @Test
  void eventsOverHttp_endWithoutADecision() throws Exception {
    HttpResponse<InputStream> events =
        http.client()
            .send(
                http.request("/v1/governor/tickets/" + ticket + "/events")
                    .header("Authorization", "Bearer " + key.getSecret())
                    .build(),
                BodyHandlers.ofInputStream());
    assertThat(events.statusCode()).isEqualTo(200);
    try (BufferedReader body =
        new BufferedReader(new InputStreamReader(events.body(), StandardCharsets.UTF_8))) {
      assertThat(body.readLine()).isEqualTo("event:queued");
      revokeAndGrant();
      assertThat(rest(body)).doesNotContain("event:granted");
    }
  }

  private static String rest(BufferedReader body) {
    StringBuilder told = new StringBuilder();
    try {
      for (String line = body.readLine(); line != null; line = body.readLine()) {
        told.append(line);
      }
    } catch (IOException cut) {
      told.append(" and the connection was closed");
    }
    return told.toString();
  }
}
