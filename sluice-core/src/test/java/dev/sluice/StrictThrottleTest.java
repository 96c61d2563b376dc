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
    throttle.setRate("provider", 1, 5);
    throttle.setTemplate("tenant:*", 1, 5);
  }

  private static void assertRefused(ThrowingCallable call) {
    assertThatIllegalArgumentException()
        .isThrownBy(call)
        .withMessage("key must have a rate, or match a template: key=provide");
  }

  @Test
  void unknownKey_passesAndCounts() {
    Limits throttle = Limits.create(clock);
    addRates(throttle);
    assertThat(throttle.tryConsume("provide")).isTrue();
    assertThat(throttle.tryConsume(BOTH)).isTrue();
    assertThat(throttle.tryConsume(COSTS)).isTrue();
    assertThat(throttle.consume("provide").isGranted()).isTrue();
    assertThat(throttle.consume(BOTH, 9).isGranted()).isFalse();
    assertThat(throttle.unknownKeys()).isEqualTo(5);
    assertThat(throttle.peek(BOTH).isGranted()).isTrue();
    assertThat(throttle.tryConsume(List.of("tenant:a", "provider"))).isTrue();
    assertThat(throttle.unknownKeys()).isEqualTo(5);
  }

  @Test
  void strict_unknownKey_isRefusedAndChangesNothing() {
    Limits throttle = Limits.createStrict(clock);
    addRates(throttle);
    int size = throttle.size();
    assertRefused(() -> throttle.tryConsume("provide"));
    assertRefused(() -> throttle.tryConsume(BOTH));
    assertRefused(() -> throttle.tryConsume(COSTS));
    assertRefused(() -> throttle.consume("provide"));
    assertRefused(() -> throttle.consume(BOTH));
    assertRefused(() -> throttle.consume(COSTS));
    assertRefused(() -> throttle.peek("provide"));
    assertRefused(() -> throttle.peek(BOTH));
    assertRefused(() -> throttle.peek(COSTS));
    assertThat(throttle.unknownKeys()).isEqualTo(9);
    assertThat(throttle.size()).isEqualTo(size);
    assertThat(throttle.snapshot("provider").orElseThrow().level()).isEqualTo(5);
  }

  @Test
  void strict_knownKeys_passUntilTheirRateIsRemoved() {
    Limits throttle = Limits.createStrict(clock);
    addRates(throttle);
    assertThat(throttle.tryConsume(List.of("tenant:a", "provider"))).isTrue();
    assertThat(throttle.tryConsume("tenant:b")).isTrue();
    throttle.setRate("provide", 1, 1);
    assertThat(throttle.tryConsume("provide")).isTrue();
    throttle.removeRate("provide");
    assertRefused(() -> throttle.tryConsume("provide"));
    throttle.removeTemplate("tenant:*");
    assertThatIllegalArgumentException().isThrownBy(() -> throttle.tryConsume("tenant:a"));
  }
}
