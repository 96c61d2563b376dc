package dev.sluice.redis.internal.connection;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

/** When a node decides by itself, at times that the test sets. */
final class LocalDecisionGateTest {
  private final Time time = new Time();
  private final LocalDecisionGate gate = new LocalDecisionGate(time);

  @Test
  void decision_isMadeFromTheMomentOn_andNotOnceTheGateIsShut() {
    gate.openFrom(10);
    assertThat(gate.decide(() -> true)).isEmpty();
    time.nanos = 10;
    assertThat(gate.decide(() -> true)).contains(true);
    gate.shut();
    assertThat(gate.decide(() -> true)).isEmpty();
  }

  @Test
  void gateThatWasNeverUsed_hasNoTime() {
    gate.openFrom(10);
    assertThat(gate.decide(() -> true)).isEmpty();
    assertThat(gate.usedSinceNanos()).isEmpty();
  }

  /** A start without Redis, and a return that fails: the first decisions still count. */
  @Test
  void gateThatOpensAgain_doesNotForgetWhenItWasUsedFirst() {
    time.nanos = 5;
    assertThat(gate.decide(() -> true)).contains(true);
    gate.shut();
    gate.openFrom(100);
    assertThat(gate.usedSinceNanos()).isEqualTo(OptionalLong.of(0));
  }

  private static final class Time implements FleetScheduler {
    private long nanos;

    @Override
    public long nanoTime() {
      return nanos;
    }

    @Override
    public void execute(Runnable work) {}

    @Override
    public void after(long delay, Runnable work) {}

    @Override
    public void watch(ScriptCall call) {}

    @Override
    public void close() {}
  }
}
