package dev.sluice.governor;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.internal.engine.ModelBuckets;
import dev.sluice.governor.spi.ModelLimits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tenants that expect next to nothing and use all that they asked for, or report more than a call
 * can have used: the bounds of docs/governor.md hold whatever they do, and others go on.
 */
@Tag("any-jdk")
class LyingTenantTest {
  private static final long BURST = 60_000;
  private static final long TARGET = 60_000;
  private static final ModelBudget BUDGET = SeedBudget.budget(TARGET, BURST).build();
  private static final long SECOND = 1_000_000_000L;

  /** A call of the liar or of anybody else. */
  private static final class Call {
    final TokenRequest request;
    long at;
    long used;
    TokenDecision.Granted granted;

    Call(TokenRequest request) {
      this.request = request;
    }
  }

  private final Rig rig = new Rig(BUDGET);

  private TokenRequest of(String tenant, long tokens) {
    return TokenRequest.of(Rig.MODEL, tokens).withPriorityClass(Rig.P1).withTenant(tenant);
  }

  private void call(TokenRequest request, long used) {
    TokenDecision.Granted granted = Rig.granted(rig.governor.blocking().request(request));
    rig.governor.blocking().settle(granted.reservation(), used);
    rig.timer.advance(Duration.ofSeconds(1).toNanos());
  }

  private int admitted(String tenant) {
    int admitted = 0;
    for (int i = 0; i < 50; i++) {
      TokenRequest lie = of(tenant, BURST).withExpectedTokens(1);
      admitted += rig.governor.blocking().request(lie) instanceof TokenDecision.Granted ? 1 : 0;
    }
    return admitted;
  }

  /** All 50 were admitted. */
  @Test
  void expectationOfAFreshTenant_lowersNothing() {
    assertThat(admitted("liar")).isEqualTo(1);
    assertThat(rig.status().available()).isZero();
  }

  @Test
  void expectationAfterAnHonestStart_lowersToHalfAtMost() {
    for (int i = 0; i < 100; i++) {
      call(of("liar", 10).withExpectedTokens(1), 1);
    }
    rig.timer.advance(Duration.ofMinutes(1).toNanos());
    assertThat(admitted("liar")).isEqualTo(2);
  }

  @Test
  void expectation_lowersToThePastUsageOfTheTenant() {
    for (int i = 0; i < 20; i++) {
      call(of("honest", 1_000), 700);
    }
    TokenRequest hopeful = of("honest", 10_000).withExpectedTokens(1_000);
    assertThat(Rig.granted(rig.governor.blocking().request(hopeful)).tokens()).isEqualTo(7_000);
    TokenRequest careful = of("honest", 10_000).withExpectedTokens(9_000);
    assertThat(Rig.granted(rig.governor.blocking().request(careful)).tokens()).isEqualTo(9_000);
    // It says nothing of others.
    assertThat(
            Rig.granted(rig.governor.blocking().request(of("new", 1_000).withExpectedTokens(1)))
                .tokens())
        .isEqualTo(1_000);
  }

