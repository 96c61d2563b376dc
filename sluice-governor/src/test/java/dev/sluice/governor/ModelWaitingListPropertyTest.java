package dev.sluice.governor;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limit;
import dev.sluice.governor.internal.engine.Reservation;
import dev.sluice.governor.internal.engine.TokenDemand;
import dev.sluice.governor.internal.engine.TokenWaiter;
import dev.sluice.governor.spi.ModelLimits;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Random days of a model: what must hold whatever happens. */
@Tag("any-jdk")
class ModelWaitingListPropertyTest {
  private static final int DAYS = Integer.getInteger("sluice.seeds", 500);
  private static final int STEPS = 120;

  /** A grant, and the tokens of it that were charged in the end. */
  private static final class Charge {
    final TokenWaiter waiting;
    final long at;
    long net;

    Charge(TokenWaiter waiting, long at) {
      this.waiting = waiting;
      this.at = at;
      this.net = waiting.demand.tokens();
    }
  }

  /** One run, by its seed. */
  private static final class Day {
    final Random random;
    final WaitingListFixture fixture;
    final Limit.Balanced rate;
    final List<TokenWaiter> asked = new ArrayList<>();
    final List<Charge> charges = new ArrayList<>();
    final List<Charge> open = new ArrayList<>();

    Day(long seed, boolean guarantee) {
      random = new Random(seed);
      rate =
          WaitingListFixture.limit(
              1_000 + random.nextInt(9_000),
              600 + random.nextInt(60_000),
              WaitingListFixture.MINUTE);
      List<ModelLimits.ClassLimit> classes =
          new ArrayList<>(WaitingListFixture.classes(rate, 1, 0.5 + random.nextDouble() / 2));
      classes.add(
          new ModelLimits.ClassLimit(
              "last",
              rate.capacity() / 2,
              guarantee
                  ? WaitingListFixture.limit(
                      rate.capacity() / 4, rate.refillTokens() / 10 + 1, WaitingListFixture.MINUTE)
                  : null));
      fixture =
          new WaitingListFixture(
              new ModelLimits(
                  rate,
                  random.nextBoolean()
                      ? List.of()
                      : List.of(
                          WaitingListFixture.limit(5, 1, WaitingListFixture.SECOND),
                          WaitingListFixture.limit(40, 40, WaitingListFixture.MINUTE)),
                  random.nextBoolean() ? 0 : 4,
                  classes,
                  Map.of(
                      "c",
                      WaitingListFixture.limit(
                          rate.capacity() / 3,
                          rate.refillTokens() / 4 + 1,
                          WaitingListFixture.MINUTE)),
                  null,
                  rate.capacity()));
    }

    void run() {
      for (int step = 0; step < STEPS; step++) {
        switch (random.nextInt(13)) {
          case 0, 1, 2, 3, 4, 5 -> ask();
          case 6, 7 -> settle();
          case 8, 9 -> cancel();
          case 10 -> hearTheProvider();
          default ->
              fixture.advanceTo(
                  fixture.now + (long) (random.nextDouble() * 3 * WaitingListFixture.SECOND));
        }
        collect();
      }
    }

    private void ask() {
      String tenant = String.valueOf("abc".charAt(random.nextInt(3)));
      int rank = random.nextInt(3);
      long most = fixture.waitingList.largest(new TokenDemand(tenant, 1, rank, 1));
      asked.add(fixture.ask(tenant, rank, 1 + random.nextInt((int) most)));
    }

    /** Which only ever takes away. */
    private void hearTheProvider() {
      switch (random.nextInt(8)) {
        case 0 ->
            fixture.waitingList.pause(fixture.now + random.nextInt(1_000) * WaitingListFixture.MS);
        case 1 -> fixture.waitingList.lowerTo(random.nextInt((int) rate.capacity()));
        case 2, 3 -> fixture.waitingList.slow(0.05 + 0.95 * random.nextDouble(), fixture.now);
        case 4 -> fixture.waitingList.slow(1, fixture.now);
        default -> {}
      }
      fixture.drain();
    }

    private void settle() {
      if (!open.isEmpty()) {
        Charge charge = open.remove(random.nextInt(open.size()));
        long tokens = charge.waiting.demand.tokens();
        fixture.waitingList.advance(fixture.now);
        Reservation reservation = fixture.granted.get(charge.waiting);
        if (random.nextInt(4) == 0) {
          fixture.waitingList.abandon(reservation);
        } else {
          charge.net -= fixture.waitingList.settle(reservation, random.nextInt((int) tokens + 1));
        }
        fixture.drain();
      }
    }

    private void cancel() {
      List<TokenWaiter> waiting = asked.stream().filter(each -> each.isWaiting).toList();
      if (!waiting.isEmpty()) {
        TokenWaiter who = waiting.get(random.nextInt(waiting.size()));
        assertThat(fixture.waitingList.leave(who)).isTrue();
        assertThat(fixture.waitingList.leave(who)).isFalse();
        fixture.drain();
      }
    }

    private void collect() {
      List<TokenWaiter> granted = new ArrayList<>(fixture.granted.keySet());
      for (int i = charges.size(); i < granted.size(); i++) {
        Charge charge = new Charge(granted.get(i), fixture.grantTimes.get(i));
        charges.add(charge);
        open.add(charge);
      }
    }

    /**
     * In every window at most the burst and what accrues meanwhile, of what was charged in the end.
     */
    void requireEveryWindow() {
      for (int from = 0; from < charges.size(); from++) {
        long sum = 0;
        for (int to = from; to < charges.size(); to++) {
          sum += charges.get(to).net;
          double accrued =
              (double) rate.refillTokens()
                  * (charges.get(to).at - charges.get(from).at)
                  / WaitingListFixture.MINUTE;
          assertThat((double) sum).isLessThanOrEqualTo(rate.capacity() + accrued + 1e-6);
        }
      }
    }

    /** First come, first served for each tenant and class. */
    void requireOrder() {
      Map<String, TokenWaiter> last = new HashMap<>();
      for (Charge charge : charges) {
        TokenDemand demand = charge.waiting.demand;
        TokenWaiter before = last.put(demand.tenant() + demand.rank(), charge.waiting);
        if (before != null) {
          assertThat(asked.indexOf(before)).isLessThan(asked.indexOf(charge.waiting));
        }
      }
    }

    /** At the end, every request was granted or left, and all tokens have come back. */
    void requireAllServed() {
      fixture.waitingList.slow(1, fixture.now);
      fixture.drain();
      collect();
      for (int i = 0; i < 10_000 && fixture.waitingList.waiting() > 0; i++) {
        if (fixture.waitingList.wakeAt() != Long.MAX_VALUE) {
          fixture.advanceTo(fixture.waitingList.wakeAt());
        }
        collect();
        settle();
        collect();
      }
      assertThat(fixture.waitingList.waiting()).isZero();
      while (!open.isEmpty()) {
        settle();
      }
      assertThat(fixture.waitingList.running()).isZero();
      fixture.advanceTo(fixture.now + 60 * WaitingListFixture.MINUTE);
      assertThat(fixture.waitingList.available()).isEqualTo(rate.capacity());
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void randomDay_keepsLimitAndOrder_andGrantsEveryWaiter(boolean guarantee) {
    for (long seed = 0; seed < DAYS; seed++) {
      Day day = new Day(seed, guarantee);
      try {
        day.run();
        day.requireEveryWindow();
        day.requireOrder();
        day.requireAllServed();
        day.requireEveryWindow();
      } catch (AssertionError | RuntimeException failure) {
        throw new AssertionError("seed " + seed, failure);
      }
    }
  }
}
