package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Limit;
import dev.sluice.Limits;
import dev.sluice.ManualClock;
import dev.sluice.server.auth.AccountQuotas;
import dev.sluice.server.auth.ApiKeyStore;
import dev.sluice.server.auth.Caller;
import dev.sluice.server.operations.LimitOperations;
import dev.sluice.server.operations.LimitOperations.Rate;
import dev.sluice.server.operations.LocalLimitBackend;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.ErrorKind;
import dev.sluice.server.support.JsonListFile;
import dev.sluice.testkit.ServerProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Limits are there after a restart, which hands out no fresh burst. */
@Tag("any-jdk")
@Timeout(60)
final class LimitRestartTest {
  private static final double RATE = 2;
  private static final double BURST = 20;
  private static final Map<String, Long> ONE = Map.of("key", 1L);

  @TempDir Path dir;

  /**
   * A grant, between two readings of the clock.
   *
   * @param askedNanos before
   * @param answeredNanos after
   */
  private record Grant(long askedNanos, long answeredNanos) {}

  private final List<Grant> grants = new ArrayList<>();

  private static void setLimits(HttpProbe http) {
    String rate = "{\"rate_per_second\":%s,\"burst\":%s}".formatted(RATE, BURST);
    assertThat(http.put("/v1/limits/key", rate).status()).isEqualTo(200);
    assertThat(http.put("/v1/limits/tenant:*", rate).status()).isEqualTo(200);
  }

  /** Asks until there have been {@code refusals}; counts what both keys give together. */
  private void exhaust(HttpProbe http, int refusals) {
    int refused = 0;
    while (refused < refusals) {
      long asked = System.nanoTime();
      HttpProbe.Reply reply = http.post("/v1/decide", "{\"costs\":{\"key\":1}}");
      HttpProbe.Reply other = http.post("/v1/decide", "{\"costs\":{\"tenant:a\":1}}");
      if (reply.status() == 200) {
        grants.add(new Grant(asked, System.nanoTime()));
      } else {
        assertThat(reply.status()).isEqualTo(429);
        refused++;
      }
      assertThat(other.status()).isIn(200, 429);
    }
  }

  private void requireWindows() {
    for (int first = 0; first < grants.size(); first++) {
      for (int last = first; last < grants.size(); last++) {
        double seconds = (grants.get(last).answeredNanos() - grants.get(first).askedNanos()) / 1e9;
        assertThat((double) last - first + 1).isLessThanOrEqualTo(BURST + RATE * seconds);
      }
    }
  }

  @Test
  void graceful_grantsNoMoreThanConfigured_inAnyWindow() throws IOException {
    for (int run = 0; run < 3; run++) {
      try (TestServer server = TestServer.start(dir)) {
        HttpProbe http = new HttpProbe(server.server.httpPort());
        if (run == 0) {
          setLimits(http);
          assertThat(http.post("/v1/decide", "{\"costs\":{\"tenant:b\":20}}").status())
              .isEqualTo(200);
        } else {
          // A key that was not used in this run, under the template.
          assertThat(http.post("/v1/decide", "{\"costs\":{\"tenant:b\":15}}").status())
              .isEqualTo(429);
        }
        exhaust(http, 5);
      }
    }
    assertThat(grants).hasSizeGreaterThanOrEqualTo((int) BURST);
    requireWindows();
  }

  @Test
  void killed_grantsNoMoreThanConfigured_inAnyWindow() throws IOException {
    for (int run = 0; run < 2; run++) {
      try (ServerProcess server = ServerMain.start(dir)) {
        HttpProbe http = new HttpProbe(server.httpPort());
        if (run == 0) {
          setLimits(http);
        }
        assertThat(http.get("/v1/limits").json().get("limits")).hasSize(2);
        exhaust(http, 5);
      }
    }
    requireWindows();
  }

  @Test
  void removed_staysRemoved() throws IOException {
    try (TestServer server = TestServer.start(dir)) {
      HttpProbe http = new HttpProbe(server.server.httpPort());
      setLimits(http);
      assertThat(http.delete("/v1/limits/key").status()).isEqualTo(204);
    }
    try (TestServer server = TestServer.start(dir)) {
      HttpProbe http = new HttpProbe(server.server.httpPort());
      assertThat(http.get("/v1/limits").json().get("limits")).hasSize(1);
      assertThat(http.post("/v1/decide", "{\"costs\":{\"key\":1}}").status()).isEqualTo(404);
      // A limit that is set while the server runs starts full.
      assertThat(http.put("/v1/limits/key", "{\"rate_per_second\":1,\"burst\":3}").status())
          .isEqualTo(200);
      assertThat(http.post("/v1/decide", "{\"costs\":{\"key\":3}}").status()).isEqualTo(200);
    }
  }

  @Test
  void aDamagedFile_preventsTheStart() throws IOException {
    Path file = dir.resolve(LocalLimitBackend.FILE);
    try (TestServer server = TestServer.start(dir)) {
      setLimits(new HttpProbe(server.server.httpPort()));
    }
    String good = Files.readString(file);
    for (String bad : List.of("", "{", good.replace("20.0", "21.0"), good + "x", "null")) {
      Files.writeString(file, bad);
      assertThatThrownBy(() -> TestServer.start(dir))
          .as(bad)
          .isInstanceOf(IOException.class)
          .hasMessageContaining("file of limits")
          .hasMessageContaining(file.toString());
    }
    Files.writeString(file, good);
    try (TestServer server = TestServer.start(dir)) {
      assertThat(server.limits()).isNotNull();
    }
  }

