package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.proto.v1.Cost;
import dev.sluice.proto.v1.DecideRequest;
import dev.sluice.proto.v1.DecideStreamRequest;
import dev.sluice.proto.v1.DecideStreamResponse;
import dev.sluice.proto.v1.Decision;
import dev.sluice.proto.v1.Limit;
import dev.sluice.proto.v1.LimitsGrpc;
import dev.sluice.proto.v1.Outcome;
import dev.sluice.proto.v1.SetLimitRequest;
import dev.sluice.redis.OutageMode;
import dev.sluice.server.operations.SharedLimitsMonitor;
import dev.sluice.testkit.redis.RedisServer;
import dev.sluice.testkit.redis.TcpProxy;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A server whose Redis goes away and comes back. */
@Tag("any-jdk")
@Timeout(60)
final class RedisOutageTest {
  /** The timeout is 100 ms; the rest is for a machine that has other things to do. */
  private static final Duration BOUND = Duration.ofSeconds(2);

  private static final DecideRequest ONE =
      DecideRequest.newBuilder().addCosts(Cost.newBuilder().setLimitName("k")).build();

  @TempDir private Path dir;

  private TestServer start(String url, OutageMode policy) throws IOException {
    return TestServer.start(
        ServerConfig.defaults(dir).withRedis(RedisConfig.at(url).onOutage(policy)));
  }

  private static void set(TestServer server, double rate, double burst) {
    server
        .limits()
        .setLimit(
            SetLimitRequest.newBuilder()
                .setLimit(Limit.newBuilder().setName("k").setRatePerSecond(rate).setBurst(burst))
                .build());
  }

  private static Decision decide(TestServer server) {
    return server.limits().decide(ONE).getDecision();
  }

  private static HttpProbe.Reply decideByHttp(HttpProbe http) {
    return http.post("/v1/decide", "{\"costs\":{\"k\":1}}");
  }

  /** Asks all the time on both wires; the longest wait counts. */
  private static final class Load implements AutoCloseable {
    private final AtomicBoolean ended = new AtomicBoolean();
    private final AtomicLong longestNanos = new AtomicLong();
    private final AtomicLong answers = new AtomicLong();
    private final ExecutorService threads = Executors.newFixedThreadPool(2);
    private final CompletableFuture<Void> callers;

    Load(TestServer server, HttpProbe http) {
      callers =
          CompletableFuture.allOf(
              CompletableFuture.runAsync(() -> repeat(() -> decide(server)), threads),
              CompletableFuture.runAsync(
                  () -> repeat(() -> assertThat(decideByHttp(http).status()).isIn(200, 429)),
                  threads));
    }

    private void repeat(Runnable call) {
      while (!ended.get()) {
        long begun = System.nanoTime();
        call.run();
        long taken = System.nanoTime() - begun;
        longestNanos.accumulateAndGet(taken, Math::max);
        answers.incrementAndGet();
      }
    }

    /** Returns when there have been a few more. */
    void goOn() {
      long before = answers.get();
      Awaitility.await().until(() -> answers.get() > before + 20);
    }

    @Override
    public void close() {
      ended.set(true);
      threads.shutdown();
      callers.join();
      assertThat(Duration.ofNanos(longestNanos.get())).isLessThan(BOUND);
    }
  }

  private static void await(TestServer server, Predicate<Decision> wanted) {
    Awaitility.await()
        .atMost(Duration.ofSeconds(10))
        .pollInterval(Duration.ofMillis(10))
        .until(() -> wanted.test(decide(server)));
  }

  private static boolean isGranted(Decision decision) {
    return decision.getOutcome() == Outcome.GRANTED;
  }

  @Test
  void killedUnderLoad_theOutageModeDecides_noCallHangs_andServiceRecovers() throws IOException {
    try (RedisServer redis = RedisServer.start();
        TestServer server = start(redis.uri(), OutageMode.CLOSED)) {
      server.awaitRedis();
      set(server, 1e6, 1e6);
      HttpProbe http = new HttpProbe(server.server.httpPort());
      try (Load load = new Load(server, http)) {
        load.goOn();
        redis.kill();
        await(server, decision -> decision.getOutcome() == Outcome.DENIED);
        load.goOn();
        assertThat(decideByHttp(http).status()).isEqualTo(429);
        assertThat(http.get("/readyz").status()).isEqualTo(200);
        // Calls that Redis misses are denied before the outage is declared.
        Awaitility.await()
            .atMost(Duration.ofSeconds(30))
            .until(() -> Scrape.of(http).value("sluice_limits_redis_outages_total") > 0);
        Scrape away = Scrape.of(http);
        assertThat(away.value("sluice_limits_redis_available")).isEqualTo(0);
        assertThat(away.value("sluice_limits_redis_decisions_total{path=\"closed\"}"))
            .isGreaterThan(20);
        redis.restart();
        await(server, RedisOutageTest::isGranted);
        load.goOn();
      }
      server.awaitRedis();
    }
  }

