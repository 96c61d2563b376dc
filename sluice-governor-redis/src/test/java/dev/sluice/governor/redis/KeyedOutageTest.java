package dev.sluice.governor.redis;

import static dev.sluice.governor.redis.OutageRig.request;
import static dev.sluice.governor.redis.RedisBudgetStoreTest.config;
import static dev.sluice.governor.redis.RedisBudgetStoreTest.get;
import static dev.sluice.testkit.Await.until;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenDecision.Denied;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.WaitingListConfig;
import dev.sluice.redis.OutageMode;
import dev.sluice.testkit.load.SeedBudget;
import dev.sluice.testkit.redis.RedisServer;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** One grant for one idempotency key, over an outage. */
@Tag("any-jdk")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class KeyedOutageTest {
  /** 1,000 tokens a second, in bursts of 1,000. */
  private static final ModelBudget BUDGET =
      SeedBudget.budget(60_000, 1_000).maxConcurrentRequests(2).build();

  private static final String ONE = "1".repeat(16);
  private static final String OTHER = "2".repeat(16);
  private static final TokenRequest KEYED = request(10).withIdempotencyKey("k");

  private final RedisServer redis = RedisServer.builder().data().start();
  private OutageRig rig;

  @AfterEach
  void close() {
    if (rig != null) {
      rig.close();
    }
    redis.close();
  }

  private void endOutage() {
    redis.resume();
    // Only Redis answers this call.
    until(
        "Redis",
        () -> rig.store.explain(request(1)).handle((said, failure) -> failure == null).join());
    until("the return", () -> !rig.isLast("lost"));
  }

  private void startOutage() {
    redis.pause();
    until(
        "the loss",
        () -> {
          var unused = rig.store.tryAcquire(request(1_000_000));
          return rig.isLast("lost");
        });
  }

  private void awaitRunning(int slots) {
    until("slots in use", () -> rig.running() == slots);
  }

  // ---- unanswered requests

  @Test
  void unanswered_thenGrantedUnchecked_holdsNoSlot_andIsFoundAgain() {
    rig = OutageRig.open(redis.uri(), OutageMode.OPEN, config(BUDGET));
    redis.pause();
    TokenDecision.Granted free = (TokenDecision.Granted) rig.ask(KEYED);
    endOutage();
    awaitRunning(0);
    assertThat(rig.ask(KEYED)).isEqualTo(free);
    assertThat(get(rig.store.find(KEYED))).contains(free);
    assertThat(get(rig.store.settle(free.reservation(), 10))).isPresent();
    assertThat(rig.running()).isZero();
    assertThat(rig.ask(KEYED)).isNotEqualTo(free).isInstanceOf(TokenDecision.Granted.class);
    assertThat(rig.running()).isEqualTo(1);
  }

  @Test
  void unanswered_thenGrantedByTheShare_isOneGrant() {
    rig = OutageRig.local(redis.uri(), 1, config(BUDGET));
    redis.pause();
    assertThat(rig.ask(KEYED)).isInstanceOf(Denied.class);
    TokenDecision.Granted granted = rig.grantedSoon(KEYED);
    endOutage();
    awaitRunning(1);
    assertThat(((TokenDecision.Granted) rig.ask(KEYED)).reservation())
        .isEqualTo(granted.reservation());
    assertThat(get(rig.store.settle(granted.reservation(), 10))).isPresent();
    assertThat(rig.running()).isZero();
  }

  @Test
  void unanswered_andDeniedHere_isFoundByTheNextRequest() {
    rig = OutageRig.open(redis.uri(), OutageMode.CLOSED, config(BUDGET));
    redis.pause();
    assertThat(rig.ask(KEYED)).isInstanceOf(Denied.class);
    endOutage();
    TokenDecision.Granted granted = rig.grantedSoon(KEYED);
    assertThat(rig.running()).isEqualTo(1);
    assertThat(get(rig.store.settle(granted.reservation(), 10))).isPresent();
  }

  @Test
  void keyOfAReport_isNotTakenFromAnotherNode() {
    TimedScripts scripts = new TimedScripts(redis);
    scripts.run(
        "configure",
        1,
        TimedScripts.configuration("sonnet", BUDGET, WaitingListConfig.builder().build()));
    scripts.run(ONE, "request", 2, ask("a", "k"));
    // Another node has asked for it, too, and has delivered it.
    scripts.run(OTHER, "request", 3, ask("b", "k"));
    scripts.run(ONE, "report", 4, granted("1", "c", "k"));
    assertThat(scripts.run(ONE, "settle", 5, List.of("settle", "a", "1"))).isNotEmpty();
    assertThat(scripts.run(ONE, "settle", 6, List.of("settle", "c", "1"))).isNotEmpty();
  }

  @Test
  void unansweredUnderTheKeyOfAReport_isReturnedOnce() {
    TimedScripts scripts = new TimedScripts(redis);
    scripts.run(
        "configure",
        1,
        TimedScripts.configuration("sonnet", BUDGET, WaitingListConfig.builder().build()));
    scripts.run(ONE, "request", 2, ask("a", "k"));
    assertThat(scripts.run(ONE, "report", 3, granted("1", "c", "k"))).isEqualTo(List.of(1L));
    assertThat(scripts.run(ONE, "settle", 4, List.of("settle", "a", "1"))).isEmpty();
    assertThat(scripts.run(ONE, "request", 5, ask("d", "k")).get(1)).isEqualTo("c");
    assertThat(scripts.run(ONE, "settle", 6, List.of("settle", "c", "1"))).isNotEmpty();
    // A repeated report; the reservations settled since are in the answer again.
    assertThat(scripts.run(ONE, "report", 7, granted("1", "c", "k"))).isEqualTo(List.of(0L, "c"));
    assertThat(scripts.run(ONE, "settle", 8, List.of("settle", "c", "1"))).isEmpty();
  }

  private static List<String> granted(String number, String id, String key) {
    return List.of(
        number, "0", "0", "1", id, "5", "5", OutageRig.P1, "", key, "ticket", "", "0", "0");
  }

  private static List<String> ask(String id, String key) {
    return List.of(id, "queue", "", OutageRig.P1, "5", "5", "0", key, "");
  }

  // ---- grants from the waiting list

  @Test
  void grantedFromTheWaitingList_andPolled_isOneGrant() {
    fromTheWaitingList(ticket -> rig.store.poll(ticket));
  }

  @Test
  void grantedFromTheWaitingList_andAwaited_isOneGrant() {
    fromTheWaitingList(ticket -> rig.store.await(ticket));
  }

  private void fromTheWaitingList(
      Function<String, CompletableFuture<Optional<TokenDecision>>> way) {
    rig =
        OutageRig.local(
            redis.uri(), 1, config(BUDGET.toBuilder().maxConcurrentRequests(1).build()));
    TokenDecision.Granted running = rig.granted(10);
    TokenDecision.Queued queued = (TokenDecision.Queued) rig.ask(KEYED);
    get(rig.store.settle(running.reservation(), 10));
    String granted =
        ((TokenDecision.Granted) get(way.apply(queued.ticket())).orElseThrow()).reservation();
    startOutage();
    assertThat(((TokenDecision.Granted) rig.ask(KEYED)).reservation()).isEqualTo(granted);
    endOutage();
    redis.command("FLUSHALL");
    assertThat(((TokenDecision.Granted) rig.ask(KEYED)).reservation()).isEqualTo(granted);
    assertThat(rig.running()).isEqualTo(1);
  }

  // ---- another request

  @Test
  void keyOfAnotherRequest_isAnError_withoutRedisToo() {
    rig = OutageRig.local(redis.uri(), 1, config(BUDGET));
    TokenDecision before = rig.ask(KEYED);
    startOutage();
    TokenRequest other = request(11).withIdempotencyKey("k");
    assertThatThrownBy(() -> rig.ask(other))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("it was of 10 tokens");
    assertThatThrownBy(() -> get(rig.store.find(other)))
        .isInstanceOf(IllegalArgumentException.class);
    assertThat(rig.ask(KEYED)).isEqualTo(before);
  }
}
