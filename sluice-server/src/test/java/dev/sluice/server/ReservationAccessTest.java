package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.proto.v1.CancelTicketRequest;
import dev.sluice.proto.v1.ExtendReservationRequest;
import dev.sluice.proto.v1.GovernorGrpc;
import dev.sluice.proto.v1.PollTicketRequest;
import dev.sluice.proto.v1.SettleReservationRequest;
import dev.sluice.proto.v1.WatchTicketRequest;
import dev.sluice.server.HttpProbe.Reply;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.MetadataUtils;
import java.io.IOException;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tickets and reservations belong to every key that may make their request. Another key that has
 * learned an id gets, over both protocols, the answer for an unknown id.
 */
@Timeout(60)
class ReservationAccessTest {
  private static final String BOOTSTRAP = "bootstrap-for-tests";
  private static final String NEVER = "%s0123456789-00000000000000000000000000000000";
  private static final List<String> MINE =
      List.of("model:one", "tenant:acme", "class:P1_user", "class:P2_batch");

  @TempDir Path dir;
  private SluiceServer server;
  private ManagedChannel channel;
  private HttpProbe http;

  @BeforeEach
  void start() throws IOException {
    Path file = dir.resolve("token-budget.json");
    Files.writeString(
        file,
        """
        {"models": {
           "one": {"target_tpm": 60000, "concurrency": 1, "allocation": "off",
             "priority_classes": {"P0_clinical": 1.0, "P1_user": 1.0, "P2_batch": 1.0}},
           "two": {"target_tpm": 60000, "allocation": "off",
             "priority_classes": {"P0_clinical": 1.0, "P1_user": 1.0, "P2_batch": 1.0}}},
         "routes": {"any": ["two"]},
         "governor": {"ticket_idle_timeout_ms": 600000}}
        """);
    server =
        SluiceServer.start(
            configured(
                ServerConfig.defaults(dir.resolve("data"))
                    .withListen(ListenConfig.ANYWHERE)
                    .withBootstrapKey(BOOTSTRAP)
                    .withGovernorFile(file)));
    channel = NettyChannelBuilder.forAddress("127.0.0.1", server.grpcPort()).usePlaintext().build();
    http = new HttpProbe(server.httpPort());
  }

  /** Returns the configuration; overridden to keep budgets in another store. */
  ServerConfig configured(ServerConfig config) {
    return config;
  }

  @AfterEach
  void stop() {
    channel.shutdownNow();
    server.close();
  }

  // ---- callers

  private Reply call(String key, String method, String path, String body) {
    return http.send(
        http.request("/v1/" + path)
            .header("Authorization", "Bearer " + key)
            .method(method, BodyPublishers.ofString(body)));
  }

  private String key(List<String> names) {
    String permissions =
        names.stream()
            .map("{\"kind\":\"governor\",\"pattern\":\"%s\"}"::formatted)
            .collect(Collectors.joining(","));
    return call(
            BOOTSTRAP,
            "POST",
            "api-keys",
            "{\"name\":\"k\",\"permissions\":[%s]}".formatted(permissions))
        .json()
        .get("secret")
        .asText();
  }

  private String key(String... names) {
    return key(Arrays.asList(names));
  }

  /** Of all that acme's key may, but one. */
  private Map<String, String> strangers() {
    Map<String, String> keys = new LinkedHashMap<>();
    keys.put("model", key("model:two", "tenant:acme", "class:P1_user"));
    keys.put("tenant", key("model:*", "tenant:other", "class:*"));
    keys.put("class", key("model:*", "tenant:*", "class:P2_batch"));
    keys.put("route", key("model:any", "tenant:*", "class:*"));
    keys.put("feedback", key("feedback:*"));
    return keys;
  }

  private Reply ask(String key, String model) {
    return call(
        key,
        "POST",
        "governor/requests",
        "{\"model\":\"%s\",\"tokens\":10,\"tenant\":\"acme\",\"priority\":\"P1_user\"}"
            .formatted(model));
  }

