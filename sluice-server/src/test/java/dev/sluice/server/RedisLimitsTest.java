package dev.sluice.server;

import static dev.sluice.server.TestServer.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.proto.v1.ListLimitsRequest;
import dev.sluice.proto.v1.RemoveLimitRequest;
import dev.sluice.server.HttpProbe.Reply;
import dev.sluice.server.operations.SharedLimitsMonitor;
import dev.sluice.testkit.redis.RedisServer;
import io.grpc.Status;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Two servers on one Redis. */
@Tag("any-jdk")
@Timeout(60)
final class RedisLimitsTest {
  /** Where there is no outage a busy machine must not make one. */
  static final Duration PATIENCE = Duration.ofSeconds(10);

  private static final int CALLERS = 4;
  private static final String PASSWORD = "top-secret-word";
  @AutoClose private static final RedisServer redis = RedisServer.start();

  @TempDir private Path dir;
  private final List<TestServer> servers = new ArrayList<>();
  private HttpProbe here = new HttpProbe(0);
  private HttpProbe there = here;

  private static RedisConfig patient() {
    return RedisConfig.at(redis.uri()).withTimeout(PATIENCE);
  }

  private TestServer start(String name, RedisConfig with) throws IOException {
    Path data = Files.createDirectories(dir.resolve(name));
    TestServer server = TestServer.start(ServerConfig.defaults(data).withRedis(with));
    servers.add(server);
    return server;
  }

  /** Both with nothing to begin with. */
  private TestServer startTwo(RedisConfig with) throws IOException {
    redis.command("FLUSHALL");
    TestServer one = start("one", with);
    TestServer other = start("other", with);
    one.awaitRedis();
    other.awaitRedis();
    here = new HttpProbe(one.server.httpPort());
    there = new HttpProbe(other.server.httpPort());
    return one;
  }

  @AfterEach
  void stop() {
    servers.forEach(TestServer::close);
  }

  private static void set(HttpProbe at, String key, double rate, double burst) {
    String body = "{\"rate_per_second\":%s,\"burst\":%s}".formatted(rate, burst);
    assertThat(at.put("/v1/limits/" + key, body).status()).isEqualTo(200);
  }

  private static Reply decide(HttpProbe at, String costs) {
    return at.post("/v1/decide", "{\"costs\":{%s}}".formatted(costs));
  }

  private static void awaitLimit(HttpProbe at, String key) {
    Awaitility.await()
        .atMost(Duration.ofSeconds(5))
        .until(() -> at.get("/v1/limits").response().body().contains("\"" + key + "\""));
  }

  /**
   * A grant, between two readings of the clock.
   *
   * @param askedNanos before
   * @param answeredNanos after
   */
  private record Grant(long askedNanos, long answeredNanos) {}

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void bothServers_shareOneLimit_inEveryWindow(boolean leased) throws IOException {
    startTwo(patient().withLeases(leased));
    set(here, "k", 100, 50);
    awaitLimit(there, "k");
    Queue<Grant> grants = new ConcurrentLinkedQueue<>();
    long end = System.nanoTime() + Duration.ofSeconds(1).toNanos();
    ExecutorService threads = Executors.newFixedThreadPool(CALLERS);
    CompletableFuture.allOf(
            Stream.of(here, there, here, there)
                .map(at -> CompletableFuture.runAsync(() -> exhaust(at, end, grants), threads))
                .toArray(CompletableFuture[]::new))
        .join();
    threads.shutdown();
    assertThat(grants).hasSizeGreaterThan(60);
    requireWindows(List.copyOf(grants));
  }

  private static void exhaust(HttpProbe at, long end, Queue<Grant> grants) {
    while (System.nanoTime() < end) {
      long asked = System.nanoTime();
      if (decide(at, "\"k\":1").status() == 200) {
        grants.add(new Grant(asked, System.nanoTime()));
      }
    }
  }

  private static void requireWindows(List<Grant> grants) {
    for (Grant first : grants) {
      for (Grant last : grants) {
        long granted =
            grants.stream()
                .filter(each -> each.askedNanos() - first.askedNanos() >= 0)
                .filter(each -> each.answeredNanos() - last.answeredNanos() <= 0)
                .count();
        double seconds = (last.answeredNanos() - first.askedNanos()) / 1e9;
        assertThat((double) granted).isLessThanOrEqualTo(Math.max(0, 50 + 100 * seconds));
      }
    }
  }