  /**
   * Over any w seconds, calls that stay within what they asked for use at most twice what may be
   * granted; and what is charged is at most two bursts and what accrues.
   */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8})
  void anyDay_staysWithinTheDocumentedOverrun(int seed) {
    Random random = new Random(seed);
    List<Call> all = new ArrayList<>();
    List<Call> open = new ArrayList<>();
    for (int step = 0; step < 2_000; step++) {
      if (random.nextInt(3) > 0) {
        ask(random, all, open);
      } else if (!open.isEmpty()) {
        settle(open.remove(random.nextInt(open.size())), random);
      }
      rig.timer.advance((long) (random.nextDouble() * SECOND / 2));
      assertThat(rig.status().available()).isGreaterThanOrEqualTo(-BURST);
    }
    requireEveryWindow(all);
  }

  private void ask(Random random, List<Call> all, List<Call> open) {
    // The liar is honest until it has a history.
    String tenant = random.nextBoolean() ? "liar" : "other";
    long tokens = 1L + random.nextInt(random.nextInt(3) == 0 ? (int) BURST : 2_000);
    TokenRequest request = of(tenant, tokens);
    if (tenant.equals("liar")) {
      request = request.withExpectedTokens(1);
    }
    Call call = new Call(request);
    TokenDecision outcome = rig.governor.blocking().request(request);
    if (outcome instanceof TokenDecision.Granted granted) {
      call.at = rig.timer.nanoTime();
      call.granted = granted;
      all.add(call);
      open.add(call);
      boolean lies = tenant.equals("liar") && all.size() > 100;
      call.used = lies ? tokens : 1 + (long) (tokens * random.nextDouble() / 5);
    } else if (outcome instanceof TokenDecision.Queued queued) {
      rig.governor.blocking().cancel(queued.ticket());
    }
  }

  /** Now and then it reports more than a call can have used. */
  private void settle(Call call, Random random) {
    boolean lies = call.request.tenant().equals("liar") && random.nextInt(5) == 0;
    rig.governor
        .blocking()
        .settle(call.granted.reservation(), lies ? TokenRequest.MAX_TOKENS : call.used)
        .ifPresent(
            settled ->
                assertThat(settled.chargedTokens())
                    .isLessThanOrEqualTo(Math.max(settled.reservedTokens(), BURST)));
  }

  private static void requireEveryWindow(List<Call> calls) {
    for (int from = 0; from < calls.size(); from++) {
      long used = 0;
      for (int to = from; to < calls.size(); to++) {
        used += calls.get(to).used;
        double seconds = (double) (calls.get(to).at - calls.get(from).at) / SECOND;
        assertThat((double) used).isLessThanOrEqualTo(2 * (BURST + TARGET / 60.0 * seconds) + 1);
      }
    }
  }

  /** With reservations of one token it held the model at a burst below empty for ever. */
  @Test
  void reservationsOfOneToken_cannotKeepTheModelFromOthers() {
    List<TokenDecision.Granted> held = new ArrayList<>();
    for (int i = 0; i < 600; i++) {
      held.add(Rig.granted(rig.governor.blocking().request(of("liar", 1))));
    }
    long served = 0;
    for (TokenDecision.Granted each : held) {
      rig.governor.blocking().settle(each.reservation(), TokenRequest.MAX_TOKENS);
      rig.timer.advance(SECOND);
      TokenRequest other = of("other", 500).withMaxWait(Duration.ofMillis(1));
      TokenDecision outcome = rig.governor.blocking().request(other);
      if (outcome instanceof TokenDecision.Granted granted) {
        served += granted.tokens();
        rig.governor.blocking().settle(granted.reservation(), granted.tokens());
      }
    }
    // In ten minutes it took a burst at first, and two more of a quarter of the rate.
    assertThat(served).isGreaterThan(500 * 500L);
    assertThat(rig.status().audit().excessTokens()).isGreaterThan(TokenRequest.MAX_TOKENS);
  }

  @Test
  void excess_isAnAlertThatNamesIt() {
    TokenDecision.Granted one = Rig.granted(rig.governor.blocking().request(of("liar\n", 1)));
    rig.governor.blocking().settle(one.reservation(), TokenRequest.MAX_TOKENS);
    rig.timer.advance(Duration.ofSeconds(5).toNanos());
    assertThat(rig.governor.blocking().status().alerts())
        .filteredOn(each -> each.kind() == GovernorStatus.Alert.Kind.SETTLED_EXCESS)
        .singleElement()
        .satisfies(
            alert -> {
              assertThat(alert.model()).isEqualTo(Rig.MODEL);
              assertThat(alert.value()).isEqualTo(1e12 - BURST);
              assertThat(alert.advice())
                  .isEqualTo(
                      "Check what the tenant reports: tenant 'liar?' reported 1000000000000 tokens"
                          + " for a reservation of 1, and 60000 were charged");
            });
    rig.timer.advance(Duration.ofMinutes(1).toNanos());
    assertThat(rig.governor.blocking().status().alerts()).isEmpty();
    assertThat(rig.status().audit().excessTokens()).isEqualTo(TokenRequest.MAX_TOKENS - BURST);
  }

  @Test
  void allowance_isKeptOverARestart() {
    ModelLimits limits = ModelLimits.of(BUDGET);
    ModelBuckets before = new ModelBuckets(limits, 0);
    assertThat(before.overruns().charge(1, BURST, BURST)).isEqualTo(BURST);
    ModelBuckets after = new ModelBuckets(limits, 0);
    after.restore(before.save(0), 0);
    assertThat(after.overruns().charge(1, BURST, BURST)).isEqualTo(2);
    ModelBuckets old = new ModelBuckets(limits, 0);
    old.restore(Map.of("tokens", before.tokens().save()), 0);
    assertThat(old.overruns().charge(1, BURST, BURST)).isEqualTo(BURST);
  }
}
