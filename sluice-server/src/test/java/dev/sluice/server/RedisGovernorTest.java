package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.proto.v1.ListQueuesRequest;
import dev.sluice.proto.v1.QueuesGrpc;
import dev.sluice.proto.v1.RequestTokensRequest;
import dev.sluice.proto.v1.RequestTokensResponse;
import dev.sluice.proto.v1.TokenDecision.DecisionCase;
import dev.sluice.proto.v1.TokenRequest;
import dev.sluice.proto.v1.WatchTicketRequest;
import dev.sluice.proto.v1.WatchTicketResponse;
import dev.sluice.server.HttpProbe.Reply;
import dev.sluice.testkit.redis.RedisServer;
import java.io.IOException;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Two servers that share budgets and a line through one Redis. */
@Tag("any-jdk")
@Timeout(60)
final class RedisGovernorTest {
  private static final long PATIENCE_MS = 60_000;
  private static final String REQUESTS = "/v1/governor/requests";
  @AutoClose private static final RedisServer redis = RedisServer.start();

  @TempDir private Path dir;
  private GovernedServer here;
  private GovernedServer there;

  private static RedisConfig patient() {
    return RedisConfig.at(redis.uri()).withTimeout(RedisLimitsTest.PATIENCE);
  }

  private GovernedServer start(String name, RedisConfig with) throws IOException {
    return new GovernedServer(Files.createDirectories(dir.resolve(name)), PATIENCE_MS, with);
  }

  @BeforeEach
  void startTwo() throws IOException {
    redis.command("FLUSHALL");
    here = start("here", patient());
    there = start("there", patient());
  }

  @AfterEach
  void stop() {
    here.close();
    there.close();
  }

  private static String idOf(String path) {
    return path.substring(path.lastIndexOf('/') + 1);
  }

  private static CompletableFuture<Reply> longPoll(GovernedServer at, String ticket) {
    return at.http.sendLater(at.http.request(ticket + "?waitMs=20000").GET());
  }

  @Test
  void ticketTakenAtOne_isPolledAndAwaitedAtTheOther() {
    String first = here.takeTheOne();
    String ticket = here.ticket("one", 20);
    Reply standing = there.http.get(ticket);
    assertThat(standing.status()).isEqualTo(202);
    assertThat(standing.json().get("queuePosition").asInt()).isEqualTo(1);
    CompletableFuture<Reply> poll = longPoll(there, ticket);
    there.awaitWaiting(1);
    assertThat(here.settle(first, 10).status()).isEqualTo(200);
    Reply granted = poll.join();
    assertThat(granted.status()).isEqualTo(200);
    assertThat(granted.json().get("tokens").asLong()).isEqualTo(20);
    String reservation = granted.json().get("reservation").asText();
    String extend = "/v1/governor/reservations/%s/extend".formatted(reservation);
    assertThat(here.http.post(extend, "").status()).isEqualTo(204);
    assertThat(here.settle(reservation, 20).status()).isEqualTo(200);
    assertThat(there.settle(reservation, 20).status()).isEqualTo(404);
  }

  @Test
  void ticketTakenAtOne_isFollowedAtTheOther_byEventsAndByAStream() throws Exception {
    String first = here.takeTheOne();
    String ticket = here.ticket("one", 20);
    Recorded<WatchTicketResponse> stream = new Recorded<>();
    there
        .streams()
        .watchTicket(WatchTicketRequest.newBuilder().setTicket(idOf(ticket)).build(), stream);
    assertThat(stream.next().getDecision().getQueued().getQueuePosition()).isEqualTo(1);
    CompletableFuture<String> events =
        there
            .http
            .client()
            .sendAsync(
                there.http.request(ticket + "/events").GET().build(), BodyHandlers.ofString())
            .thenApply(reply -> reply.body());
    there.awaitWaiting(2);
    here.settle(first, 10);
    assertThat(stream.next().getDecision().getGranted().getTokens()).isEqualTo(20);
    assertThat(stream.end().isOk()).isTrue();
    assertThat(events.join()).contains("event:queued").contains("event:granted");
    there.awaitWaiting(0);
  }