  @Test
  void aLimitSetOrRemovedAtOne_changesAtTheOther() throws IOException {
    TestServer one = startTwo(patient());
    set(here, "k", 0, 2);
    set(there, "tenant:*", 0, 1);
    awaitLimit(there, "k");
    awaitLimit(here, "tenant:*");
    assertThat(decide(there, "\"k\":2,\"tenant:a\":1").status()).isEqualTo(200);
    Reply refused = decide(here, "\"tenant:a\":1");
    assertThat(refused.status()).isEqualTo(429);
    assertThat(refused.json().get("limit_name").asText()).isEqualTo("tenant:a");
    assertThat(one.limits().listLimits(ListLimitsRequest.getDefaultInstance()).getLimitsCount())
        .isEqualTo(2);
    assertThat(there.delete("/v1/limits/k").status()).isEqualTo(204);
    Awaitility.await().until(() -> decide(here, "\"k\":1").status() == 404);
    RemoveLimitRequest again = RemoveLimitRequest.newBuilder().setName("k").build();
    assertRefused(() -> one.limits().removeLimit(again), Status.Code.NOT_FOUND, "unknown limit");
  }

  @Test
  void answers_nameTheLevelOfOneKey_andThePolicyOfAll() throws IOException {
    startTwo(patient());
    set(here, "slow", 0.001, 3600);
    set(here, "b", 1, 5);
    Reply one = decide(here, "\"slow\":600");
    assertThat(one.header("RateLimit-Policy")).isEqualTo("\"slow\";q=3600;w=3600000");
    assertThat(one.header("RateLimit")).matches("\"slow\";r=3000;t=(600000|599[0-9]{3})");
    Reply two = decide(here, "\"slow\":1,\"b\":1");
    assertThat(two.json().toString()).isEqualTo("{\"outcome\":\"GRANTED\",\"remaining\":4}");
    assertThat(two.header("RateLimit-Policy"))
        .isEqualTo("\"slow\";q=3600;w=3600000, \"b\";q=5;w=5");
    assertThat(two.header("RateLimit")).isEmpty();
    Reply refused = decide(here, "\"b\":5,\"slow\":1");
    assertThat(refused.status()).isEqualTo(429);
    assertThat(refused.header("RateLimit-Policy")).isEqualTo("\"b\";q=5;w=5");
    assertThat(refused.header("Retry-After")).isEqualTo("1");
  }

  @Test
  void limits_areKeptForAStartWithoutRedis_andADamagedFileIsRefused() throws IOException {
    TestServer one = startTwo(patient());
    set(here, "k", 1, 1);
    Path file = dir.resolve("one").resolve(SharedLimitsMonitor.FILE);
    Awaitility.await().until(() -> Files.exists(file) && Files.readString(file).contains("\"k\""));
    one.close();
    String good = Files.readString(file);
    Files.writeString(file, good.replace("1.0", "2.0"));
    assertThatThrownBy(() -> start("one", patient()))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("file of shared-limits is damaged");
    Files.writeString(file, good);
    assertThat(
            start("one", patient())
                .limits()
                .listLimits(ListLimitsRequest.getDefaultInstance())
                .getLimitsCount())
        .isEqualTo(1);
  }

  @Test
  void limitsLostByRedis_areRestored() throws IOException {
    startTwo(patient());
    set(here, "k", 1, 1);
    awaitLimit(there, "k");
    redis.restartEmpty();
    Awaitility.await()
        .until(() -> redis.command("KEYS", "sluice:*") instanceof List<?> keys && keys.size() > 1);
    assertThat(decide(there, "\"k\":1").status()).isIn(200, 429);
  }

  @Test
  void passwordAndTls_areReadFromTheUrl() throws IOException {
    try (RedisServer closed = RedisServer.builder().password("me", PASSWORD).tls().start();
        TestServer server =
            start("tls", RedisConfig.at(closed.uri()).withAuthorities(closed.certificate()))) {
      server.awaitRedis();
      HttpProbe http = new HttpProbe(server.server.httpPort());
      set(http, "k", 0, 1);
      assertThat(decide(http, "\"k\":1").status()).isEqualTo(200);
      assertThat(decide(http, "\"k\":1").status()).isEqualTo(429);
    }
  }

  @Test
  void aWrongPassword_isNeverShown_andDegrades() throws IOException {
    try (RedisServer closed = RedisServer.builder().password("right").start();
        CapturedLog log = new CapturedLog()) {
      String url = "redis://:" + PASSWORD + "@127.0.0.1:" + closed.port();
      try (TestServer server = start("wrong", RedisConfig.at(url))) {
        HttpProbe http = new HttpProbe(server.server.httpPort());
        Reply refused = http.put("/v1/limits/k", "{\"rate_per_second\":1,\"burst\":1}");
        assertThat(refused.status()).isEqualTo(503);
        assertThat(refused.code()).isEqualTo("UNAVAILABLE");
        assertThat(refused.message()).contains("Redis").doesNotContain(PASSWORD);
      }
      assertThat(log.text()).doesNotContain(PASSWORD);
    }
    assertThat(RedisConfig.at("redis://me:" + PASSWORD + "@host").toString())
        .doesNotContain(PASSWORD);
    assertThatThrownBy(() -> RedisConfig.at("http://me:" + PASSWORD + "@host"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("Redis URL must be")
        .message()
        .doesNotContain(PASSWORD);
  }
}
