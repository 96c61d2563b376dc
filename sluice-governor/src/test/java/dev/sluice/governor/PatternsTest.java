package dev.sluice.governor;

import static dev.sluice.governor.Rig.MODEL;
import static dev.sluice.governor.Rig.P0;
import static dev.sluice.governor.WaitingListFixture.MINUTE;
import static dev.sluice.governor.WaitingListFixture.SECOND;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.sun.net.httpserver.HttpServer;
import dev.sluice.governor.examples.ResumableBatch;
import dev.sluice.governor.examples.StreamingEndpoint;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The patterns of docs/governor.md at a virtual time. */
class PatternsTest {
  @TempDir Path directory;
  private final HttpClient client = HttpClient.newHttpClient();
  private final List<HttpServer> servers = new ArrayList<>();

  @AfterEach
  void stop() {
    servers.forEach(each -> each.stop(0));
  }

  // ---- streaming answers

  private URI serve(Rig rig, Function<String, Iterator<String>> provider) throws Exception {
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext("/", new StreamingEndpoint(rig.governor, MODEL, provider));
    server.start();
    servers.add(server);
    return URI.create("http://127.0.0.1:" + server.getAddress().getPort() + "/");
  }

  private HttpResponse<String> ask(URI uri, String prompt, long most, String... headers)
      throws Exception {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(uri)
            .timeout(Duration.ofSeconds(20))
            .header("X-Max-Tokens", String.valueOf(most))
            .POST(HttpRequest.BodyPublishers.ofString(prompt));
    if (headers.length > 0) {
      request.headers(headers);
    }
    return client.send(request.build(), HttpResponse.BodyHandlers.ofString());
  }

  private static Iterator<String> words(int count) {
    return IntStream.range(0, count).mapToObj(i -> "word" + i).iterator();
  }

  @Test
  void stream_isSettledWithTheTokensSent() throws Exception {
    try (Rig rig = new Rig(Allocation.OFF)) {
      HttpResponse<String> answer = ask(serve(rig, prompt -> words(3)), "why", 1_000);
      assertThat(answer.statusCode()).isEqualTo(200);
      assertThat(answer.headers().firstValue("Content-Type")).contains("text/event-stream");
      assertThat(answer.body()).isEqualTo("data: word0\n\ndata: word1\n\ndata: word2\n\n");
      assertThat(rig.available()).isEqualTo(300_000 - 1 - 3);
      assertThat(rig.status().running()).isZero();
    }
  }

  @Test
  void stream_endsWhereItsReservationDoes() throws Exception {
    try (Rig rig = new Rig(Allocation.OFF)) {
      HttpResponse<String> answer = ask(serve(rig, prompt -> words(100)), "why", 10);
      assertThat(answer.body()).contains("data: word9\n").doesNotContain("word10");
    }
  }

  /** Each word takes longer than half of a reservation's life. */
  @Test
  void longStream_keepsItsReservation() throws Exception {
    try (Rig rig =
        new Rig(Rig.sonnet(Allocation.OFF).toBuilder().maxConcurrentRequests(1).build())) {
      List<Integer> running = new ArrayList<>();
      Iterator<String> slow =
          IntStream.range(0, 10)
              .mapToObj(
                  i -> {
                    rig.timer.advance(6 * MINUTE);
                    running.add(rig.status().running());
                    return "word" + i;
                  })
              .iterator();
      assertThat(ask(serve(rig, prompt -> slow), "why", 1_000).body()).contains("word9");
      assertThat(running).hasSize(10).containsOnly(1);
    }
  }

  @Test
  void notGranted_is429_withTheSeedsFields_andARetryFindsItsPlace() throws Exception {
    try (Rig rig = new Rig(Allocation.OFF)) {
      URI uri = serve(rig, prompt -> words(1));
      rig.granted(300_000, P0);
      HttpResponse<String> first = ask(uri, "why", 7_999, "Idempotency-Key", "k1");
      HttpResponse<String> second = ask(uri, "why", 3_999, "Idempotency-Key", "k2");
      assertThat(first.statusCode()).isEqualTo(429);
      JsonNode fields = new JsonMapper().readTree(second.body());
      assertThat(fields.path("waitMs").longValue()).isEqualTo(1_000);
      assertThat(fields.path("queuePosition").intValue()).isEqualTo(2);
      assertThat(fields.path("etaMs").longValue()).isEqualTo(3_000);
      assertThat(second.headers().firstValue("Retry-After")).contains("3");
      HttpResponse<String> again = ask(uri, "why", 3_999, "Idempotency-Key", "k2");
      assertThat(new JsonMapper().readTree(again.body())).isEqualTo(fields);
      rig.timer.advance(3 * SECOND);
      assertThat(ask(uri, "why", 3_999, "Idempotency-Key", "k2").statusCode()).isEqualTo(200);
      assertThat(ask(uri, "why", 300_000).statusCode()).isEqualTo(413);
    }
  }

