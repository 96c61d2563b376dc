package dev.sluice;

import static dev.sluice.Costs.each;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.List;
import java.util.Map;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

/** Keys without a rate: counted where they pass, refused by a strict limits. */
final class StrictNamesTest {
  private static final List<String> BOTH = List.of("tenant:a", "provider", "provide");
  private static final Map<String, Long> COSTS = Map.of("tenant:a", 1L, "provide", 1L);

  private final ManualClock clock = ManualClock.create();

  private static void addRates(Limits limits) {
    limits.set("provider", Limit.ofRate(1, 5));
    limits.set("tenant:*", Limit.ofRate(1, 5));
  }

  private static void assertRefused(ThrowingCallable call) {
    assertThatIllegalArgumentException()
        .isThrownBy(call)
        .withMessage("name must have a limit, or match a template: name=provide");
  }

  @Test
  void unknownKey_passesAndCounts() {
    Limits limits = Limits.builder().clock(clock).build();
    addRates(limits);
    assertThat(limits.tryAcquire("provide")).isTrue();
    assertThat(limits.tryAcquire(BOTH)).isTrue();
    assertThat(limits.tryAcquire(COSTS)).isTrue();
    assertThat(limits.decide("provide", 1).isGranted()).isTrue();
    assertThat(limits.decide(each(BOTH, 9)).isGranted()).isFalse();
    assertThat(limits.unknownNames()).isEqualTo(5);
    assertThat(limits.peek(each(BOTH, 1)).isGranted()).isTrue();
    assertThat(limits.tryAcquire(List.of("tenant:a", "provider"))).isTrue();
    assertThat(limits.unknownNames()).isEqualTo(5);
  }

  @Test
  void strict_unknownKey_isRefusedAndChangesNothing() {
    Limits limits = Limits.builder().clock(clock).strictNames().build();
    addRates(limits);
    int size = limits.size();
    assertRefused(() -> limits.tryAcquire("provide"));
    assertRefused(() -> limits.tryAcquire(BOTH));
    assertRefused(() -> limits.tryAcquire(COSTS));
    assertRefused(() -> limits.decide("provide", 1));
    assertRefused(() -> limits.decide(each(BOTH, 1)));
    assertRefused(() -> limits.decide(COSTS));
    assertRefused(() -> limits.peek("provide", 1));
    assertRefused(() -> limits.peek(each(BOTH, 1)));
    assertRefused(() -> limits.peek(COSTS));
    assertThat(limits.unknownNames()).isEqualTo(9);
    assertThat(limits.size()).isEqualTo(size);
    assertThat(limits.stats("provider").orElseThrow().level()).isEqualTo(5);
  }

  @Test
  void strict_knownKeys_passUntilTheirRateIsRemoved() {
    Limits limits = Limits.builder().clock(clock).strictNames().build();
    addRates(limits);
    assertThat(limits.tryAcquire(List.of("tenant:a", "provider"))).isTrue();
    assertThat(limits.tryAcquire("tenant:b")).isTrue();
    limits.set("provide", Limit.ofRate(1, 1));
    assertThat(limits.tryAcquire("provide")).isTrue();
    limits.remove("provide");
    assertRefused(() -> limits.tryAcquire("provide"));
    limits.remove("tenant:*");
    assertThatIllegalArgumentException().isThrownBy(() -> limits.tryAcquire("tenant:a"));
  }
}