  private GovernorGrpc.GovernorBlockingStub grpc(String key) {
    Metadata headers = new Metadata();
    headers.put(
        Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER), "Bearer " + key);
    return GovernorGrpc.newBlockingStub(channel)
        .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers));
  }

  // ---- what they are told

  /** All that can be done with either, over HTTP, as it is answered; without the name itself. */
  private List<String> overHttp(String key, String reservation, String ticket) {
    return List.of(
            call(
                key,
                "POST",
                "governor/reservations/" + reservation + "/settle",
                "{\"actualTokens\":9}"),
            call(key, "POST", "governor/reservations/" + reservation + "/extend", ""),
            call(key, "GET", "governor/tickets/" + ticket, ""),
            call(key, "GET", "governor/tickets/" + ticket + "?waitMs=60000", ""),
            call(key, "GET", "governor/tickets/" + ticket + "/events", ""),
            call(key, "DELETE", "governor/tickets/" + ticket, ""))
        .stream()
        .map(reply -> reply.status() + " " + reply.response().body())
        .map(said -> said.replace(reservation, "ID").replace(ticket, "ID"))
        .toList();
  }

  private List<String> overGrpc(String key, String reservation, String ticket) {
    GovernorGrpc.GovernorBlockingStub stub = grpc(key);
    List<Runnable> calls =
        List.of(
            () ->
                stub.settleReservation(
                    SettleReservationRequest.newBuilder().setReservation(reservation).build()),
            () ->
                stub.extendReservation(
                    ExtendReservationRequest.newBuilder().setReservation(reservation).build()),
            () -> stub.pollTicket(PollTicketRequest.newBuilder().setTicket(ticket).build()),
            () ->
                stub.pollTicket(
                    PollTicketRequest.newBuilder().setTicket(ticket).setWaitMs(60_000).build()),
            () ->
                stub.watchTicket(WatchTicketRequest.newBuilder().setTicket(ticket).build()).next(),
            () -> stub.cancelTicket(CancelTicketRequest.newBuilder().setTicket(ticket).build()));
    return calls.stream()
        .map(KeyedServer::statusOf)
        .map(Status::toString)
        .map(said -> said.replace(reservation, "ID").replace(ticket, "ID"))
        .toList();
  }

  @Test
  void reservationAndTicketOfAnotherTenant_areNotFound() {
    String mine = key(MINE);
    String reservation = ask(mine, "one").json().get("reservation").asText();
    String ticket = ask(mine, "one").json().get("ticket").asText();
    strangers()
        .forEach(
            (what, stranger) -> {
              List<String> never = overHttp(stranger, NEVER.formatted("r"), NEVER.formatted("t"));
              assertThat(never).as(what).allMatch(said -> said.startsWith("404 "));
              assertThat(overHttp(stranger, reservation, ticket)).as(what).isEqualTo(never);
              assertThat(overGrpc(stranger, reservation, ticket))
                  .as(what)
                  .allMatch(said -> said.contains("NOT_FOUND"))
                  .isEqualTo(overGrpc(stranger, NEVER.formatted("r"), NEVER.formatted("t")));
            });
    // Both are unchanged.
    assertThat(call(mine, "GET", "governor/tickets/" + ticket, "").status()).isEqualTo(202);
    assertThat(call(mine, "POST", "governor/reservations/" + reservation + "/extend", "").status())
        .isEqualTo(204);
    Reply settled =
        call(
            mine,
            "POST",
            "governor/reservations/" + reservation + "/settle",
            "{\"actualTokens\":9}");
    assertThat(settled.json().get("actualTokens").asLong()).isEqualTo(9);
    assertThat(call(mine, "GET", "governor/tickets/" + ticket + "?waitMs=60000", "").status())
        .isEqualTo(200);
    assertThat(call(mine, "DELETE", "governor/tickets/" + ticket, "").status()).isEqualTo(204);
  }

  @Test
  void keyOfARoute_canSettleGrantsOfItsModels() {
    String routed = key("model:any", "tenant:acme", "class:P1_user");
    Reply granted = ask(routed, "any");
    assertThat(granted.json().get("model").asText()).isEqualTo("two");
    String path = "governor/reservations/" + granted.json().get("reservation").asText();
    assertThat(call(routed, "POST", path + "/extend", "").status()).isEqualTo(204);
    assertThat(call(routed, "POST", path + "/settle", "{\"actualTokens\":1}").status())
        .isEqualTo(200);
  }

  @Test
  void anotherKeyOfTheSameTenant_canExtend() {
    String reservation = ask(key(MINE), "one").json().get("reservation").asText();
    for (List<String> names :
        List.of(MINE, List.of("*"), List.of("model:*", "tenant:*", "class:*"))) {
      assertThat(
              call(key(names), "POST", "governor/reservations/" + reservation + "/extend", "")
                  .status())
          .isEqualTo(204);
    }
  }
}
