package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** No connection and no key gets everything, and a single request gets enough. */
final class InboundBudgetTest {
  private static final int MAX = 800;

  private final InboundBudget budget = new InboundBudget(MAX);

  @Test
  void connection_getsAQuarter() {
    assertThat(budget.part("c1", "k1").take(100)).isTrue();
    InboundBudget.Part second = budget.part("c1", "k1");
    assertThat(second.take(100)).isTrue();
    assertThat(second.take(1)).isFalse();
    assertThat(budget.part("c2", "k1").take(1)).isTrue();
    assertThat(budget.used()).isEqualTo(201);
  }

  @Test
  void key_getsAHalf_whateverItsConnections() {
    for (int i = 0; i < 4; i++) {
      assertThat(budget.part("c" + i, "k1").take(100)).isTrue();
    }
    assertThat(budget.part("c5", "k1").take(1)).isFalse();
    assertThat(budget.part("c6", "k2").take(200)).isTrue();
  }

  @Test
  void singleRequest_mayExceedItsShares_butNotTheTotal() {
    InboundBudget.Part other = budget.part("c0", "k0");
    assertThat(other.take(50)).isTrue();
    InboundBudget.Part large = budget.part("c1", "k1");
    assertThat(large.take(700)).isTrue();
    assertThat(large.take(51)).isFalse();
    assertThat(budget.part("c1", "k1").take(1)).isFalse();
    assertThat(budget.part("c2", "k2").take(1)).isTrue();
    assertThat(budget.used()).isEqualTo(751);
  }

  @Test
  void requestAlone_mayExceedTheTotal() {
    InboundBudget.Part alone = budget.part("c1", null);
    assertThat(alone.take(MAX)).isTrue();
    assertThat(alone.take(MAX)).isTrue();
    assertThat(budget.part("c2", null).take(1)).isFalse();
  }

  @Test
  void closedPart_givesEverythingBackOnce() {
    InboundBudget.Part part = budget.part("c1", "k1");
    assertThat(part.take(300)).isTrue();
    part.give(100);
    part.close();
    part.close();
    assertThat(part.take(500)).isTrue();
    part.give(500);
    assertThat(budget.used()).isZero();
  }

  @Test
  void hold_setsWhatIsHeld() {
    InboundBudget.Part part = budget.part("c1", null);
    assertThat(part.hold(500)).isTrue();
    InboundBudget.Part other = budget.part("c2", null);
    assertThat(other.hold(400)).isFalse();
    assertThat(budget.used()).isEqualTo(900);
    assertThat(other.hold(100)).isTrue();
    assertThat(budget.used()).isEqualTo(600);
  }
}
