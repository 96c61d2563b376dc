package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.sluice.server.HttpProbe.Reply;
import dev.sluice.server.transport.RequestSizeLimits;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The governor over HTTP. */
@Timeout(60)
final class HttpGovernorTest {
  private static final long LONG_PATIENCE_MS = 600_000;

  @TempDir Path dir;
  private GovernedServer server;

  @BeforeEach
  void start() throws IOException {
    server = new GovernedServer(dir, LONG_PATIENCE_MS);
  }

  @AfterEach
  void stop() {
    server.close();
  }

  // ---- asking

  @Test
  void granted_reportsTokensAndRemaining() {
    Reply granted = server.request("scaled", 3_000);
    assertThat(granted.status()).isEqualTo(200);
    JsonNode json = granted.json();
    assertThat(json.toString())
        .startsWith(
            "{\"granted\":true,\"tokens\":2100,\"requestedTokens\":3000,\"remaining\":297900,"
                + "\"model\":\"scaled\",\"priority\":\"P1_user\",\"reservation\":\"");
    assertThat(granted.header("RateLimit-Policy")).isEqualTo("\"tpm\";q=300000;w=75");
    assertThat(granted.header("RateLimit")).isEqualTo("\"tpm\";r=297900;t=1");
    assertThat(granted.header("Retry-After")).isEmpty();
  }

  @Test
  void queued_is429_withPositionTicketAndHeaders() {
    server.request("slow", 1_000);
    Reply queued = server.request("slow", 100);
    assertThat(queued.status()).isEqualTo(429);
    JsonNode json = queued.json();
    assertThat(json.get("granted").asBoolean()).isFalse();
    assertThat(json.get("tokens").asLong()).isEqualTo(100);
    assertThat(json.get("queuePosition").asInt()).isEqualTo(1);
    assertThat(json.get("waitMs").asLong()).isBetween(60_000L, 100_000L);
    assertThat(json.get("etaMs")).isEqualTo(json.get("waitMs"));
    assertThat(json.get("binding").asText()).isEqualTo("TOKENS");
    assertThat(json.get("model").asText()).isEqualTo("slow");
    assertThat(json.get("priority").asText()).isEqualTo("P1_user");
    assertThat(json.get("ticket").asText()).isNotEmpty();
    long seconds = (json.get("waitMs").asLong() + 999) / 1_000;
    assertThat(queued.header("Retry-After")).isEqualTo(Long.toString(seconds));
    assertThat(queued.header("RateLimit-Policy")).isEqualTo("\"tpm\";q=1000;w=1000");
    assertThat(queued.header("RateLimit")).matches("\"tpm\";r=\\d+;t=\\d+");
    Reply second = server.request("slow", 100);
    assertThat(second.json().get("queuePosition").asInt()).isEqualTo(2);
    assertThat(second.json().get("etaMs").asLong()).isGreaterThan(json.get("etaMs").asLong());
  }

  @Test
  void withoutAFreeSlot_etaIsUnknown() {
    server.takeTheOne();
    Reply queued = server.request("one", 10);
    assertThat(queued.status()).isEqualTo(429);
    requireUnknown(queued);
    Reply polled = server.http.get("/v1/governor/tickets/" + queued.json().get("ticket").asText());
    assertThat(polled.status()).isEqualTo(202);
    requireUnknown(polled);
    JsonNode foretold =
        server.http.post("/v1/governor/explain", GovernedServer.ask("one", 10)).json();
    assertThat(foretold.get("binding").asText()).isEqualTo("CONCURRENCY");
    assertThat(foretold.has("waitMs")).isFalse();
    assertThat(foretold.has("etaMs")).isFalse();
    JsonNode slots = foretold.get("dimensions").get(foretold.get("dimensions").size() - 1);
    assertThat(slots.get("dimension").asText()).isEqualTo("CONCURRENCY");
    assertThat(slots.has("waitMs")).isFalse();
  }

  private static void requireUnknown(Reply queued) {
    assertThat(queued.json().get("binding").asText()).isEqualTo("CONCURRENCY");
    assertThat(queued.json().has("waitMs")).isFalse();
    assertThat(queued.json().has("etaMs")).isFalse();
    assertThat(queued.header("Retry-After")).isEmpty();
  }