  @ParameterizedTest
  @EnumSource(OutageMode.class)
  void paused_everyProtocolFollowsTheOutageMode(OutageMode policy) throws Exception {
    try (RedisServer redis = RedisServer.start();
        TestServer server = start(redis.uri(), policy)) {
      server.awaitRedis();
      set(server, 0, 1000);
      HttpProbe http = new HttpProbe(server.server.httpPort());
      redis.pause();
      try (Load load = new Load(server, http)) {
        load.goOn();
        Recorded<DecideStreamResponse> answers = new Recorded<>();
        StreamObserver<DecideStreamRequest> requests =
            LimitsGrpc.newStub(server.channel).decideStream(answers);
        Stream.of(0, 1, 2).forEach(batch -> requests.onNext(batch(batch)));
        requests.onCompleted();
        for (int batch = 0; batch < 3; batch++) {
          DecideStreamResponse answer = answers.next();
          assertThat(answer.getBatch()).isEqualTo(batch);
          // A share begins empty, and nothing accrues at this rate.
          assertThat(answer.getResultsList())
              .hasSize(100)
              .allMatch(each -> isGranted(each.getDecision()) == (policy == OutageMode.OPEN));
        }
        assertThat(answers.end().isOk()).isTrue();
        HttpProbe.Reply reply = decideByHttp(http);
        assertThat(reply.header("RateLimit-Policy")).isEqualTo("\"k\";q=1000");
        assertThat(reply.header("RateLimit")).isEmpty();
        redis.resume();
      }
      server.awaitRedis();
    }
  }

  private static DecideStreamRequest batch(int number) {
    return DecideStreamRequest.newBuilder()
        .setBatch(number)
        .addAllRequests(Collections.nCopies(100, ONE))
        .build();
  }

  @Test
  void aSlowRedis_getsAWholeBatchAtOnce_andAnswersKeepTheirOrder() throws Exception {
    try (RedisServer redis = RedisServer.start();
        TcpProxy proxy = TcpProxy.to(redis);
        TestServer server =
            TestServer.start(
                ServerConfig.defaults(dir)
                    .withRedis(
                        RedisConfig.at(proxy.uri()).withTimeout(RedisLimitsTest.PATIENCE)))) {
      server.awaitRedis();
      set(server, 0, 250);
      proxy.delay(Duration.ofMillis(100), Duration.ZERO);
      Recorded<DecideStreamResponse> answers = new Recorded<>();
      long begun = System.nanoTime();
      StreamObserver<DecideStreamRequest> requests =
          LimitsGrpc.newStub(server.channel).decideStream(answers);
      requests.onNext(batch(0));
      // One that Redis need not be asked about.
      requests.onNext(
          DecideStreamRequest.newBuilder()
              .setBatch(1)
              .addRequests(ONE.toBuilder().clearCosts())
              .build());
      requests.onNext(batch(2));
      requests.onNext(batch(3));
      requests.onCompleted();
      int granted = 0;
      for (int batch = 0; batch < 4; batch++) {
        DecideStreamResponse answer = answers.next();
        assertThat(answer.getBatch()).isEqualTo(batch);
        granted +=
            (int)
                answer.getResultsList().stream()
                    .filter(each -> isGranted(each.getDecision()))
                    .count();
      }
      assertThat(granted).isEqualTo(250);
      // One after the other, 300 requests would take 30 s.
      assertThat(Duration.ofNanos(System.nanoTime() - begun)).isLessThan(Duration.ofSeconds(5));
    }
  }

  @Test
  void started_whileRedisIsDown_itHasItsLimits_andChangesWait() throws IOException {
    try (RedisServer redis = RedisServer.builder().data().start()) {
      try (TestServer server = start(redis.uri(), OutageMode.LOCAL)) {
        server.awaitRedis();
        set(server, 1000, 1000);
      }
      assertThat(Files.readString(dir.resolve(SharedLimitsMonitor.FILE))).contains("\"k\"");
      redis.kill();
      try (TestServer server = start(redis.uri(), OutageMode.LOCAL)) {
        HttpProbe http = new HttpProbe(server.server.httpPort());
        assertThat(http.get("/readyz").status()).isEqualTo(200);
        await(server, RedisOutageTest::isGranted);
        assertThat(http.get("/v1/limits").json().get("limits")).hasSize(1);
        TestServer.assertRefused(
            () -> set(server, 1, 1), Status.Code.UNAVAILABLE, "Redis, which does not answer");
        HttpProbe.Reply remove = http.delete("/v1/limits/k");
        assertThat(remove.status()).isEqualTo(503);
        assertThat(remove.header("Retry-After")).isEqualTo("1");
        redis.restart();
        server.awaitRedis();
        set(server, 0, 2);
        assertThat(http.delete("/v1/limits/k").status()).isEqualTo(204);
      }
    }
  }
}
