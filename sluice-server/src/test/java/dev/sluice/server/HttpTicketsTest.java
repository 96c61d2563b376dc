package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.server.HttpProbe.Reply;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tickets of the governor over HTTP: polls, long polls and events. */
@Tag("any-jdk")
@Timeout(60)
class HttpTicketsTest {
  private static final long LONG_PATIENCE_MS = 600_000;

  @TempDir Path dir;
  private GovernedServer server;

  @BeforeEach
  void start() throws IOException {
    server = started(LONG_PATIENCE_MS);
  }

  /** Starts the server; overridden to keep budgets in another store. */
  GovernedServer started(long patienceMs) throws IOException {
    return new GovernedServer(dir, patienceMs);
  }

  @AfterEach
  void stop() {
    server.close();
  }

  @Test
  void poll_reportsThePosition_thenTheGrant() {
    String reservation = server.takeTheOne();
    String ticket = server.ticket("one", 20);
    Reply waiting = server.http.get(ticket);
    assertThat(waiting.status()).isEqualTo(202);
    assertThat(waiting.json().get("queuePosition").asInt()).isEqualTo(1);
    assertThat(waiting.header("Retry-After")).isEmpty();
    server.settle(reservation, 10);
    Reply granted = server.http.get(ticket);
    assertThat(granted.status()).isEqualTo(200);
    assertThat(granted.json().get("tokens").asLong()).isEqualTo(20);
  }

  @Test
  void longPoll_isAnsweredWhenItIsGranted() {
    String reservation = server.takeTheOne();
    String ticket = server.ticket("one", 20);
    CompletableFuture<Reply> poll =
        server.http.sendLater(server.http.request(ticket + "?waitMs=60000").GET());
    server.awaitWaiting(1);
    assertThat(poll).isNotDone();
    server.settle(reservation, 10);
    assertThat(poll.join().status()).isEqualTo(200);
    assertThat(poll.join().json().get("granted").asBoolean()).isTrue();
    server.awaitWaiting(0);
  }

  @Test
  void longPoll_returnsThePosition_whenItTimesOut() {
    server.takeTheOne();
    Reply still = server.http.get(server.ticket("one", 20) + "?waitMs=50");
    assertThat(still.status()).isEqualTo(202);
    assertThat(still.json().get("queuePosition").asInt()).isEqualTo(1);
    server.awaitWaiting(0);
  }

  @Test
  void unknownNames_are404() {
    for (String name : new String[] {"x", "t0-ff", "t999999999-1", "r0-1", "%00", "t-1-"}) {
      String ticket = "/v1/governor/tickets/" + name;
      assertThat(server.http.get(ticket).code()).as(name).isEqualTo("NOT_FOUND");
      assertThat(server.http.get(ticket + "?waitMs=10000").status()).as(name).isEqualTo(404);
      assertThat(server.http.get(ticket + "/events").status()).as(name).isEqualTo(404);
      assertThat(server.http.delete(ticket).status()).as(name).isEqualTo(404);
      assertThat(server.settle(name, 1).status()).as(name).isEqualTo(404);
      String extend = "/v1/governor/reservations/%s/extend".formatted(name);
      assertThat(server.http.post(extend, "").status()).as(name).isEqualTo(404);
    }
    server.awaitWaiting(0);
  }

  @Test
  void cancel_leavesTheWaitingList() {
    server.takeTheOne();
    String ticket = server.ticket("one", 20);
    CompletableFuture<Reply> poll =
        server.http.sendLater(server.http.request(ticket + "?waitMs=60000").GET());
    server.awaitWaiting(1);
    assertThat(server.http.delete(ticket).status()).isEqualTo(204);
    assertThat(poll.join().status()).isEqualTo(410);
    assertThat(poll.join().json().get("reason").asText()).isEqualTo("CANCELLED");
    assertThat(server.http.delete(ticket).status()).isEqualTo(404);
    assertThat(server.status("one").at("/queueLengths/P1_user").asInt()).isZero();
  }

  @Test
  void deadline_is410() {
    server.takeTheOne();
    Reply queued =
        server.http.post(
            "/v1/governor/requests", "{\"model\":\"one\",\"tokens\":1,\"maxWaitMs\":50}");
    String ticket = "/v1/governor/tickets/" + queued.json().get("ticket").asText();
    Reply refused = server.http.get(ticket + "?waitMs=20000");
    assertThat(refused.status()).isEqualTo(410);
    assertThat(refused.json().get("reason").asText()).isEqualTo("TIMEOUT");
  }