  @Test
  void retryAfter_includesTheWaitForTheClassShare() {
    String batch = "{\"model\":\"shared\",\"tokens\":12000,\"priority\":\"P2_batch\"}";
    String urgent = "{\"model\":\"shared\",\"tokens\":300000,\"priority\":\"P0_clinical\"}";
    assertThat(server.http.post("/v1/governor/requests", urgent).status()).isEqualTo(200);
    // The tokens come in 3 s, and 180,000 more are kept for the classes above.
    Reply queued = server.http.post("/v1/governor/requests", batch);
    assertThat(queued.json().get("binding").asText()).isEqualTo("PRIORITY_CLASS");
    long eta = queued.json().get("etaMs").asLong();
    assertThat(eta).isBetween(30_000L, 48_000L);
    assertThat(queued.header("Retry-After")).isEqualTo(Long.toString((eta + 999) / 1_000));
    Reply behind = server.http.post("/v1/governor/requests", batch);
    long later = behind.json().get("etaMs").asLong();
    assertThat(later).isGreaterThan(behind.json().get("waitMs").asLong());
    assertThat(behind.header("Retry-After")).isEqualTo(Long.toString((later + 999) / 1_000));
  }

  @Test
  void retryAfter_isAtLeastASecond() {
    server.request("slow", 1_000);
    Reply queued = server.request("slow", 1);
    for (int i = 0; i < 20 && queued.status() == 200; i++) {
      // A token has come meanwhile; there is one in a second.
      queued = server.request("slow", 1);
    }
    assertThat(queued.json().get("etaMs").asLong()).isBetween(1L, 1_000L);
    assertThat(queued.header("Retry-After")).isEqualTo("1");
  }

  @Test
  void moreThanTheCapacity_is422() {
    for (long tokens : new long[] {1_001, 1_000_000_000_000L}) {
      Reply refused = server.request("slow", tokens);
      assertThat(refused.status()).isEqualTo(422);
      assertThat(refused.json().get("granted").asBoolean()).isFalse();
      assertThat(refused.json().get("reason").asText()).isEqualTo("IMPOSSIBLE");
      assertThat(refused.json().get("message").asText()).contains("1000");
      assertThat(refused.json().get("tokens").asLong()).isEqualTo(tokens);
    }
  }

  @Test
  void fullWaitingList_is429_withoutTicket() {
    server.request("slow", 1_000);
    for (int i = 0; i < 5; i++) {
      server.ticket("slow", 100);
    }
    Reply refused = server.request("slow", 100);
    assertThat(refused.status()).isEqualTo(429);
    assertThat(refused.json().get("reason").asText()).isEqualTo("TOO_MANY_WAITERS");
    assertThat(refused.json().has("ticket")).isFalse();
  }

  @Test
  void idempotencyKey_findsItsTicketAgain_byHeaderOrBody() {
    server.request("slow", 1_000);
    var path = "/v1/governor/requests";
    String byBody =
        "{\"model\":\"slow\",\"tokens\":100,\"priority\":\"P1_user\",\"idempotencyKey\":\"k\"}";
    String first = server.http.post(path, byBody).json().get("ticket").asText();
    Reply again =
        server.http.send(
            server
                .http
                .request(path)
                .header("Idempotency-Key", "k")
                .POST(
                    java.net.http.HttpRequest.BodyPublishers.ofString(
                        GovernedServer.ask("slow", 100))));
    assertThat(again.json().get("ticket").asText()).isEqualTo(first);
    Reply two =
        server.http.send(
            server
                .http
                .request(path)
                .header("Idempotency-Key", "other")
                .POST(java.net.http.HttpRequest.BodyPublishers.ofString(byBody)));
    assertThat(two.status()).isEqualTo(400);
    assertThat(two.message()).contains("Idempotency-Key");
  }

  // ---- reservations

  @Test
  void settle_refundsOnce() {
    Reply granted = server.request("slow", 600);
    String reservation = granted.json().get("reservation").asText();
    String extend = "/v1/governor/reservations/%s/extend".formatted(reservation);
    assertThat(server.http.post(extend, "").status()).isEqualTo(204);
    Reply settled = server.settle(reservation, 100);
    assertThat(settled.status()).isEqualTo(200);
    assertThat(settled.json().toString())
        .isEqualTo(
            "{\"model\":\"slow\",\"tenant\":\"\",\"requestedTokens\":600,\"reservedTokens\":600,"
                + "\"actualTokens\":100,\"refundedTokens\":500,\"overusedTokens\":0,\"excessTokens\":0}");
    assertThat(server.status("slow").get("available").asLong()).isGreaterThanOrEqualTo(900);
    assertThat(server.settle(reservation, 100).code()).isEqualTo("NOT_FOUND");
    assertThat(server.http.post(extend, "").status()).isEqualTo(404);
  }