  @Test
  void ticketTakenAtOne_isCancelledAtTheOther() {
    here.takeTheOne();
    String ticket = here.ticket("one", 20);
    CompletableFuture<Reply> poll = longPoll(here, ticket);
    here.awaitWaiting(1);
    assertThat(there.http.delete(ticket).status()).isEqualTo(204);
    assertThat(poll.join().status()).isEqualTo(410);
    assertThat(poll.join().json().get("reason").asText()).isEqualTo("CANCELLED");
    assertThat(here.http.delete(ticket).status()).isEqualTo(404);
    assertThat(there.status("one").at("/queueLengths/P1_user").asInt()).isZero();
  }

  @Test
  void waitingList_isShared_andKeepsItsOrderOverServers() {
    String holder = here.takeTheOne();
    List<String> tickets = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      tickets.add((i % 2 == 0 ? here : there).ticket("one", 10 + i));
    }
    for (int i = 0; i < 4; i++) {
      Reply place = here.http.get(tickets.get(i));
      assertThat(place.json().get("queuePosition").asInt()).isEqualTo(i + 1);
    }
    for (int i = 0; i < 4; i++) {
      assertThat(there.settle(holder, 1).status()).isEqualTo(200);
      Reply granted = there.http.get(tickets.get(i));
      assertThat(granted.status()).isEqualTo(200);
      holder = granted.json().get("reservation").asText();
    }
  }

  @Test
  void idempotencyKey_findsItsTicketAndItsGrant_atTheOther() {
    String first = here.takeTheOne();
    String ask = "{\"model\":\"one\",\"tokens\":20,\"idempotencyKey\":\"{k}: *\\\"\"}";
    Reply queued = here.http.post(REQUESTS, ask);
    Reply again = there.http.post(REQUESTS, ask);
    assertThat(again.status()).isEqualTo(429);
    assertThat(again.json().get("ticket")).isEqualTo(queued.json().get("ticket"));
    assertThat(again.json().get("queuePosition").asInt()).isEqualTo(1);
    here.settle(first, 10);
    Reply granted = there.http.post(REQUESTS, ask);
    assertThat(granted.status()).isEqualTo(200);
    assertThat(here.http.post(REQUESTS, ask).json().get("reservation"))
        .isEqualTo(granted.json().get("reservation"));
    Reply other = here.http.post(REQUESTS, ask.replace("20", "21"));
    assertThat(other.status()).isEqualTo(400);
    assertThat(other.message()).contains("idempotency key");
  }

  @Test
  void reloadAtOne_appliesToBoth_andRefillsNoTokens() throws IOException {
    assertThat(there.request("slow", 900).status()).isEqualTo(200);
    String budgets = Files.readString(here.file);
    Files.writeString(here.file, budgets.replace("\"burst_tpm\": 1000,", "\"burst_tpm\": 500,"));
    assertThat(here.http.post("/v1/governor/reload", "").status()).isEqualTo(200);
    Reply refused = there.request("slow", 600);
    assertThat(refused.status()).isEqualTo(422);
    assertThat(refused.json().get("reason").asText()).isEqualTo("IMPOSSIBLE");
    assertThat(there.request("slow", 200).status()).isEqualTo(429);
    // A file that breaks a rule changes nothing at either.
    Files.writeString(here.file, "{\"models\":{\"slow\":{\"target_tpm\":0}}}");
    assertThat(here.http.post("/v1/governor/reload", "").status()).isEqualTo(412);
    assertThat(there.request("slow", 501).status()).isEqualTo(422);
  }

  @Test
  void closedServer_leavesItsTicketsQueued_forTheOther() {
    String first = here.takeTheOne();
    String ticket = here.ticket("one", 20);
    CompletableFuture<Reply> poll = longPoll(here, ticket);
    here.awaitWaiting(1);
    here.close();
    assertThat(poll.join().status()).isEqualTo(503);
    assertThat(there.http.get(ticket).status()).isEqualTo(202);
    there.settle(first, 10);
    assertThat(there.http.get(ticket).status()).isEqualTo(200);
  }

  @Test
  void keys_haveTheirPrefix_andNothingIsInTheDataDirectory() throws IOException {
    here.takeTheOne();
    here.ticket("one", 20);
    assertThat(keys("token-governor:2:{*}:*")).isNotEmpty();
    // And the number of the layout.
    assertThat(keys("token-governor:*")).hasSize(keys("token-governor:2:{*}:*").size() + 1);
    assertThat(Files.exists(dir.resolve("here/data/governor"))).isFalse();
    try (GovernedServer apart = start("apart", patient().withPrefix("staging:"))) {
      assertThat(apart.request("one", 10).status()).isEqualTo(200);
      assertThat(keys("staging:token-governor:2:{*}:books")).isNotEmpty();
    }
  }

  private static List<?> keys(String pattern) {
    return (List<?>) redis.command("KEYS", pattern);
  }

  @Test
  void hostileTicketIds_areNotFound_andChangeNothing() {
    String real = idOf(here.ticketBehindOne());
    Object before = redis.command("ZCARD", lineOf(real));
    String tag = real.substring(1, 11);
    Stream<String> names =
        Stream.of(
            "x",
            "t" + tag + "-" + "0".repeat(32),
            "t" + tag + "-" + "f".repeat(31) + "*",
            "r" + real.substring(1),
            "T" + real.substring(1),
            real + "0",
            real.toUpperCase(Locale.ROOT),
            "t" + "0".repeat(10) + real.substring(11),
            "t" + "9".repeat(2000),
            "%7B" + tag + "%7D:books",
            "%00" + real,
            real + "%0A",
            "%F0%9F%90%8D",
            "..%2F" + real);
    names.forEach(
        name -> {
          String ticket = "/v1/governor/tickets/" + name;
          int refusal = name.length() > 256 ? 400 : 404;
          assertThat(there.http.get(ticket).status()).as(name).isEqualTo(refusal);
          assertThat(there.http.get(ticket + "?waitMs=10000").status()).as(name).isEqualTo(refusal);
          assertThat(there.http.get(ticket + "/events").status()).as(name).isEqualTo(refusal);
          assertThat(there.http.delete(ticket).status()).as(name).isEqualTo(refusal);
          assertThat(there.settle(name, 1).status()).as(name).isEqualTo(refusal);
        });
    there.awaitWaiting(0);
    assertThat(redis.command("ZCARD", lineOf(real))).isEqualTo(before);
    assertThat(there.http.get("/v1/governor/tickets/" + real).status()).isEqualTo(202);
  }

  private static String lineOf(String ticket) {
    return "token-governor:2:{%s}:line".formatted(ticket.substring(1, 11));
  }

  @Test
  void slowRedis_delaysTheGovernorOnly() throws Exception {
    String ask = GovernedServer.ask("slow", 1);
    redis.pause();
    List<CompletableFuture<Reply>> asked = new ArrayList<>();
    List<Recorded<RequestTokensResponse>> calls = new ArrayList<>();
    try {
      for (int i = 0; i < 40; i++) {
        asked.add(here.http.postLater(REQUESTS, ask));
        Recorded<RequestTokensResponse> call = new Recorded<>();
        here.streams().requestTokens(tokens("slow", 1), call);
        calls.add(call);
      }
      await().until(() -> here.server.openCalls() == 40 && here.server.httpRequests() == 40);
      QueuesGrpc.newBlockingStub(here.channel).listQueues(ListQueuesRequest.getDefaultInstance());
      assertThat(here.http.get("/v1/queues").status()).isEqualTo(200);
      assertThat(asked).noneMatch(CompletableFuture::isDone);
    } finally {
      redis.resume();
    }
    asked.forEach(each -> assertThat(each.join().status()).isEqualTo(200));
    for (Recorded<RequestTokensResponse> call : calls) {
      assertThat(call.next().getDecision().getDecisionCase()).isEqualTo(DecisionCase.GRANTED);
    }
  }

  private static RequestTokensRequest tokens(String model, long tokens) {
    return RequestTokensRequest.newBuilder()
        .setRequest(TokenRequest.newBuilder().setModel(model).setTokens(tokens))
        .build();
  }
}
