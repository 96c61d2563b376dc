package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limit;
import dev.sluice.redis.internal.limits.BucketTokenBlocks;
import dev.sluice.redis.internal.limits.ScriptLimit;
import dev.sluice.redis.internal.limits.TokenBlock;
import dev.sluice.redis.internal.limits.TokenBlockSize;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Test;

/** A holder of token blocks, with a clock of its own. */
class LeaseholderTest {
  private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
  private static final long MILLI = TimeUnit.MILLISECONDS.toNanos(1);
  private static final Object RULES = new Object();

  private final AtomicLong time = new AtomicLong(-5 * SECOND);
  private final AtomicLong numbers = new AtomicLong();
  private final TokenBlockSize terms = terms(1_000);
  private final BucketTokenBlocks holder =
      new BucketTokenBlocks(
          TokenBlockConfig.DEFAULTS, terms, time::get, () -> "id" + numbers.incrementAndGet());

  private static TokenBlockSize terms(long capacity) {
    return TokenBlockSize.of(
        TokenBlockConfig.DEFAULTS, RULES, 0, ScriptLimit.of(new Limit.Manual(capacity)));
  }

  private static final String TIME = "";

  private BucketTokenBlocks.BlockRequest begin(long tokens) {
    return Objects.requireNonNull(holder.begin(tokens, TIME), "no request");
  }

  private static List<Object> lent(long tokens) {
    return List.of(4L, tokens, 0L, 0L, 0L);
  }

  private void lend(long asked, long tokens) {
    holder.settle(begin(asked), lent(tokens));
  }

  @Test
  void take_pausedPastTheDeadline_grantsNothing() {
    // The second look at the clock comes a second later.
    AtomicLong looks = new AtomicLong();
    LongSupplier paused = () -> looks.getAndIncrement() * SECOND;
    TokenBlock block = new TokenBlock("a", TIME, 10, 10, 0, SECOND);
    assertThat(block.take(1, paused)).isEqualTo(TokenBlock.NOTHING);
    assertThat(looks).hasValue(2);
    assertThat(block.close()).isEqualTo(9);
  }

  @Test
  void take_atTheDeadline_grantsNothing() {
    TokenBlock block = new TokenBlock("a", TIME, 10, 10, 0, SECOND);
    assertThat(block.take(1, () -> SECOND - 1)).isEqualTo(9);
    assertThat(block.take(1, () -> SECOND)).isEqualTo(TokenBlock.NOTHING);
    assertThat(block.take(1, () -> SECOND + 1)).isEqualTo(TokenBlock.NOTHING);
  }

