package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.ManualClock;
import dev.sluice.broker.internal.runtime.QueryCache;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Which callers run a query, and which share its result. */
@Timeout(60)
class QueryCacheTest {
  private final ManualClock clock = ManualClock.create();
  private final QueryCache<Integer> looks = new QueryCache<>(clock);
  private final AtomicInteger looked = new AtomicInteger();

  private int ask(Object question) {
    return looks.get(question, () -> new QueryCache.CachedResult<>(looked.incrementAndGet(), true));
  }

  @Test
  void concurrentQueries_shareOneExecution() {
    CountDownLatch all = new CountDownLatch(20);
    ExecutorService lookers = Executors.newFixedThreadPool(20);
    List<CompletableFuture<Integer>> answers =
        IntStream.range(0, 20)
            .mapToObj(
                i ->
                    CompletableFuture.supplyAsync(
                        () -> {
                          all.countDown();
                          return looks.get("q", () -> slowly(all));
                        },
                        lookers))
            .toList();
    assertThat(answers).allSatisfy(each -> assertThat(each.join()).isEqualTo(1));
    assertThat(looked).hasValue(1);
    lookers.shutdown();
  }

  private QueryCache.CachedResult<Integer> slowly(CountDownLatch all) {
    try {
      all.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
    return new QueryCache.CachedResult<>(looked.incrementAndGet(), true);
  }

  @Test
  void aResult_isCachedForASecond() {
    assertThat(ask("q")).isEqualTo(1);
    clock.advance(Duration.ofMillis(999));
    assertThat(ask("q")).isEqualTo(1);
    assertThat(ask("other")).isEqualTo(2);
    clock.advance(Duration.ofMillis(1));
    assertThat(ask("q")).isEqualTo(3);
    assertThat(ask("other")).isEqualTo(2);
  }

  @Test
  void failedQuery_isExecutedAgain() {
    assertThatThrownBy(
            () ->
                looks.get(
                    "q",
                    () -> {
                      throw new IllegalStateException("no");
                    }))
        .hasMessage("no");
    assertThat(ask("q")).isEqualTo(1);
  }

  @Test
  void cheapResult_isNotCached() {
    for (int i = 1; i < 4; i++) {
      assertThat(
              looks.get("q", () -> new QueryCache.CachedResult<>(looked.incrementAndGet(), false)))
          .isEqualTo(i);
    }
  }

  @Test
  void beyondTheBound_theOldestResultIsEvicted() {
    IntStream.rangeClosed(0, QueryCache.MAX_QUESTIONS).forEach(this::ask);
    assertThat(ask(QueryCache.MAX_QUESTIONS)).isEqualTo(QueryCache.MAX_QUESTIONS + 1);
    assertThat(ask(0)).isEqualTo(QueryCache.MAX_QUESTIONS + 2);
  }
}
