package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Every row of the tables in the document the Balanced mode comes from. */
final class SeedTablesTest {
  private static final long MS = 1_000_000;

  /** A row of scenario 1; {@code lastUpdateMs} is where the sub-token remainder counts from. */
  private record Row(
      long ms, long request, long minted, long before, long after, boolean ok, long lastUpdateMs) {}

  private static final List<Row> SCENARIO_1 =
      List.of(
          new Row(0, 7, 0, 10, 3, true, 0),
          new Row(200, 5, 2, 5, 0, true, 200),
          new Row(650, 3, 4, 4, 1, true, 600),
          new Row(1200, 6, 6, 7, 1, true, 1200),
          new Row(1800, 5, 6, 7, 2, true, 1800),
          new Row(2100, 10, 3, 5, 5, false, 2100),
          new Row(2600, 10, 5, 10, 0, true, 2600));

  @Test
  void scenario1_everyRow() {
    ManualClock clock = ManualClock.create();
    TokenBucket bucket = tenPerSecond(clock);
    long previous = 10;
    for (Row row : SCENARIO_1) {
      clock.advanceNanos(row.ms * MS - clock.nanoTime());
      assertThat(bucket.available()).as("budget after mint at %s ms", row.ms).isEqualTo(row.before);
      assertThat(row.before - previous).as("minted at %s ms", row.ms).isEqualTo(row.minted);
      assertThat(bucket.tryAcquire(row.request)).as("request at %s ms", row.ms).isEqualTo(row.ok);
      assertThat(bucket.available())
          .as("budget after consume at %s ms", row.ms)
          .isEqualTo(row.after);
      assertNextTokenAt(bucket, row.after, (row.lastUpdateMs + 100) * MS);
      previous = row.after;
    }
  }

  @Test
  void scenario1_totalsPerPeriod() {
    TokenBucket bucket = tenPerSecond(ManualClock.create());
    long[] consumed = new long[3];
    for (Row row : SCENARIO_1) {
      if (bucket.tryAcquire(row.request, row.ms * MS)) {
        consumed[(int) (row.ms / 1000)] += row.request;
      }
    }
    assertThat(consumed).containsExactly(15, 11, 10);
    assertThat(consumed[0] + consumed[1] + consumed[2]).isEqualTo(36);
  }

  @Test
  void comparison_subTokenLeftover_mintsNothingAndKeepsTheRemainder() {
    TokenBucket bucket = bucket(10, Duration.ofSeconds(1), 4, ManualClock.startingAt(1000 * MS));
    assertThat(bucket.available(1075 * MS)).isEqualTo(4);
    assertNextTokenAt(bucket, 4, 1100 * MS);
  }

  @Test
  void comparison_longIdleWhileFull_burnsTheIdleTime() {
    TokenBucket bucket = bucket(5, Duration.ofSeconds(1), 5, ManualClock.create());
    assertThat(bucket.available(2500 * MS)).isEqualTo(5);
    assertThat(bucket.tryAcquire(5, 2500 * MS)).isTrue();
    assertNextTokenAt(bucket, 0, 2700 * MS);
  }

  @Test
  void comparison_overfullUpdate_discardsTheLeftover() {
    TokenBucket bucket = bucket(10, Duration.ofSeconds(1), 8, ManualClock.create());
    assertThat(bucket.available(300 * MS)).isEqualTo(10);
    assertThat(bucket.tryAcquire(10, 300 * MS)).isTrue();
    assertNextTokenAt(bucket, 0, 400 * MS);
  }

  /** A row of the high-rate table. */
  private record Batch(
      long ms, long before, long minted, int requests, int accepted, int rejected, long after) {}