  @Test
  void clientThatLeavesALongPoll_losesItsTicketAfterTheIdleTimeout() throws IOException {
    server.close();
    server = started(200);
    String reservation = server.takeTheOne();
    String ticket = server.ticket("one", 20);
    try (Socket client = new Socket(InetAddress.getLoopbackAddress(), server.server.httpPort())) {
      client
          .getOutputStream()
          .write(
              "GET %s?waitMs=60000 HTTP/1.1\r\nHost: localhost\r\n\r\n"
                  .formatted(ticket)
                  .getBytes(StandardCharsets.US_ASCII));
      server.awaitWaiting(1);
      // Longer than the idle timeout: a waiting caller need not poll.
      await()
          .during(java.time.Duration.ofMillis(600))
          .until(() -> server.status("one").at("/queueLengths/P1_user").asInt() == 1);
    }
    server.awaitWaiting(0);
    await().until(() -> server.status("one").at("/queueLengths/P1_user").asInt() == 0);
    // For a while a poll returns the reason; then the ticket is unknown.
    await().until(() -> server.http.get(ticket).status() == 404);
    assertThat(server.settle(reservation, 10).status()).isEqualTo(200);
    assertThat(server.status("one").get("running").asInt()).isZero();
  }

  @Test
  void unclaimedGrant_isReturned() throws IOException {
    server.close();
    server = started(2_000); // long enough to see the grant on a busy machine
    String reservation = server.takeTheOne();
    server.ticket("one", 20);
    server.settle(reservation, 10);
    assertThat(server.status("one").get("running").asInt()).isEqualTo(1);
    await().until(() -> server.status("one").get("running").asInt() == 0);
  }

  @Test
  void closing_endsLongPolls() {
    server.takeTheOne();
    CompletableFuture<Reply> poll =
        server.http.sendLater(
            server.http.request(server.ticket("one", 20) + "?waitMs=60000").GET());
    server.awaitWaiting(1);
    server.close();
    assertThat(poll.join().status()).isEqualTo(503);
  }

  // ---- events

  private BufferedReader events(String ticket) throws Exception {
    HttpResponse<InputStream> answer =
        server
            .http
            .client()
            .send(
                server.http.request(ticket + "/events").GET().build(),
                BodyHandlers.ofInputStream());
    assertThat(answer.statusCode()).isEqualTo(200);
    assertThat(answer.headers().firstValue("Content-Type").orElse(""))
        .startsWith("text/event-stream");
    return new BufferedReader(new InputStreamReader(answer.body(), StandardCharsets.UTF_8));
  }

  /** Event and data of the next; empty at the end. */
  private static String next(BufferedReader events) throws IOException {
    String event = "";
    for (String line = events.readLine(); line != null; line = events.readLine()) {
      if (line.startsWith("event:")) {
        event = line.substring("event:".length());
      } else if (line.startsWith("data:")) {
        return event + " " + line.substring("data:".length());
      }
    }
    return "";
  }

  @Test
  void events_sendThePosition_thenTheGrant_andEnd() throws Exception {
    String reservation = server.takeTheOne();
    String before = server.ticket("one", 10);
    String ticket = server.ticket("one", 20);
    try (BufferedReader events = events(ticket)) {
      assertThat(next(events)).startsWith("queued {").contains("\"queuePosition\":2");
      assertThat(server.http.delete(before).status()).isEqualTo(204);
      assertThat(next(events)).startsWith("queued {").contains("\"queuePosition\":1");
      server.settle(reservation, 10);
      assertThat(next(events))
          .startsWith("granted {\"granted\":true,\"tokens\":20")
          .contains("\"reservation\"");
      assertThat(next(events)).isEmpty();
    }
    server.awaitWaiting(0);
  }

  @Test
  void events_endWithTheRefusal() throws Exception {
    server.takeTheOne();
    String ticket = server.ticket("one", 20);
    try (BufferedReader events = events(ticket)) {
      assertThat(next(events)).startsWith("queued");
      server.http.delete(ticket);
      assertThat(next(events)).startsWith("denied").contains("CANCELLED");
      assertThat(next(events)).isEmpty();
    }
  }

  @Test
  void events_ofAGrantedTicket_sendTheGrantOnly() throws Exception {
    String reservation = server.takeTheOne();
    String ticket = server.ticket("one", 20);
    server.settle(reservation, 10);
    try (BufferedReader events = events(ticket)) {
      assertThat(next(events)).startsWith("granted");
      assertThat(next(events)).isEmpty();
    }
    assertThat(server.server.ticketWaits()).isZero();
  }

  @Test
  void listenerThatLeaves_losesItsTicketAfterTheIdleTimeout() throws Exception {
    server.close();
    server = started(200);
    server.takeTheOne();
    String ticket = server.ticket("one", 20);
    try (BufferedReader events = events(ticket)) {
      assertThat(next(events)).startsWith("queued");
      server.awaitWaiting(1);
    }
    await().until(() -> server.status("one").at("/queueLengths/P1_user").asInt() == 0);
    server.awaitWaiting(0);
  }
}