  // ---- what would happen

  @Test
  void explain_changesNothing() {
    Reply now = server.http.post("/v1/governor/explain", GovernedServer.ask("slow", 1_000));
    assertThat(now.status()).isEqualTo(200);
    assertThat(now.json().get("outcome").asText()).isEqualTo("GRANTED");
    assertThat(now.json().get("binding").asText()).isEqualTo("NONE");
    server.request("slow", 1_000);
    JsonNode later =
        server.http.post("/v1/governor/explain", GovernedServer.ask("slow", 100)).json();
    assertThat(later.get("outcome").asText()).isEqualTo("QUEUED");
    assertThat(later.get("queuePosition").asInt()).isEqualTo(1);
    assertThat(later.get("etaMs").asLong()).isBetween(60_000L, 100_000L);
    assertThat(later.get("binding").asText()).isEqualTo("TOKENS");
    assertThat(later.at("/dimensions/0/dimension").asText()).isEqualTo("TOKENS");
    assertThat(later.at("/dimensions/0/needed").asLong()).isEqualTo(100);
    JsonNode never =
        server.http.post("/v1/governor/explain", GovernedServer.ask("slow", 1_001)).json();
    assertThat(never.get("outcome").asText()).isEqualTo("IMPOSSIBLE");
    assertThat(server.status("slow").at("/metrics/totalRequests").asInt()).isEqualTo(1);
    assertThat(server.status("slow").at("/queueLengths/P1_user").asInt()).isZero();
  }

  // ---- the provider

  private Reply feedback(String model, String body) {
    return server.http.post("/v1/governor/models/%s/feedback".formatted(model), body);
  }

  @Test
  void feedback_delaysTheModel() {
    Reply told = feedback("scaled", "{\"status\":429,\"headers\":{\"Retry-After\":\"90\"}}");
    assertThat(told.status()).as(told.response().body()).isEqualTo(204);
    Reply queued = server.request("scaled", 100);
    assertThat(queued.status()).isEqualTo(429);
    assertThat(queued.json().get("binding").asText()).isEqualTo("PROVIDER");
    assertThat(Integer.parseInt(queued.header("Retry-After"))).isBetween(60, 90);
    assertThat(server.status("scaled").at("/provider/throttled").asInt()).isEqualTo(1);
    assertThat(server.request("slow", 100).status()).isEqualTo(200);
    assertShown("token_bucket_provider_throttled_total{model=\"scaled\"}", 1);
  }

  @Test
  void badFeedback_isNamed() {
    assertThat(feedback("slow", "{}").message()).isEqualTo("status is required");
    assertThat(feedback("slow", "{\"status\":99}").message())
        .contains("from 100 to 599, but was 99");
    assertThat(feedback("unknown", "{\"status\":200}").status()).isEqualTo(400);
    assertThat(feedback("slow", "{\"status\":200,\"headers\":{\"a\":null}}").message())
        .contains("headers");
    StringBuilder many = new StringBuilder("\"a\":\"b\"");
    for (int i = 0; i < RequestSizeLimits.MAX_HEADERS; i++) {
      many.append(",\"h%d\":\"x\"".formatted(i));
    }
    assertThat(feedback("slow", "{\"status\":200,\"headers\":{%s}}".formatted(many)).message())
        .contains("headers must have at most 100 entries, but has 101");
    String longest = "x".repeat(5_000);
    assertThat(
            feedback("slow", "{\"status\":200,\"headers\":{\"a\":\"%s\"}}".formatted(longest))
                .message())
        .contains("the length of a header must be from");
  }

  // ---- other budgets