  @Test
  void failedWrite_changesNoLimit() throws IOException {
    ManualClock clock = ManualClock.create();
    Limits throttle = Limits.builder().clock(clock).build();
    LimitOperations limits = LimitOperations.open(dir, throttle, 100, quotas());
    limits.set(Caller.ANYBODY, "key", new Rate(1, 1)).join();
    // Nothing can be written where a directory is in the way.
    Path obstacle =
        Files.createDirectories(dir.resolve(LocalLimitBackend.FILE + ".tmp").resolve("x"));
    assertThatThrownBy(() -> limits.set(Caller.ANYBODY, "key", new Rate(9, 9)).join())
        .hasMessageContaining("could not be stored");
    assertThatThrownBy(() -> limits.set(Caller.ANYBODY, "other", new Rate(9, 9)).join())
        .hasMessageContaining("could not be stored");
    assertThatThrownBy(() -> limits.remove(Caller.ANYBODY, "key").join())
        .hasMessageContaining("could not be stored");
    assertThat(limits.list(Caller.ANYBODY)).isEqualTo(Map.of("key", new Rate(1, 1)));
    assertThat(throttle.stats("key").orElseThrow().limit()).isEqualTo(Limit.ofRate(1, 1));
    assertThat(throttle.stats("other")).isEmpty();
    Files.delete(obstacle);
    Files.delete(obstacle.getParent());
    limits.set(Caller.ANYBODY, "key", new Rate(9, 9)).join();
    assertThat(limits.decide(Caller.ANYBODY, ONE, false).join().isGranted()).isTrue();
  }

  @Test
  void invalidLimit_isNotStored() throws IOException {
    Limits throttle = Limits.create();
    LimitOperations limits = LimitOperations.open(dir, throttle, 100, quotas());
    for (Rate bad : List.of(new Rate(-1, 1), new Rate(1, Double.NaN), new Rate(1e-300, 1))) {
      assertThatThrownBy(() -> limits.set(Caller.ANYBODY, "key", bad).join())
          .isInstanceOf(IllegalArgumentException.class);
    }
    assertThat(dir).isEmptyDirectory();
    assertThat(throttle.stats("key")).isEmpty();
  }

  @Test
  void limits_areBounded() throws IOException {
    List<LocalLimitBackend.StoredLimit> most = new ArrayList<>();
    for (int i = 0; i < LimitOperations.MAX_TEMPLATES; i++) {
      most.add(new LocalLimitBackend.StoredLimit("t" + i + ":*", 1, 1));
    }
    new JsonListFile<>(dir, "limits", LocalLimitBackend.StoredLimit.class).write(most);
    LimitOperations limits = LimitOperations.open(dir, quotas());
    assertThatThrownBy(() -> limits.set(Caller.ANYBODY, "one:*", new Rate(1, 1)).join())
        .hasMessageContaining("1000 templates")
        .isInstanceOfSatisfying(
            ApiException.class, e -> assertThat(e.kind()).isEqualTo(ErrorKind.RESOURCE_EXHAUSTED));
    limits.set(Caller.ANYBODY, "t0:*", new Rate(2, 2)).join();
    limits.set(Caller.ANYBODY, "no template", new Rate(2, 2)).join();
    limits.remove(Caller.ANYBODY, "t0:*").join();
    limits.set(Caller.ANYBODY, "one:*", new Rate(1, 1)).join();
    assertThat(LimitOperations.open(dir, quotas()).list(Caller.ANYBODY))
        .isEqualTo(limits.list(Caller.ANYBODY));
  }

  @Test
  void keysInUse_areBounded_andMakeRoomWhenFullAgain() throws IOException {
    ManualClock clock = ManualClock.create();
    Limits throttle = Limits.builder().clock(clock).build();
    LimitOperations limits = LimitOperations.open(dir, throttle, 1_000, quotas());
    limits.set(Caller.ANYBODY, "t:*", new Rate(1, 2)).join();
    for (int i = 0; i < 1_000; i++) {
      assertThat(limits.decide(Caller.ANYBODY, Map.of("t:" + i, 1L), false).join().isGranted())
          .isTrue();
    }
    limits.makeRoom();
    assertThatThrownBy(() -> limits.decide(Caller.ANYBODY, Map.of("t:x", 1L), false).join())
        .hasMessageContaining("1000 limit names")
        .isInstanceOfSatisfying(
            ApiException.class, e -> assertThat(e.kind()).isEqualTo(ErrorKind.RESOURCE_EXHAUSTED));
    assertThat(throttle.size()).isEqualTo(1_000);
    assertThat(limits.decide(Caller.ANYBODY, Map.of("t:5", 1L), false).join().isGranted()).isTrue();
    clock.advance(Duration.ofSeconds(2));
    limits.makeRoom();
    assertThat(limits.decide(Caller.ANYBODY, Map.of("t:x", 1L), false).join().isGranted()).isTrue();
  }

  private AccountQuotas quotas() throws IOException {
    return new AccountQuotas(ApiKeyStore.open(dir));
  }
}
