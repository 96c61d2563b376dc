package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.TokenBucket;
import dev.sluice.redis.internal.limits.ScriptLimit;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * One bucket in Redis, and one of the core that does the same at the times that the script used.
 *
 * <p>Answers are equal to the microsecond, but for what is lost when a limit is changed: then the
 * level in Redis is rounded down to its units, which may leave it less, never more.
 */
final class Replay {
  private static final long GRID_MICROS = 1_000_000;

  private final Scripts scripts;
  private final String key = StandingRedis.newName();
  private final List<String> story = new ArrayList<>();
  private Limit limit;
  private ScriptLimit quota;
  private long version = 1;
  private final AtomicLong nanos = new AtomicLong();
  private @Nullable TokenBucket core;
  private BigDecimal lost = BigDecimal.ZERO;

  Replay(Scripts scripts, Limit limit) {
    this.scripts = scripts;
    this.limit = limit;
    this.quota = ScriptLimit.of(limit);
  }

  Limit limit() {
    return limit;
  }

  /** The core's bucket at the time of the script: at first full, from where a period begins. */
  private TokenBucket core(long micros) {
    if (core == null) {
      nanos.set((micros - micros % GRID_MICROS) * 1_000);
      core = TokenBucket.builder().limit(limit).clock(nanos::get).build();
    }
    nanos.set(micros * 1_000);
    return core;
  }

  void take(long tokens) {
    ask("take", tokens);
  }

  void look(long tokens) {
    ask("look", tokens);
  }

  private void ask(String how, long tokens) {
    List<Long> reply = scripts.decide(how, version, List.of(new Scripts.Item(key, tokens, quota)));
    note(how, tokens, reply);
    TokenBucket own = core(reply.get(3));
    Decision expected = own.peek(tokens);
    Decision worst = lost.signum() == 0 ? expected : own.peek(tokens + loss());
    switch (reply.get(0).intValue()) {
      case 0 -> {
        assertThat(reply.get(2)).as(this::story).isGreaterThanOrEqualTo(micros(expected));
        if (!(worst instanceof Decision.Impossible)) {
          assertThat(reply.get(2)).as(this::story).isLessThanOrEqualTo(micros(worst));
        }
      }
      case 1 -> {
        assertThat(expected).as(this::story).isInstanceOf(Decision.Granted.class);
        long remaining = ((Decision.Granted) expected).remaining();
        assertThat(reply.get(1)).as(this::story).isBetween(remaining - loss(), remaining);
        if (how.equals("take")) {
          own.decide(tokens);
        }
      }
      case 2 -> {
        long missing = tokens - own.available();
        assertThat(expected).as(this::story).isNotInstanceOf(Decision.Denied.class);
        assertThat(reply.get(2)).as(this::story).isBetween(Math.max(1, missing), missing + loss());
      }
      default -> assertThat(expected).as(this::story).isInstanceOf(Decision.Impossible.class);
    }
  }

  /** Whole tokens that Redis may be behind. */
  private long loss() {
    return lost.setScale(0, RoundingMode.CEILING).longValueExact();
  }

  /** Rounded up: before that it would be too early. */
  private static long micros(Decision decision) {
    return decision instanceof Decision.Denied denied ? up(denied.retryAfterNanos()) : 0;
  }

  private static long up(long nanos) {
    return Math.floorDiv(nanos + 999, 1_000L);
  }

  void give(long tokens) {
    List<Long> reply = adjust("give", Long.toString(tokens));
    core(reply.get(3)).replenish(tokens);
    compare(reply);
  }

  void fill() {
    List<Long> reply = adjust("fill", "0");
    core(reply.get(3)).reset();
    lost = BigDecimal.ZERO;
    compare(reply);
  }

  void stand() {
    compare(adjust("look", "0"));
  }

  void change(Limit next) {
    ScriptLimit from = quota;
    limit = next;
    quota = ScriptLimit.of(next);
    version++;
    List<Long> reply = adjust("move", from.params());
    core(reply.get(3)).reconfigure(next);
    if (!quota.params().equals(from.params())) {
      lost =
          lost.add(
              BigDecimal.ONE.divide(
                  BigDecimal.valueOf(quota.units().unitsPerToken()), 30, RoundingMode.CEILING));
    }
    compare(reply);
  }

  private List<Long> adjust(String how, String amount) {
    List<Long> reply = scripts.adjust(how, version, amount, key, quota);
    if (core == null && how.equals("move")) {
      throw new IllegalStateException("the core must begin under the limit before");
    }
    note(how, amount, reply);
    return reply;
  }

  private void compare(List<Long> reply) {
    long available = core(reply.get(3)).available();
    assertThat(reply.get(0) / reply.get(1))
        .as(this::story)
        .isBetween(available - loss(), available);
    if (lost.signum() == 0) {
      long full = core(reply.get(3)).timeToFull().map(time -> up(time.toNanos())).orElse(-1L);
      assertThat(reply.get(2)).as(this::story).isEqualTo(full);
    }
  }

  private void note(String how, Object amount, List<Long> reply) {
    story.add("%s %s of %s: %s".formatted(how, amount, limit, reply));
  }

  private String story() {
    int from = Math.max(0, story.size() - 12);
    return String.join("\n", story.subList(from, story.size()));
  }
}