  @Test
  void reload_appliesTheFile_andRefillsNoTokens() throws IOException {
    server.request("slow", 900);
    String ticket = server.ticket("slow", 500);
    Files.writeString(
        server.file,
        Files.readString(server.file).replace("\"burst_tpm\": 1000,", "\"burst_tpm\": 2000,"));
    Reply reloaded = server.http.post("/v1/governor/reload", "");
    assertThat(reloaded.status()).as(reloaded.response().body()).isEqualTo(200);
    assertThat(reloaded.json().toString())
        .isEqualTo("{\"ignoredKeys\":[\"models.scaled.retry_max\"]}");
    assertThat(server.status("slow").get("capacity").asLong()).isEqualTo(2_000);
    // Used tokens stay used: 900 before, and now those 500 as well.
    assertThat(server.status("slow").get("available").asLong()).isBetween(600L, 700L);
    Reply granted = server.http.get(ticket);
    assertThat(granted.status()).isEqualTo(200);
    assertThat(granted.header("RateLimit-Policy")).isEqualTo("\"tpm\";q=2000;w=2000");
  }

  @Test
  void reloadOfAnInvalidFile_changesNothing() throws IOException {
    String good = Files.readString(server.file);
    Files.writeString(server.file, good.replace("\"burst_tpm\": 1000,", "\"burst_tpm\": -1,"));
    Reply refused = server.http.post("/v1/governor/reload", "");
    assertThat(refused.status()).isEqualTo(412);
    assertThat(refused.code()).isEqualTo("FAILED_PRECONDITION");
    assertThat(refused.message()).contains("burst_tpm", "-1");
    Files.delete(server.file);
    assertThat(server.http.post("/v1/governor/reload", "").status()).isEqualTo(412);
    assertThat(server.status("slow").get("capacity").asLong()).isEqualTo(1_000);
    assertThat(server.request("slow", 1_000).status()).isEqualTo(200);
  }

  @Test
  void reloadWithoutAModel_refusesItsWaiters_andRemovesItsMetrics() throws IOException {
    server.takeTheOne();
    String ticket = server.ticket("one", 20);
    assertThat(Scrape.of(server.http).series())
        .containsKey("token_bucket_accepted_requests_total{model=\"one\"}");
    CompletableFuture<Reply> poll =
        server.http.sendLater(server.http.request(ticket + "?waitMs=60000").GET());
    server.awaitWaiting(1);
    Files.writeString(
        server.file, "{\"models\":{\"slow\":{\"target_tpm\":60,\"burst_tpm\":1000}}}");
    assertThat(server.http.post("/v1/governor/reload", "").status()).isEqualTo(200);
    assertThat(poll.join().status()).isEqualTo(410);
    assertThat(poll.join().json().get("reason").asText()).isEqualTo("REMOVED");
    assertThat(server.request("one", 1).message()).contains("model must be one of [slow]");
    assertThat(Scrape.of(server.http).series().keySet())
        .noneMatch(each -> each.startsWith("token_bucket") && each.contains("model=\"one\""));
  }

  @Test
  void restart_givesNoFreshBurst_andLosesNoReservation() throws IOException {
    String reservation = server.request("slow", 900).json().get("reservation").asText();
    server.close();
    server = new GovernedServer(dir, LONG_PATIENCE_MS);
    assertThat(server.status("slow").get("available").asLong()).isBetween(100L, 200L);
    assertThat(server.status("slow").get("running").asInt()).isEqualTo(1);
    assertThat(server.request("slow", 900).status()).isEqualTo(429);
    Reply settled = server.settle(reservation, 0);
    assertThat(settled.status()).isEqualTo(200);
    assertThat(settled.json().get("reservedTokens").asLong()).isEqualTo(900);
  }

  // ---- status

