package dev.sluice.governor;

import static dev.sluice.governor.GovernorSimulation.HOURS;
import static dev.sluice.governor.Rig.P0;
import static dev.sluice.governor.Rig.P2;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToLongFunction;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Hours of mixed load at a virtual time: what must hold, seen from outside. */
@Tag("any-jdk")
class GovernorSimulationTest {
  /** One for every five hundred of the random runs elsewhere, which are shorter. */
  private static final int SEEDS = Math.max(1, Integer.getInteger("sluice.seeds", 500) / 500);

  static LongStream seeds() {
    return LongStream.range(0, SEEDS);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void hoursOfMixedLoad(long seed) {
    GovernorSimulation day = new GovernorSimulation(seed);
    try (Governor governor = day.governor) {
      day.run();
      assertThat(day.grants).hasSizeGreaterThan((int) HOURS * 1_600);
      requireLimits(day);
      requireConservation(day, governor);
      requireOrder(day);
      requireBoundedWaits(day);
      // No more than there is to wake up for, besides one a second that reopens closed models.
      assertThat(day.timersSet)
          .isLessThan(day.calls.size() + day.timer.nanoTime() / WaitingListFixture.SECOND);
      assertThat(day.utilization).hasSize((int) HOURS * 4 / 3);
      assertThat(day.utilization.values()).as("%s", day.utilization).allMatch(each -> each >= 0.99);
    }
  }

  // ---- never above the limit

  private static void requireLimits(GovernorSimulation day) {
    long target = GovernorSimulation.TARGET;
    for (String model : GovernorSimulation.MODELS) {
      List<GovernorSimulation.Call> granted = grantsOf(day, model);
      requireWindows(
          granted,
          each -> Math.min(each.charged, each.request.tokens()),
          GovernorSimulation.BURST,
          target);
    }
    List<GovernorSimulation.Call> strict = grantsOf(day, GovernorSimulation.STRICT);
    requireWindows(strict, each -> 1, GovernorSimulation.RPM, GovernorSimulation.RPM);
    GovernorSimulation.TENANTS.forEach(
        (name, budget) ->
            requireWindows(
                strict.stream().filter(each -> each.request.tenant().equals(name)).toList(),
                each -> each.used,
                budget.tokens().capacity(),
                budget.tokens().refillTokens()));
  }

  /** Those whose moment is known: who polls learns of it later. */
  private static List<GovernorSimulation.Call> grantsOf(GovernorSimulation day, String model) {
    return day.grants.stream()
        .filter(each -> each.request.model().equals(model))
        .filter(each -> each.atOnce || isTold(each))
        .toList();
  }

  private static boolean isTold(GovernorSimulation.Call call) {
    return call.manner == GovernorSimulation.Manner.AWAITS
        || call.manner == GovernorSimulation.Manner.CANCELS;
  }

  /**
   * In every window of w at most the burst and what accrues in w. With S(k) the sum of the first k,
   * that is S(b) - S(a) - rate·(tb - ta) ≤ burst for all a ≤ b, in which only the least of S(a) -
   * rate·ta counts. In units of which both a token and a nanosecond have a whole number.
   */
  private static void requireWindows(
      List<GovernorSimulation.Call> grants,
      ToLongFunction<GovernorSimulation.Call> size,
      long burst,
      long perMinute) {
    long sum = 0;
    long least = Long.MAX_VALUE;
    for (GovernorSimulation.Call each : grants) {
      long accrued = perMinute * each.grantedAt;
      least = Math.min(least, sum - accrued);
      sum += size.applyAsLong(each) * WaitingListFixture.MINUTE;
      assertThat(sum - accrued - least)
          .as("what was granted in a window that ends at %d", each.grantedAt)
          .isLessThanOrEqualTo(burst * WaitingListFixture.MINUTE);
    }
  }

  // ---- nothing is lost, nothing is made

  private static void requireConservation(GovernorSimulation day, Governor governor) {
    for (String model : GovernorSimulation.MODELS) {
      GovernorStatus.Model status = governor.blocking().status().models().get(model);
      assertThat(status.available()).isEqualTo(status.capacity());
      assertThat(status.running()).isZero();
      assertThat(status.audit().errorTokens()).isZero();
      assertThat(status.queueLengths().values()).containsOnly(0);
      long known =
          day.grants.stream()
              .filter(each -> each.request.model().equals(model))
              .mapToLong(each -> each.charged)
              .sum();
      // An unclaimed grant is not known here, and most of it was returned.
      long unclaimed =
          day.calls.stream()
              .filter(each -> each.request.model().equals(model))
              .filter(each -> each.grantedAt < 0 && !each.ticket.isEmpty() && !isTold(each))
              .mapToLong(each -> each.request.tokens())
              .sum();
      assertThat(status.counts().tokensConsumed()).isBetween(known, known + unclaimed);
      assertThat(status.counts().totalRequests())
          .isEqualTo(day.calls.stream().filter(each -> each.request.model().equals(model)).count());
    }
    assertThat(
            day.calls.stream()
                .filter(each -> !each.ticket.isEmpty())
                .filter(each -> governor.blocking().poll(each.ticket).isPresent())
                .findFirst())
        .as("a ticket that is still known though all is over")
        .isEmpty();
  }

  // ---- no request overtakes another of its class and tenant

  private static void requireOrder(GovernorSimulation day) {
    Map<String, Integer> last = new HashMap<>();
    for (GovernorSimulation.Call each : day.grants) {
      if (each.atOnce || isTold(each)) {
        TokenRequest request = each.request;
        String line = request.model() + '/' + request.priorityClass() + '/' + request.tenant();
        assertThat(each.number).isGreaterThan(last.getOrDefault(line, -1));
        last.put(line, each.number);
      }
    }
  }

  // ---- no request waits too long

  private static void requireBoundedWaits(GovernorSimulation day) {
    long rate = GovernorSimulation.TARGET;
    List<GovernorSimulation.Call> urgent =
        day.grants.stream()
            .filter(each -> each.request.model().equals(GovernorSimulation.PLAIN))
            .filter(each -> each.request.priorityClass().equals(P0))
            .toList();
    assertThat(urgent).hasSizeGreaterThan((int) HOURS * 80);
    for (GovernorSimulation.Call each : urgent) {
      // Alone in its class it waits for its own tokens, whatever waits in other classes.
      assertThat(each.grantedAt - each.askedAt)
          .isLessThanOrEqualTo(nanos(each.ahead + each.request.tokens(), rate));
    }
    List<GovernorSimulation.Call> batch =
        day.grants.stream()
            .filter(each -> each.request.model().equals(GovernorSimulation.SHARED))
            .filter(each -> each.request.priorityClass().equals(P2))
            .toList();
    assertThat(batch).hasSizeGreaterThan((int) HOURS * 80);
    long share = (long) (GovernorSimulation.SHARE * rate);
    for (GovernorSimulation.Call each : batch) {
      long tokens = each.request.tokens();
      assertThat(each.grantedAt - each.askedAt)
          .isLessThanOrEqualTo(nanos(each.ahead + tokens, share) + nanos(tokens, rate));
    }
    // That would prove nothing if no request ever had to wait.
    assertThat(
            batch.stream()
                .map(each -> each.grantedAt - each.askedAt)
                .max(Comparator.naturalOrder()))
        .hasValueSatisfying(
            longest -> assertThat(longest).isGreaterThan(WaitingListFixture.MINUTE));
  }

  private static long nanos(long tokens, long perMinute) {
    return (tokens * WaitingListFixture.MINUTE + perMinute - 1) / perMinute;
  }
}
