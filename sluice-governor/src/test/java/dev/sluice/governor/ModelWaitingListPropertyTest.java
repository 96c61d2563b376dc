package dev.sluice.governor;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limit;
import dev.sluice.governor.engine.Reservation;
import dev.sluice.governor.engine.TokenDemand;
import dev.sluice.governor.engine.TokenWaiter;
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
class ModelLinePropertyTest {
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
    final Desk desk;
    final Limit.Balanced rate;
    final List<TokenWaiter> asked = new ArrayList<>();
    final List<Charge> charges = new ArrayList<>();
    final List<Charge> open = new ArrayList<>();

    Day(long seed, boolean guarantee) {
      random = new Random(seed);
      rate = Desk.limit(1_000 + random.nextInt(9_000), 600 + random.nextInt(60_000), Desk.MINUTE);
      List<ModelLimits.ClassLimit> classes =
          new ArrayList<>(Desk.classes(rate, 1, 0.5 + random.nextDouble() / 2));
      classes.add(
          new ModelLimits.ClassLimit(
              "last",
              rate.capacity() / 2,
              guarantee
                  ? Desk.limit(rate.capacity() / 4, rate.refillTokens() / 10 + 1, Desk.MINUTE)
                  : null));
      desk =
          new Desk(
              new ModelLimits(
                  rate,
                  random.nextBoolean()
                      ? List.of()
                      : List.of(Desk.limit(5, 1, Desk.SECOND), Desk.limit(40, 40, Desk.MINUTE)),
                  random.nextBoolean() ? 0 : 4,
                  classes,
                  Map.of("c", Desk.limit(rate.capacity() / 3, rate.refillTokens() / 4 + 1, Desk.MINUTE)),
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
          default -> desk.advanceTo(desk.now + (long) (random.nextDouble() * 3 * Desk.SECOND));
        }
        collect();
      }
    }

    private void ask() {
      String tenant = String.valueOf("abc".charAt(random.nextInt(3)));
      int rank = random.nextInt(3);
      long most = desk.line.largest(new TokenDemand(tenant, 1, rank, 1));
      asked.add(desk.ask(tenant, rank, 1 + random.nextInt((int) most)));
    }

    /** Which only ever takes away. */
    private void hearTheProvider() {
      switch (random.nextInt(8)) {
        case 0 -> desk.line.pause(desk.now + random.nextInt(1_000) * Desk.MS);
        case 1 -> desk.line.lowerTo(random.nextInt((int) rate.capacity()));
        case 2, 3 -> desk.line.slow(0.05 + 0.95 * random.nextDouble(), desk.now);
        case 4 -> desk.line.slow(1, desk.now);
        default -> {}
      }
      desk.drain();
    }

    private void settle() {
      if (!open.isEmpty()) {
        Charge charge = open.remove(random.nextInt(open.size()));
        long tokens = charge.waiting.demand.tokens();
        desk.line.advance(desk.now);
        Reservation reservation = desk.granted.get(charge.waiting);
        if (random.nextInt(4) == 0) {
          desk.line.abandon(reservation);
        } else {
          charge.net -= desk.line.settle(reservation, random.nextInt((int) tokens + 1));
        }
        desk.drain();
      }
    }

    private void cancel() {
      List<TokenWaiter> waiting = asked.stream().filter(each -> each.inLine).toList();
      if (!waiting.isEmpty()) {
        TokenWaiter who = waiting.get(random.nextInt(waiting.size()));
        assertThat(desk.line.leave(who)).isTrue();
        assertThat(desk.line.leave(who)).isFalse();
        desk.drain();
      }
    }

    private void collect() {
      List<TokenWaiter> granted = new ArrayList<>(desk.granted.keySet());
      for (int i = charges.size(); i < granted.size(); i++) {
        Charge charge = new Charge(granted.get(i), desk.grantTimes.get(i));
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
              (double) rate.refillTokens() * (charges.get(to).at - charges.get(from).at) / Desk.MINUTE;
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

    /** When all is over, everybody was granted or left, and everything has come back. */
    void requireAllServed() {
      desk.line.slow(1, desk.now);
      desk.drain();
      collect();
      for (int i = 0; i < 10_000 && desk.line.waiting() > 0; i++) {
        if (desk.line.wakeAt() != Long.MAX_VALUE) {
          desk.advanceTo(desk.line.wakeAt());
        }
        collect();
        settle();
        collect();
      }
      assertThat(desk.line.waiting()).isZero();
      while (!open.isEmpty()) {
        settle();
      }
      assertThat(desk.line.running()).isZero();
      desk.advanceTo(desk.now + 60 * Desk.MINUTE);
      assertThat(desk.line.available()).isEqualTo(rate.capacity());
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void anyDay_keepsTheLimit_andTheOrder_andServesEverybody(boolean guarantee) {
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
