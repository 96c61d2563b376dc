package dev.sluice.governor.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.GovernorStatus;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import dev.sluice.testkit.JavaProcess;
import dev.sluice.testkit.redis.RedisServer;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Nodes in other processes: some are killed with open grants and tickets, one has a wrong clock.
 */
@Tag("any-jdk")
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class BudgetProcessesTest {
  private static final String NO_HURRY = " 3600000";
  private static final int SPENT = 1_000;
  private static final Duration HOUR = Duration.ofHours(1);

  /** The time after which Redis ends the membership of a dead node. */
  private static final Duration MEMBERSHIP = Duration.ofMillis(11_500);

  /** A JVM on a false clock of its own is slow. */
  private static final boolean LONG_RUN = Integer.getInteger("sluice.fleet.seconds") != null;

  private static List<String> arguments(
      String url, int atOnce, Duration idleTimeout, Duration reservationTimeout) {
    return List.of(
        url,
        Integer.toString(atOnce),
        Long.toString(idleTimeout.toMillis()),
        Long.toString(reservationTimeout.toMillis()));
  }

  private static TokenDecision request(BudgetStore store, long tokens) {
    return store
        .request(
            TokenRequest.of(BudgetCaller.MODEL, tokens).withPriorityClass(BudgetCaller.PRIORITY))
        .join();
  }

  private static CompletableFuture<Optional<TokenDecision>> queue(BudgetStore store, long tokens) {
    return store.await(((TokenDecision.Queued) request(store, tokens)).ticket());
  }

  private static TokenDecision.Granted granted(CompletableFuture<Optional<TokenDecision>> waiter)
      throws Exception {
    return (TokenDecision.Granted) waiter.get(30, TimeUnit.SECONDS).orElseThrow();
  }

  private static GovernorStatus.Model status(BudgetStore store) {
    return Objects.requireNonNull(store.status().join().models().get(BudgetCaller.MODEL));
  }

  private static int waiting(BudgetStore store) {
    return status(store).queueLengths().values().stream().mapToInt(Integer::intValue).sum();
  }

  private static void fill(JavaProcess holder, int reservations, int tickets) {
    for (int i = 0; i < reservations; i++) {
      holder.send(SPENT + NO_HURRY);
      holder.await(BudgetCaller.GRANTED);
    }
    for (int i = 0; i < tickets; i++) {
      holder.send(SPENT + NO_HURRY);
      holder.await(BudgetCaller.QUEUED);
    }
  }

  @Test
  void killedHolders_freeTheirSlotsAndPlaces_andTheirTokensStaySpent() throws Exception {
    int atOnce = 4;
    Duration idleTimeout = Duration.ofSeconds(1);
    Duration reservationTimeout = Duration.ofSeconds(3);
    try (RedisServer server = RedisServer.start();
        BudgetStore store =
            BudgetCaller.open(
                server.uri(), BudgetCaller.config(atOnce, idleTimeout, reservationTimeout));
        JavaProcess one =
            JavaProcess.start(
                BudgetCaller.class,
                arguments(server.uri(), atOnce, idleTimeout, reservationTimeout));
        JavaProcess other =
            JavaProcess.start(
                BudgetCaller.class,
                arguments(server.uri(), atOnce, idleTimeout, reservationTimeout))) {
      one.await(BudgetCaller.READY);
      other.await(BudgetCaller.READY);
      fill(one, 2, 0);
      fill(other, 2, 3);
      fill(one, 0, 3);
      CompletableFuture<Optional<TokenDecision>> first = queue(store, 10);
      CompletableFuture<Optional<TokenDecision>> second = queue(store, 20);
      assertThat(status(store).running()).isEqualTo(atOnce);
      assertThat(waiting(store)).isEqualTo(8);
      long killed = System.nanoTime();
      one.kill();
      other.kill();
      granted(first);
      granted(second);
      Duration took = Duration.ofNanos(System.nanoTime() - killed);
      System.out.printf("killed holders: others went on after %d ms%n", took.toMillis());
      // Dead nodes count as absent, and keep one slot of three each until their memberships end.
      assertThat(took).isLessThan(MEMBERSHIP.plus(Duration.ofSeconds(1)));
      assertThat(waiting(store)).isZero();
      // Tokens of delivered grants stay charged; undelivered grants were returned.
      Awaitility.await()
          .atMost(Duration.ofSeconds(10))
          .until(() -> status(store).counts().tokensConsumed() == 4L * SPENT + 30);
      assertThat(status(store).available()).isLessThan(1_000_000 - 4 * SPENT);
      Awaitility.await()
          .atMost(reservationTimeout.plusSeconds(5))
          .until(() -> status(store).running() == 0);
      assertThat(status(store).counts().tokensConsumed()).isEqualTo(4L * SPENT + 30);
    }
  }

  /** Starts a process whose clock is an hour behind that of Redis, or ahead of it. */
  private static JavaProcess startAnHourOff(List<String> arguments) {
    return LONG_RUN
        ? JavaProcess.startAt(HOUR.multipliedBy(2), BudgetCaller.class, arguments)
        : JavaProcess.start(BudgetCaller.class, arguments);
  }

  @Test
  void clockAnHourOff_changesNeitherGrantsNorOrder() throws Exception {
    Duration longer = Duration.ofMinutes(1);
    try (RedisServer server = RedisServer.builder().clockOffset(HOUR).start();
        BudgetStore store =
            BudgetCaller.open(server.uri(), BudgetCaller.config(1, longer, longer));
        JavaProcess off = startAnHourOff(arguments(server.uri(), 1, longer, longer))) {
      long clock = Long.parseLong(off.await(BudgetCaller.READY));
      assertThat(Duration.ofMillis(clock - server.micros() / 1_000).abs())
          .isCloseTo(HOUR, Duration.ofMinutes(1));
      TokenDecision.Granted running = (TokenDecision.Granted) request(store, 10);
      CompletableFuture<Optional<TokenDecision>> before = queue(store, 10);
      off.send("10" + NO_HURRY);
      off.await(BudgetCaller.QUEUED);
      CompletableFuture<Optional<TokenDecision>> after = queue(store, 10);
      // A deadline counts from the call to Redis, by any clock.
      off.send("10 500");
      off.await(BudgetCaller.QUEUED);
      assertThat(off.await(BudgetCaller.DECIDED)).isEqualTo(TokenDecision.Reason.TIMEOUT.name());
      assertThat(waiting(store)).isEqualTo(3);
      store.settle(running.reservation(), 10).join();
      TokenDecision.Granted next = granted(before);
      assertThat(after).isNotDone();
      store.settle(next.reservation(), 10).join();
      assertThat(off.await(BudgetCaller.DECIDED)).isEqualTo(BudgetCaller.GRANTED);
      assertThat(after).isNotDone();
    }
  }
}
