package dev.sluice.client;

import static dev.sluice.client.Failures.assertFails;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.client.SluiceClientException.Code;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
final class LimitsTest {
  @TempDir Path dir;
  private ConnectedServer at;

  @BeforeEach
  void start() throws Exception {
    at = new ConnectedServer(dir);
  }

  @AfterEach
  void stop() {
    at.close();
  }

  @Test
  void limits_setListRemove() {
    at.client.setLimit("mail", new Limit.Rate(5, 10));
    at.client.setLimit("tenant:*", new Limit.Rate(1, 2));
    assertThat(at.client.limits())
        .containsExactly(
            Map.entry("mail", new Limit.Rate(5, 10)), Map.entry("tenant:*", new Limit.Rate(1, 2)));
    at.client.removeLimit("mail");
    assertThat(at.client.limits()).containsExactly(Map.entry("tenant:*", new Limit.Rate(1, 2)));
    assertFails(Code.NOT_FOUND, () -> at.client.removeLimit("mail")).contains("mail");
    assertFails(Code.INVALID_ARGUMENT, () -> at.client.setLimit("", new Limit.Rate(1, 10)));
    assertThatThrownBy(() -> at.client.setLimit("mail", Limit.per(1, Duration.ofNanos(-1))))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> at.client.setLimit("mail", new Limit.Manual(5)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("must refill evenly");
    at.client.setLimit("mail", Limit.per(30, Duration.ofMinutes(1)));
    assertThat(at.client.limits()).containsEntry("mail", new Limit.Rate(0.5, 30));
  }

  @Test
  void tryAcquire_beyondTheBurst_isDenied() {
    at.client.setLimit("k", new Limit.Rate(0.01, 2));
    assertThat(at.client.tryAcquire("k")).isTrue();
    assertThat(at.client.tryAcquire("k")).isTrue();
    assertThat(at.client.tryAcquire("k")).isFalse();
    Decision third = at.client.decide(Map.of("k", 1L));
    assertThat(third.isGranted()).isFalse();
    assertThat(third).isInstanceOf(Decision.Denied.class);
    Decision.Denied denied = (Decision.Denied) third;
    assertThat(denied.limitName()).isEqualTo("k");
    assertThat(denied.retryAfter()).isBetween(Duration.ofSeconds(10), Duration.ofSeconds(100));
  }

  @Test
  void decide_moreThanTheBurst_isImpossibleAndTakesNothing() {
    at.client.setLimit("a", new Limit.Rate(0.01, 2));
    at.client.setLimit("b", new Limit.Rate(0.01, 5));
    assertThat(at.client.decide(Map.of("a", 3L, "b", 5L)))
        .isEqualTo(new Decision.Impossible("a", 2));
    assertThat(at.client.decide(Map.of("b", 5L)).isGranted()).isTrue();
  }

  @Test
  void peek_takesNothing() {
    at.client.setLimit("k", new Limit.Rate(0.01, 1));
    assertThat(at.client.peek(Map.of("k", 1L)).isGranted()).isTrue();
    assertThat(at.client.peekAsync(Map.of("k", 1L)).join().isGranted()).isTrue();
    assertThat(at.client.tryAcquire("k")).isTrue();
    assertThat(at.client.peekAsync(Map.of("k", 1L)).join().isGranted()).isFalse();
  }

  @Test
  void decide_badRequests_failAloneInTheirBatch() {
    at.client.setLimit("k", new Limit.Rate(0.01, 1_000));
    List<CompletableFuture<Decision>> good = new ArrayList<>();
    List<CompletableFuture<Decision>> unknown = new ArrayList<>();
    for (int i = 0; i < 300; i++) {
      good.add(at.client.decideAsync(Map.of("k", 1L)));
      unknown.add(at.client.decideAsync(Map.of("nobody", 1L)));
    }
    good.forEach(each -> assertThat(each.join().isGranted()).isTrue());
    unknown.forEach(each -> assertFails(Code.NOT_FOUND, each).contains("nobody"));
    assertFails(Code.INVALID_ARGUMENT, at.client.decideAsync(Map.of()));
    assertThatThrownBy(() -> at.client.decide(Map.of("k", 0L)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("tokens must be positive: name=k, tokens=0");
  }

  @Test
  void decide_manyThreads_grantsExactlyTheBurst() throws Exception {
    at.client.setLimit("k", new Limit.Rate(0.001, 1_000));
    List<CompletableFuture<Decision>> answers = new ArrayList<>();
    List<Thread> threads =
        IntStream.range(0, 8)
            .mapToObj(
                i ->
                    new Thread(
                        () -> {
                          for (int n = 0; n < 500; n++) {
                            var answer = at.client.decideAsync(Map.of("k", 1L));
                            synchronized (answers) {
                              answers.add(answer);
                            }
                          }
                        }))
            .toList();
    threads.forEach(Thread::start);
    for (Thread thread : threads) {
      thread.join();
    }
    assertThat(answers).hasSize(4_000);
    assertThat(answers.stream().filter(each -> each.join().isGranted())).hasSize(1_000);
  }

  @Test
  void decide_connectionLost_failsUntilItIsRestored() throws Exception {
    at.client.setLimit("k", new Limit.Rate(0.001, 1_000));
    try (Wire wire = new Wire(at.server.grpcPort());
        SluiceClient client = SluiceClient.connect("127.0.0.1", wire.port())) {
      assertThat(client.tryAcquire("k")).isTrue();
      wire.takeDown();
      await().untilAsserted(() -> assertFails(Code.UNAVAILABLE, () -> client.tryAcquire("k")));
      wire.mend();
      await().ignoreExceptions().untilAsserted(() -> assertThat(client.tryAcquire("k")).isTrue());
    }
  }
}
