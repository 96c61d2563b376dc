package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.List;
import java.util.Map;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

/** Keys without a rate: counted where they pass, refused by a strict throttle. */
final class StrictThrottleTest {
  private static final List<String> BOTH = List.of("tenant:a", "provider", "provide");
  private static final Map<String, Long> COSTS = Map.of("tenant:a", 1L, "provide", 1L);

  private final ManualClock clock = ManualClock.create();

  private static void addRates(Limits throttle) {
    throttle.set("provider", Limit.ofRate(1, 5));
    throttle.set("tenant:*", Limit.ofRate(1, 5));
  }

  private static void assertRefused(ThrowingCallable call) {
    assertThatIllegalArgumentException()
        .isThrownBy(call)
        .withMessage("name must have a limit, or match a template: name=provide");
  }

  @Test
  void unknownKey_passesAndCounts() {
    Limits throttle = Limits.builder().clock(clock).build();
    addRates(throttle);
    assertThat(throttle.tryAcquire("provide")).isTrue();
    assertThat(throttle.tryAcquire(BOTH)).isTrue();
    assertThat(throttle.tryAcquire(COSTS)).isTrue();
    assertThat(throttle.decide("provide").isGranted()).isTrue();
    assertThat(throttle.decide(BOTH, 9).isGranted()).isFalse();
    assertThat(throttle.unknownNames()).isEqualTo(5);
    assertThat(throttle.peek(BOTH).isGranted()).isTrue();
    assertThat(throttle.tryAcquire(List.of("tenant:a", "provider"))).isTrue();
    assertThat(throttle.unknownNames()).isEqualTo(5);
  }

  @Test
  void strict_unknownKey_isRefusedAndChangesNothing() {
    Limits throttle = Limits.builder().clock(clock).strictNames().build();
    addRates(throttle);
    int size = throttle.size();
    assertRefused(() -> throttle.tryAcquire("provide"));
    assertRefused(() -> throttle.tryAcquire(BOTH));
    assertRefused(() -> throttle.tryAcquire(COSTS));
    assertRefused(() -> throttle.decide("provide"));
    assertRefused(() -> throttle.decide(BOTH));
    assertRefused(() -> throttle.decide(COSTS));
    assertRefused(() -> throttle.peek("provide"));
    assertRefused(() -> throttle.peek(BOTH));
    assertRefused(() -> throttle.peek(COSTS));
    assertThat(throttle.unknownNames()).isEqualTo(9);
    assertThat(throttle.size()).isEqualTo(size);
    assertThat(throttle.stats("provider").orElseThrow().level()).isEqualTo(5);
  }

  @Test
  void strict_knownKeys_passUntilTheirRateIsRemoved() {
    Limits throttle = Limits.builder().clock(clock).strictNames().build();
    addRates(throttle);
    assertThat(throttle.tryAcquire(List.of("tenant:a", "provider"))).isTrue();
    assertThat(throttle.tryAcquire("tenant:b")).isTrue();
    throttle.set("provide", Limit.ofRate(1, 1));
    assertThat(throttle.tryAcquire("provide")).isTrue();
    throttle.remove("provide");
    assertRefused(() -> throttle.tryAcquire("provide"));
    throttle.remove("tenant:*");
    assertThatIllegalArgumentException().isThrownBy(() -> throttle.tryAcquire("tenant:a"));
  }
}