  @Test
  void status_hasTheFiguresOfTheModel() {
    server.request("slow", 790);
    server.request("slow", 500);
    JsonNode status = server.http.get("/v1/governor/status").json();
    assertThat(Instant.parse(status.get("timestamp").asText())).isNotNull();
    JsonNode slow = status.get("buckets").get("slow");
    assertThat(slow.get("capacity").asLong()).isEqualTo(1_000);
    assertThat(slow.get("available").asLong()).isBetween(210L, 300L);
    assertThat(slow.get("utilizationPct").asText()).matches("7\\d\\.\\d\\d");
    assertThat(slow.get("utilizationPct").isTextual()).isTrue();
    assertThat(slow.get("targetTPM").asLong()).isEqualTo(60);
    assertThat(slow.get("burstTPM").asLong()).isEqualTo(1_000);
    assertThat(slow.get("refillRate").asDouble()).isEqualTo(1);
    assertThat(Instant.parse(slow.get("lastRefill").asText())).isNotNull();
    assertThat(slow.get("queueLengths").toString())
        .isEqualTo("{\"P0_clinical\":0,\"P1_user\":1,\"P2_batch\":0}");
    assertThat(slow.get("running").asInt()).isEqualTo(1);
    JsonNode metrics = slow.get("metrics");
    assertThat(metrics.get("totalRequests").asLong()).isEqualTo(2);
    assertThat(metrics.get("acceptedRequests").asLong()).isEqualTo(1);
    assertThat(metrics.get("rejectedRequests").asLong()).isEqualTo(1);
    assertThat(metrics.get("tokensConsumed").asLong()).isEqualTo(790);
    assertThat(metrics.has("refillCount")).isTrue();
    assertThat(slow.at("/audit/errorTokens").asLong()).isZero();
    assertThat(slow.at("/provider/factor").asDouble()).isEqualTo(1);
    assertThat(slow.get("alerts").isArray()).isTrue();
  }

  @Test
  void serverWithoutABudgetFile_hasNoModels() throws IOException {
    try (SluiceServer plain =
        SluiceServer.start(
            ServerConfig.defaults(dir.resolve("plain")).withListen(ListenConfig.ANYWHERE))) {
      HttpProbe http = new HttpProbe(plain.httpPort());
      assertThat(http.get("/v1/governor/status").json().get("buckets").fieldNames())
          .toIterable()
          .isEmpty();
      Reply asked = http.post("/v1/governor/requests", GovernedServer.ask("gpt", 1));
      assertThat(asked.response().statusCode()).isEqualTo(400);
      assertThat(asked.json().toString()).contains("no model has a budget", "gpt");
      Reply reloaded = http.post("/v1/governor/reload", "");
      assertThat(reloaded.json().toString()).contains("governor.file is not set");
    }
  }

  @Test
  void metrics_showEveryModel() {
    String reservation = server.request("slow", 700).json().get("reservation").asText();
    server.request("slow", 500);
    assertShown("token_bucket_available{model=\"scaled\"}", 300_000);
    assertShown("token_bucket_capacity{model=\"slow\"}", 1_000);
    assertShown("token_bucket_accepted_requests_total{model=\"slow\"}", 1);
    assertShown("token_bucket_rejected_requests_total{model=\"slow\"}", 1);
    assertShown("token_bucket_queue_length{model=\"slow\",priority_class=\"P1_user\"}", 1);
    assertShown("token_bucket_tokens_consumed_total{model=\"slow\"}", 700);
    assertShown("token_bucket_running{model=\"slow\"}", 1);
    assertShown("token_bucket_audit_error_tokens{model=\"slow\"}", 0);
    assertShown("token_bucket_settled_excess_tokens_total{model=\"slow\"}", 0);
    assertShown("token_bucket_provider_factor{model=\"slow\"}", 1);
    assertShown("token_bucket_provider_drift_tokens{model=\"slow\"}", 0);
    assertShown("token_bucket_provider_throttled_total{model=\"slow\"}", 0);
    assertShown("token_bucket_alert{kind=\"queue_buildup\",model=\"slow\"}", 0);
    assertThat(Scrape.of(server.http).labels()).containsKey("token_bucket_refills_total");
    // A counter never goes back.
    server.settle(reservation, 600);
    assertShown("token_bucket_tokens_consumed_total{model=\"slow\"}", 700);
  }

  private void assertShown(String series, double value) {
    assertThat(Scrape.of(server.http).series()).as(series).containsEntry(series, value);
  }

  @Test
  void invalidBudgets_preventTheStart_andCreateNoFile() throws IOException {
    Path bad = Files.writeString(dir.resolve("bad.json"), "{\"models\":{}}");
    for (Path file : new Path[] {bad, dir.resolve("absent.json")}) {
      Path data = dir.resolve("never");
      ServerConfig config =
          ServerConfig.defaults(data).withListen(ListenConfig.ANYWHERE).withGovernorFile(file);
      assertThat(org.assertj.core.api.Assertions.catchThrowable(() -> SluiceServer.start(config)))
          .hasMessageContaining(file.toString());
      assertThat(data).doesNotExist();
    }
  }
}
