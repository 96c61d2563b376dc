package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.broker.internal.engine.InternedPlacement;
import dev.sluice.broker.internal.engine.PreparedMessage;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class SubmissionTest {
  /** Every part whose length a client chooses. */
  @Test
  void bytes_countEveryPartOfAMessage() {
    TreeMap<String, Long> throttles = new TreeMap<>();
    throttles.put("t".repeat(200), 1L);
    InternedPlacement.Spec route = new InternedPlacement.Spec("k".repeat(100), 1, 0, throttles);
    PreparedMessage submission =
        new PreparedMessage(route, new byte[1_000], 0, 0, "d".repeat(250), false);
    assertThat(submission.bytes()).isBetween(1_000L + 100 + 200 + 250, 2_000L);
  }
}