  @Test
  void takeAndClose_together_loseNothing() throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(4);
    try {
      for (int round = 0; round < 200; round++) {
        TokenBlock block = new TokenBlock("a", TIME, 500, 500, 0, SECOND);
        List<Future<Long>> takers = new ArrayList<>();
        Callable<Long> taking = () -> takeAll(block);
        for (int i = 0; i < 3; i++) {
          takers.add(threads.submit(taking));
        }
        long sum = threads.submit(block::close).get();
        for (Future<Long> taker : takers) {
          sum += taker.get();
        }
        assertThat(sum).isEqualTo(500);
      }
    } finally {
      threads.shutdownNow();
    }
  }

  private static long takeAll(TokenBlock block) {
    long taken = 0;
    while (block.take(3, () -> 0) >= 0) {
      taken += 3;
    }
    while (block.take(1, () -> 0) >= 0) {
      taken++;
    }
    return taken;
  }

  @Test
  void deadline_countsFromBeforeTheRequest() {
    BucketTokenBlocks.BlockRequest request = begin(1);
    time.addAndGet(900 * MILLI);
    holder.settle(request, lent(50));
    assertThat(holder.take(RULES, TIME, 1)).isEqualTo(48);
    time.addAndGet(79 * MILLI);
    assertThat(holder.take(RULES, TIME, 1)).isEqualTo(47);
    // Two of a hundred parts are for clocks that differ.
    time.addAndGet(MILLI);
    assertThat(holder.take(RULES, TIME, 1)).isEqualTo(TokenBlock.NOTHING);
    assertThat(holder.takeNext(1)).isEqualTo(TokenBlock.NOTHING);
  }

  @Test
  void settle_withBlock_answersTheCallerAsGranted() {
    assertThat(holder.settle(begin(3), List.of(4L, 50L, 0L, 77L, 8L)))
        .containsExactly(1L, 47L, 0L, 77L, 8L);
  }

  @Test
  void settle_withoutBlock_delaysTheNextRequest() {
    List<Object> denied = List.of(0L, 1L, 9L, 0L, 0L);
    assertThat(holder.settle(begin(1), denied)).isEqualTo(denied);
    assertThat(holder.isOut()).isTrue();
    time.addAndGet(20 * MILLI - 1);
    assertThat(holder.begin(1, TIME)).isNull();
    time.addAndGet(1);
    assertThat(holder.isOut()).isFalse();
    assertThat(holder.begin(1, TIME)).isNotNull();
  }

  @Test
  void begin_whileARequestIsPending_asksNothing() {
    BucketTokenBlocks.BlockRequest first = begin(1);
    assertThat(holder.begin(1, TIME)).isNull();
    holder.settle(first, lent(50));
    assertThat(holder.begin(1, TIME)).as("there is a block").isNull();
  }

  @Test
  void begin_forMoreThanHalfABlock_asksNothing() {
    assertThat(holder.begin(26, TIME)).isNull();
    assertThat(holder.begin(25, TIME)).isNotNull();
  }

  @Test
  void fail_delaysTheNextRequest() {
    begin(1);
    holder.fail();
    assertThat(holder.begin(1, TIME)).isNull();
    time.addAndGet(20 * MILLI);
    assertThat(begin(1).id()).isEqualTo("id2");
  }

  @Test
  void nextBlock_isAskedForAtHalf_andServesWhenTheFirstHasTooLittle() {
    lend(1, 50);
    assertThat(holder.isLow(holder.take(RULES, TIME, 24))).isFalse();
    assertThat(holder.isLow(holder.take(RULES, TIME, 1))).isTrue();
    lend(0, 50);
    assertThat(holder.isLow(24)).as("the next one is there").isFalse();
    assertThat(holder.take(RULES, TIME, 20)).isEqualTo(4);
    assertThat(holder.take(RULES, TIME, 10)).isEqualTo(TokenBlock.NOTHING);
    assertThat(holder.takeNext(10)).isEqualTo(40);
    holder.take(RULES, TIME, 20);
    assertThat(begin(0).closing()).isEqualTo(new BucketTokenBlocks.BlockReturn("id1", 4));
  }

  @Test
  void takeNext_moreThanAnyBlockHas_leavesBlocksAlone() {
    lend(1, 50);
    holder.take(RULES, TIME, 25);
    lend(0, 50);
    assertThat(holder.takeNext(51)).isEqualTo(TokenBlock.NOTHING);
    assertThat(holder.begin(51, TIME)).isNull();
    assertThat(holder.take(RULES, TIME, 1)).isEqualTo(23);
    assertThat(holder.sweep()).isEmpty();
  }

  @Test
  void sweep_atHalfOfItsTime_returnsTheRest() {
    lend(1, 50);
    for (int i = 1; i < 4; i++) {
      time.addAndGet(120 * MILLI);
      holder.take(RULES, TIME, 1);
      assertThat(holder.sweep()).isEmpty();
    }
    time.addAndGet(120 * MILLI);
    holder.take(RULES, TIME, 1);
    assertThat(holder.sweep()).containsExactly(new BucketTokenBlocks.BlockReturn("id1", 45));
    assertThat(holder.take(RULES, TIME, 1)).isEqualTo(TokenBlock.NOTHING);
  }

  @Test
  void sweep_idle_returnsTheRest() {
    lend(1, 50);
    time.addAndGet(249 * MILLI);
    assertThat(holder.sweep()).isEmpty();
    time.addAndGet(MILLI);
    assertThat(holder.sweep()).containsExactly(new BucketTokenBlocks.BlockReturn("id1", 49));
  }

  @Test
  void leaveIfUnused_afterTwoChecks_leaves() {
    lend(1, 50);
    assertThat(holder.leaveIfUnused()).isFalse();
    assertThat(holder.leaveIfUnused()).isFalse();
    time.addAndGet(SECOND);
    holder.sweep();
    assertThat(holder.leaveIfUnused()).isFalse();
    assertThat(holder.leaveIfUnused()).isTrue();
    assertThat(holder.begin(1, TIME)).isNull();
  }

  @Test
  void follow_anotherLimit_returnsBlocks() {
    lend(1, 50);
    holder.follow(terms(1_000));
    assertThat(holder.sweep()).isEmpty();
    holder.follow(terms(2_000));
    assertThat(holder.take(RULES, TIME, 1)).isEqualTo(TokenBlock.NOTHING);
    assertThat(holder.sweep()).containsExactly(new BucketTokenBlocks.BlockReturn("id1", 49));
  }

  @Test
  void settle_afterAnotherLimit_returnsTheBlock() {
    BucketTokenBlocks.BlockRequest request = begin(1);
    holder.follow(terms(2_000));
    holder.settle(request, lent(50));
    assertThat(holder.take(RULES, TIME, 1)).isEqualTo(TokenBlock.NOTHING);
    assertThat(holder.sweep()).containsExactly(new BucketTokenBlocks.BlockReturn("id1", 49));
  }

  @Test
  void leave_whileARequestIsPending_returnsItsBlock() {
    BucketTokenBlocks.BlockRequest request = begin(1);
    assertThat(holder.leave()).isEmpty();
    holder.settle(request, lent(50));
    assertThat(holder.take(RULES, TIME, 1)).isEqualTo(TokenBlock.NOTHING);
    assertThat(holder.lastClosings()).containsExactly(new BucketTokenBlocks.BlockReturn("id1", 49));
  }

  @Test
  void block_lentBeforeAnAbsence_isNeverUsedAgainAndCountsAsUsed() {
    lend(1, 50);
    assertThat(holder.take(RULES, "5:0", 1)).isEqualTo(TokenBlock.NOTHING);
    holder.forgetOthers("5:0");
    assertThat(holder.take(RULES, TIME, 1)).isEqualTo(TokenBlock.NOTHING);
    assertThat(holder.sweep()).containsExactly(new BucketTokenBlocks.BlockReturn("id1", 0));
  }

  @Test
  void blockSize_isTheSmallerOfShareAndAccrual() {
    TokenBlockConfig lease =
        new TokenBlockConfig(Duration.ofSeconds(1), 0.5, Duration.ofMillis(100), 0.25);
    assertThat(block(lease, new Limit.Manual(1_000))).isEqualTo(500);
    assertThat(block(lease, Limit.perSecond(1_000))).isEqualTo(100);
    assertThat(block(lease, new Limit.Strict(1_000, Duration.ofSeconds(1)))).isEqualTo(100);
    assertThat(block(lease, new Limit.Rate(1e6, 40))).isEqualTo(20);
    assertThat(block(lease, new Limit.DenyAll())).isZero();
    ScriptLimit quota = ScriptLimit.of(new Limit.Manual(1_001));
    assertThat(TokenBlockSize.of(lease, RULES, 0, quota).reserveUnits()).isEqualTo(251);
  }

  private static long block(TokenBlockConfig lease, Limit limit) {
    return TokenBlockSize.of(lease, RULES, 0, ScriptLimit.of(limit)).block();
  }
}
