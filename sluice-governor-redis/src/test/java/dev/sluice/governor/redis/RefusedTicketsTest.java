package dev.sluice.governor.redis;

import static dev.sluice.governor.redis.RedisBudgetStoreTest.config;
import static dev.sluice.governor.redis.RedisBudgetStoreTest.get;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenDecision.Denied;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.redis.internal.store.ModelKeys;
import dev.sluice.testkit.load.SeedBudget;
import dev.sluice.testkit.redis.RedisServer;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The key that orders refused tickets; TicketContract tests its effects on callers. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class RefusedTicketsTest {
  private static final String MODEL = "sonnet";
  private static final String REFUSED = ModelKeys.of("token-governor:", MODEL).all()[6];
  private static final long MOST = 10_000;

  private final RedisServer redis = RedisServer.start();
  private final BudgetStore store = open();

  private BudgetStore open() {
    return RedisBudgets.builder()
        .url(redis.uri())
        .timeout(Duration.ofSeconds(20))
        .build()
        .open(config(SeedBudget.budget(60, 1_000).build()), BudgetListener.NONE);
  }

  @AfterEach
  void close() {
    store.close();
    redis.close();
  }

  private String refusedTicket() {
    TokenRequest all = TokenRequest.of(MODEL, 1_000).withPriorityClass("P1_user");
    get(store.request(all));
    TokenRequest hasty = all.withMaxWait(Duration.ofMillis(1));
    String ticket = ((TokenDecision.Queued) get(store.request(hasty))).ticket();
    assertThat(get(store.await(ticket)).orElseThrow()).isInstanceOf(Denied.class);
    return ticket;
  }

  @Test
  void refusedTicketThatIsForgotten_leavesNothing() {
    String ticket = refusedTicket();
    assertThat(redis.command("ZCARD", REFUSED)).isEqualTo(1L);
    assertThat(get(store.cancel(ticket))).isTrue();
    assertThat(redis.command("ZCARD", REFUSED)).isEqualTo(0L);
  }

  /** Nodes of earlier versions do not know the key. */
  @Test
  void ticketsThatOtherVersionsHaveForgotten_makeRoom() {
    get(store.status());
    redis.command(
        "EVAL",
        "for i = 1, ARGV[1] do redis.call('ZADD', KEYS[1], 1, 'gone-' .. i) end",
        "1",
        REFUSED,
        Long.toString(MOST));
    String ticket = refusedTicket();
    assertThat(redis.command("ZCARD", REFUSED)).isEqualTo(MOST);
    assertThat(get(store.poll(ticket)).orElseThrow()).isInstanceOf(Denied.class);
  }
}