  @Test
  void providerThatFails_isSettledToo() throws Exception {
    try (Rig rig = new Rig(Allocation.OFF)) {
      Function<String, Iterator<String>> broken =
          prompt -> {
            throw new IllegalStateException("no answer");
          };
      URI uri = serve(rig, broken);
      assertThat(ask(uri, "why", 1_000).body()).isEmpty();
      assertThat(rig.status().running()).isZero();
      assertThat(rig.available()).isEqualTo(299_999);
    }
  }

  // ---- batches

  private static List<ResumableBatch.Chunk> chunks(int count, long tokens) {
    return IntStream.range(0, count)
        .mapToObj(i -> new ResumableBatch.Chunk("chunk-" + i, tokens))
        .toList();
  }

  private static ResumableBatch.Result done(ResumableBatch.Chunk chunk) {
    return new ResumableBatch.Result(chunk.id() + "\n", chunk.tokens());
  }

  private ResumableBatch batch(Rig rig) {
    return new ResumableBatch(
        rig.governor, MODEL, directory, time -> rig.timer.advance(time.toNanos()));
  }

  private static List<String> ids(List<ResumableBatch.Chunk> chunks) {
    return chunks.stream().map(ResumableBatch.Chunk::id).toList();
  }

  @Test
  void batch_runsAsTokensAccrue_andSkipsNoChunk() throws Exception {
    // No request may wait, so that chunks are denied; for the other half they may.
    for (int line : new int[] {0, 10}) {
      BudgetConfig config =
          Rig.config(
              Map.of(MODEL, Rig.sonnet(Allocation.OFF)), Rig.rules(line, Duration.ofSeconds(30)));
      try (Rig rig = new Rig(config)) {
        ResumableBatch batch = batch(rig);
        List<ResumableBatch.Chunk> chunks = chunks(10 + line, 100_000);
        batch.run(chunks, PatternsTest::done);
        assertThat(Files.readAllLines(batch.output())).isEqualTo(ids(chunks));
        // The second time ten of twenty were done before.
        assertThat(rig.timer.nanoTime()).isGreaterThanOrEqualTo(700_000 / 4_000 * SECOND);
      }
    }
  }

  @Test
  void impossibleChunk_isAnErrorAndNotSkipped() {
    try (Rig rig = new Rig(Allocation.CEILING)) {
      assertThatThrownBy(() -> batch(rig).run(chunks(1, 120_001), PatternsTest::done))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("chunk-0")
          .hasMessageContaining("120000");
    }
  }

  /** The crash of a worker, with a governor that goes on. */
  @Test
  void chunkOfACrash_isDoneAgain_andChargedOnce() throws Exception {
    try (Rig rig = new Rig(Allocation.OFF)) {
      List<ResumableBatch.Chunk> chunks = chunks(5, 1_000);
      ResumableBatch.Worker crashing =
          chunk -> {
            if (chunk.id().equals("chunk-3")) {
              throw new IllegalStateException("crash");
            }
            return done(chunk);
          };
      assertThatThrownBy(() -> batch(rig).run(chunks, crashing)).hasMessage("crash");
      List<String> again = new ArrayList<>();
      batch(rig)
          .run(
              chunks,
              chunk -> {
                again.add(chunk.id());
                return done(chunk);
              });
      assertThat(again).containsExactly("chunk-3", "chunk-4");
      assertThat(Files.readAllLines(batch(rig).output())).isEqualTo(ids(chunks));
      assertThat(rig.status().counts().tokensConsumed()).isEqualTo(5_000);
      assertThat(rig.status().running()).isZero();
    }
  }

  /** The crash between the output and its checkpoint. */
  @Test
  void outputBeyondTheCheckpoint_isCutOff() throws Exception {
    try (Rig rig = new Rig(Allocation.OFF)) {
      List<ResumableBatch.Chunk> chunks = chunks(5, 1_000);
      batch(rig).run(chunks.subList(0, 3), PatternsTest::done);
      Files.writeString(batch(rig).output(), "chunk-3\nchu", StandardOpenOption.APPEND);
      Files.writeString(directory.resolve("checkpoint.next"), "4");
      batch(rig).run(chunks, PatternsTest::done);
      assertThat(Files.readAllLines(batch(rig).output())).isEqualTo(ids(chunks));
    }
  }
}
