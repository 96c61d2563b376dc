package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.proto.v1.RequestTokensRequest;
import dev.sluice.proto.v1.SettleReservationRequest;
import dev.sluice.proto.v1.TokenRequest;
import dev.sluice.proto.v1.WatchTicketRequest;
import dev.sluice.proto.v1.WatchTicketResponse;
import dev.sluice.server.HttpProbe.Reply;
import dev.sluice.server.operations.TicketWaiters;
import io.grpc.Status;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Invalid and excessive requests to the governor. */
@Timeout(60)
final class HostileGovernorTest {
  @TempDir private static Path dir;
  private static GovernedServer server;

  @BeforeAll
  static void start() throws IOException {
    server = new GovernedServer(dir, 600_000);
  }

  @AfterAll
  static void stop() {
    server.close();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{'model':'slow','tokens':0} | tokens must be positive",
        "{'model':'slow','tokens':-5} | tokens must be positive",
        "{'model':'slow','tokens':1000000000001} | tokens must be at most 1000000000000, but was 1000000000001",
        "{'model':'slow','tokens':9223372036854775807,'expectedTokens':1} | tokens must be at most",
        "{'model':'slow','tokens':1.5} | tokens must be a whole number",
        "{'model':'slow','tokens':NaN} | body must be JSON",
        "{'model':'slow','tokens':'5'} | tokens must be a whole number",
        "{'model':'slow','tokens':9223372036854775808} | tokens",
        "{'model':'slow'} | tokens is required",
        "{'tokens':1} | model is required",
        "{'model':'','tokens':1} | model must have 1 to 256 bytes",
        "{'model':'unknown','tokens':1} | model must be one of",
        "{'model':'slow','tokens':1,'priority':'P9'} | priority must be one of",
        "{'model':'slow','tokens':1,'maxWaitMs':-1} | maxWaitMs must be from",
        "{'model':'slow','tokens':1,'maxWaitMs':9223372036854775807} | maxWaitMs must be from",
        "{'model':'slow','tokens':1,'tenant':'a\\nb'} | tenant must have no control characters",
        "{'model':'slow','tokens':1,'expectedTokens':2} | expected tokens must be from 1 to 1",
        "{'model':'slow','tokens':1,'expectedTokens':-2} | expected tokens must be from 1 to 1",
        "{'model':'slow','tokens':1,'wrong':1} | wrong",
        "[] | body",
      })
  void badRequests_areNamed(String body, String words) {
    int before = server.status("slow").at("/metrics/totalRequests").asInt();
    Reply refused = server.http.post("/v1/governor/requests", body.replace('\'', '"'));
    assertThat(refused.status()).as(refused.response().body()).isEqualTo(400);
    assertThat(refused.code()).isEqualTo("INVALID_ARGUMENT");
    assertThat(refused.message()).contains(words);
    assertThat(server.status("slow").at("/metrics/totalRequests").asInt()).isEqualTo(before);
  }

  @ParameterizedTest
  @CsvSource({"model", "tenant", "idempotencyKey", "priority"})
  void overlongNames_areRefused(String field) {
    String names =
        field.equals("model")
            ? "\"model\":\"%s\"".formatted("x".repeat(257))
            : "\"model\":\"slow\",\"%s\":\"%s\"".formatted(field, "ü".repeat(129));
    Reply refused = server.http.post("/v1/governor/requests", "{%s,\"tokens\":1}".formatted(names));
    assertThat(refused.status()).isEqualTo(400);
    assertThat(refused.message()).startsWith(field + " must have ").contains("to 256 bytes");
  }

  /** A waiting call would keep its id in memory. */
  @Test
  void overlongIds_areRefused() {
    String id = "x".repeat(257);
    for (Reply refused :
        List.of(
            server.http.delete("/v1/governor/tickets/" + id),
            server.http.get("/v1/governor/tickets/" + id + "?waitMs=1000"),
            server.http.post("/v1/governor/reservations/" + id + "/extend", ""))) {
      assertThat(refused.status()).isEqualTo(400);
      assertThat(refused.message())
          .isEqualTo("the length of an id must be from 0 to 256, but was 257");
    }
  }

  @ParameterizedTest
  @CsvSource({"-1", "60001", "x", "1.5"})
  void longPoll_isBounded(String waitMs) {
    Reply refused = server.http.get("/v1/governor/tickets/t0-1?waitMs=" + waitMs);
    assertThat(refused.status()).isEqualTo(400);
    assertThat(refused.message()).startsWith("waitMs must be");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{} | actualTokens is required",
        "{'actualTokens':-1} | actualTokens must be from",
        "{'actualTokens':1000000000001} | actualTokens must be from",
        "{'actualTokens':0.5} | actualTokens must be a whole number",
        "{'actual_tokens':1} | actual_tokens",
      })
  void invalidUsage_isNamed_andSettlesNothing(String body, String words) {
    String reservation = server.request("scaled", 600).json().get("reservation").asText();
    Reply refused =
        server.http.post(
            "/v1/governor/reservations/%s/settle".formatted(reservation), body.replace('\'', '"'));
    assertThat(refused.status()).isEqualTo(400);
    assertThat(refused.message()).contains(words);
    assertThat(server.settle(reservation, 1).status()).isEqualTo(200);
  }

  /** The next caller waited for 95 seconds. */
  @Test
  void impossibleUsage_isCounted_andDelaysNoOther(@TempDir Path own) throws IOException {
    try (GovernedServer fresh = new GovernedServer(own, 600_000)) {
      List<String> held = new ArrayList<>();
      for (int i = 0; i < 5; i++) {
        held.add(fresh.request("scaled", 1).json().get("reservation").asText());
      }
      Reply first = fresh.settle(held.get(0), 1_000_000_000_000L);
      assertThat(first.json().get("overusedTokens").asLong()).isEqualTo(299_999);
      assertThat(first.json().get("excessTokens").asLong()).isEqualTo(999_999_700_000L);
      for (String each : held.subList(1, 5)) {
        assertThat(fresh.settle(each, 1_000_000_000_000L).json().get("overusedTokens").asLong())
            .isEqualTo(1);
      }
      Reply next = fresh.request("scaled", 4_000);
      assertThat(next.status() == 200 || next.json().get("etaMs").asLong() <= 1_000)
          .as(next.response().body())
          .isTrue();
      assertThat(
              Scrape.of(fresh.http)
                  .value("token_bucket_settled_excess_tokens_total{model=\"scaled\"}"))
          .isGreaterThan(4.9e12);
    }
  }

  @Test
  void badRequestsOfGrpc_areNamed() {
    for (long tokens : new long[] {0, -1, Long.MIN_VALUE, 1_000_000_000_001L, Long.MAX_VALUE}) {
      TestServer.assertRefused(
          () -> server.requestGrpc("slow", tokens), Status.Code.INVALID_ARGUMENT, "tokens");
    }
    for (TokenRequest wrong :
        List.of(
            TokenRequest.getDefaultInstance(),
            TokenRequest.newBuilder().setModel("unknown").setTokens(1).build(),
            TokenRequest.newBuilder().setModel("x".repeat(1 << 20)).setTokens(1).build(),
            TokenRequest.newBuilder().setModel("slow").setTokens(1).setMaxWaitMs(-1).build(),
            TokenRequest.newBuilder().setModel("slow").setTokens(1).setTenant("\0").build())) {
      TestServer.assertRefused(
          () ->
              server
                  .grpc()
                  .requestTokens(RequestTokensRequest.newBuilder().setRequest(wrong).build()),
          Status.Code.INVALID_ARGUMENT,
          "must");
    }
    TestServer.assertRefused(
        () ->
            server
                .grpc()
                .settleReservation(
                    SettleReservationRequest.newBuilder()
                        .setReservation("x")
                        .setActualTokens(Long.MAX_VALUE)
                        .build()),
        Status.Code.INVALID_ARGUMENT,
        "actualTokens must be from");
  }

  @Test
  void watchesBeyondTheLimit_areRefused_andOthersGoOn() throws Exception {
    assertThat(server.request("one", 1).status()).isEqualTo(200);
    String ticket = server.request("one", 1).json().get("ticket").asText();
    WatchTicketRequest watch = WatchTicketRequest.newBuilder().setTicket(ticket).build();
    List<Recorded<WatchTicketResponse>> watches = new ArrayList<>();
    for (int i = 0; i < TicketWaiters.MAX_WATCHES; i++) {
      watches.add(new Recorded<>());
      server.streams().watchTicket(watch, watches.get(i));
    }
    for (Recorded<WatchTicketResponse> each : watches) {
      assertThat(each.next().getDecision().hasQueued()).isTrue();
    }
    assertThat(server.server.ticketWaits()).isEqualTo(TicketWaiters.MAX_WATCHES);
    Recorded<WatchTicketResponse> late = new Recorded<>();
    server.streams().watchTicket(watch, late);
    assertThat(late.end().getCode()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
    Reply events = server.http.get("/v1/governor/tickets/%s/events".formatted(ticket));
    assertThat(events.status()).isEqualTo(429);
    assertThat(server.http.delete("/v1/governor/tickets/" + ticket).status()).isEqualTo(204);
    for (Recorded<WatchTicketResponse> each : watches) {
      assertThat(each.end().isOk()).isTrue();
    }
    await().until(() -> server.server.ticketWaits() == 0);
  }
}
