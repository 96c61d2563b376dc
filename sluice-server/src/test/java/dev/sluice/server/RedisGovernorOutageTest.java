package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.proto.v1.WatchTicketRequest;
import dev.sluice.proto.v1.WatchTicketResponse;
import dev.sluice.redis.OutageMode;
import dev.sluice.server.HttpProbe.Reply;
import dev.sluice.testkit.redis.RedisServer;
import io.grpc.Status;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The governor of a server while Redis is away, and afterwards. */
@Tag("any-jdk")
@Timeout(60)
final class RedisGovernorOutageTest {
  /** An unreported grant is found after a third of it at the latest. */
  private static final long PATIENCE_MS = 9_000;

  /** A slow answer on a busy machine is no outage; a killed Redis is noticed at once. */
  private static final Duration TIMEOUT = Duration.ofSeconds(2);

  private static final String AVAILABLE = "sluice_governor_redis_available";

  private static final String RUNNING = "token_bucket_running{model=\"one\"}";

  @TempDir private Path dir;

  private GovernedServer start(String name, RedisServer redis) throws IOException {
    return new GovernedServer(
        Files.createDirectories(dir.resolve(name)),
        PATIENCE_MS,
        RedisConfig.at(redis.uri()).withTimeout(TIMEOUT).onOutage(OutageMode.CLOSED));
  }

  private static void awaitAvailable(GovernedServer server, double value) {
    await().until(() -> Scrape.of(server.http).value(AVAILABLE) == value);
  }

  private static void assertAway(Reply reply) {
    assertThat(reply.status()).as(reply.response().body()).isEqualTo(503);
    assertThat(reply.header("Retry-After")).isEqualTo("1");
    assertThat(reply.response().body()).contains("UNAVAILABLE");
  }

  @Test
  void killed_everyProtocolReportsIt_waitersStay_andTheWaitingListSurvives() throws Exception {
    try (CapturedLog log = new CapturedLog();
        RedisServer redis = RedisServer.builder().data().config("appendonly", "yes").start();
        GovernedServer here = start("here", redis);
        GovernedServer there = start("there", redis)) {
      awaitAvailable(here, 1);
      String first = here.takeTheOne();
      String ticket = here.ticket("one", 20);
      CompletableFuture<Reply> poll =
          there.http.sendLater(there.http.request(ticket + "?waitMs=20000").GET());
      Recorded<WatchTicketResponse> stream = new Recorded<>();
      String id = ticket.substring(ticket.lastIndexOf('/') + 1);
      there.streams().watchTicket(WatchTicketRequest.newBuilder().setTicket(id).build(), stream);
      stream.next();
      there.awaitWaiting(2);
      assertThat(Scrape.of(here.http).value(RUNNING)).isEqualTo(1);
      redis.kill();
      awaitAvailable(here, 0);
      awaitAvailable(there, 0);
      assertAway(here.request("slow", 1));
      assertAway(here.http.get(ticket));
      assertAway(here.http.get(ticket + "/events"));
      // Redis is told when it is back.
      assertThat(here.settle(first, 10).status()).isEqualTo(200);
      assertThat(here.http.get("/v1/governor/status").status()).isEqualTo(200);
      assertThat(here.http.post("/v1/governor/reload", "").status()).isEqualTo(200);
      TestServer.assertRefused(() -> here.requestGrpc("slow", 1), Status.Code.UNAVAILABLE, "Redis");
      Scrape away = Scrape.of(here.http);
      assertThat(away.value("sluice_governor_redis_outages_total")).isPositive();
      assertThat(here.http.get("/readyz").status()).isEqualTo(200);
      // Longer than from one look at the ticket to the next.
      await().during(Duration.ofMillis(1_500)).until(() -> there.server.ticketWaits() == 2);
      redis.restart();
      awaitAvailable(here, 1);
      awaitAvailable(there, 1);
      assertThat(poll.join().status()).isEqualTo(200);
      assertThat(stream.end().isOk()).isTrue();
      assertThat(log.text())
          .contains("Redis does not answer; the governor follows the outage mode");
    }
  }

  @Test
  void started_whileRedisIsDown_itServes_andRecovers() throws Exception {
    try (RedisServer redis = RedisServer.start()) {
      redis.kill();
      try (GovernedServer server = start("here", redis)) {
        assertThat(Scrape.of(server.http).value(AVAILABLE)).isZero();
        assertThat(server.http.get("/readyz").status()).isEqualTo(200);
        assertAway(server.request("slow", 1));
        redis.restart();
        awaitAvailable(server, 1);
        // The waiting list is back. The budget starts empty, because earlier usage is unknown.
        assertThat(server.request("slow", 1).response().body()).contains("\"ticket\"");
      }
    }
  }
}
