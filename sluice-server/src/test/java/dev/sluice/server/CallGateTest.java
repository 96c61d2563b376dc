package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.grpc.PendingCallLimiter;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Connections take turns while calls wait for threads. */
final class CallGateTest {
  private static final int MAX = 2 * PendingCallLimiter.TURN;

  private final PendingCallLimiter gate = new PendingCallLimiter(MAX);
  private final List<String> turns = new ArrayList<>();

  private void begin(int calls) {
    for (int i = 0; i < calls; i++) {
      gate.begun();
    }
  }

  private void see(int calls) {
    for (int i = 0; i < calls; i++) {
      gate.seen();
    }
  }

  @Test
  void gate_isOpenUntilTooManyCallsWait() {
    begin(MAX - 1);
    assertThat(gate.isOpen()).isTrue();
    begin(1);
    assertThat(gate.isOpen()).isFalse();
    see(1);
    assertThat(gate.isOpen()).isTrue();
  }

  @Test
  void turns_comeInOrder_andOnlyWithRoomForTheirCalls() {
    begin(MAX);
    gate.enter(() -> turns.add("a"));
    gate.enter(() -> turns.add("b"));
    gate.enter(() -> turns.add("c"));
    see(PendingCallLimiter.TURN - 1);
    assertThat(turns).isEmpty();
    see(1);
    assertThat(turns).containsExactly("a");
    // There is room, but a newcomer does not overtake those in line.
    assertThat(gate.isOpen()).isFalse();
    begin(PendingCallLimiter.TURN);
    gate.turnOver();
    assertThat(turns).containsExactly("a");
    see(MAX);
    assertThat(turns).containsExactly("a", "b", "c");
  }
}