  private static final List<Batch> HIGH_RATE =
      List.of(
          new Batch(0, 10, 0, 12, 10, 2, 0),
          new Batch(5, 0, 5, 7, 5, 2, 0),
          new Batch(10, 0, 5, 15, 5, 10, 0),
          new Batch(12, 0, 2, 3, 2, 1, 0),
          new Batch(20, 0, 8, 25, 8, 17, 0),
          new Batch(30, 0, 10, 9, 9, 0, 1),
          new Batch(31, 1, 1, 3, 2, 1, 0),
          new Batch(40, 0, 9, 20, 9, 11, 0));

  @Test
  void highRate_everyRow() {
    TokenBucket bucket = bucket(10, Duration.ofMillis(10), 10, ManualClock.create());
    int attempted = 0;
    int accepted = 0;
    for (Batch batch : HIGH_RATE) {
      long now = batch.ms * MS;
      assertThat(bucket.available(now))
          .as("after mint at %s ms", batch.ms)
          .isEqualTo(batch.before + batch.minted);
      long granted =
          IntStream.range(0, batch.requests).filter(i -> bucket.tryAcquire(1, now)).count();
      assertThat(granted).as("accepted at %s ms", batch.ms).isEqualTo(batch.accepted);
      assertThat(batch.requests - granted).isEqualTo(batch.rejected);
      assertThat(bucket.available(now)).as("left at %s ms", batch.ms).isEqualTo(batch.after);
      assertNextTokenAt(bucket, batch.after, now + MS);
      attempted += batch.requests;
      accepted += (int) granted;
    }
    assertThat(attempted).isEqualTo(94);
    assertThat(accepted).isEqualTo(50);
    assertThat(attempted - accepted).isEqualTo(44);
  }

  @Test
  void highRate_withConsume_theExcessWaitsInOrder() {
    ManualClock clock = ManualClock.create();
    TokenBucket bucket = bucket(10, Duration.ofMillis(10), 10, clock);
    List<CompletableFuture<Void>> futures = new ArrayList<>();
    List<Integer> completed = new ArrayList<>();
    for (Batch batch : HIGH_RATE) {
      clock.advanceNanos(batch.ms * MS - clock.nanoTime());
      for (int i = 0; i < batch.requests; i++) {
        int number = futures.size();
        futures.add(bucket.acquireAsync(1).thenRun(() -> completed.add(number)));
      }
      long mintable = 10 + batch.ms;
      assertThat(completed)
          .as("at %s ms", batch.ms)
          .hasSize((int) Math.min(mintable, futures.size()));
    }
    assertThat(completed).hasSize(50);
    assertThat(bucket.waiters()).isEqualTo(44);
    clock.advanceNanos(44 * MS - 1);
    assertThat(completed).hasSize(93);
    clock.advanceNanos(1);
    assertThat(completed).containsExactlyElementsOf(IntStream.range(0, 94).boxed().toList());
    assertThat(bucket.available()).isZero();
  }

  @Test
  void nineteenTokensInOneInstant_areDenied() {
    TokenBucket bucket = bucket(10, Duration.ofSeconds(1), 9, ManualClock.create());
    assertThat(bucket.tryAcquire(9, 1000 * MS)).isTrue();
    assertThat(bucket.tryAcquire(10, 1000 * MS)).isFalse();
    assertThat(bucket.available(1000 * MS)).isEqualTo(1);
  }

  private static void assertNextTokenAt(TokenBucket bucket, long tokens, long nanos) {
    assertThat(bucket.available(nanos - 1)).as("1 ns before the next token").isEqualTo(tokens);
    assertThat(bucket.available(nanos)).as("when the next token is due").isEqualTo(tokens + 1);
  }

  private static TokenBucket tenPerSecond(ManualClock clock) {
    return bucket(10, Duration.ofSeconds(1), 10, clock);
  }

  private static TokenBucket bucket(
      long capacity, Duration fillDuration, long initialTokens, ManualClock clock) {
    return TokenBucket.builder()
        .limit(new Limit.Balanced(capacity, capacity, fillDuration))
        .initialTokens(initialTokens)
        .clock(clock)
        .build();
  }
}
