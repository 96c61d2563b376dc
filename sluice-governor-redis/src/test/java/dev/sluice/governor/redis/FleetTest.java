package dev.sluice.governor.redis;

import static dev.sluice.governor.redis.OutageRig.until;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.redis.OutagePolicy;
import dev.sluice.redis.link.RedisAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A fleet that loses Redis in the moment of its return. */
@Timeout(30)
final class FleetTest {
  private final List<String> told = new CopyOnWriteArrayList<>();

  private final OutageListener listener =
      new OutageListener() {
        @Override
        public void lost(String cause, int nodes) {
          told.add("lost " + cause);
        }

        @Override
        public void returned(Duration away, long granted, long charged) {
          told.add("returned");
        }
      };

  @Test
  void lossInTheMomentOfTheReturn_isToldInOrder_andItsReturnToo() {
    FleetConfig config =
        new FleetConfig(
            RedisAddress.parse("redis://localhost:1"),
            "fleet-test:",
            Duration.ofMillis(100),
            null,
            2,
            OutagePolicy.LOCAL,
            listener,
            () -> 0);
    try (Fleet fleet = new Fleet(config)) {
      fleet.lost("once", false);
      fleet.comeBack(false, () -> fleet.lost("again", false));
      assertThat(fleet.<Integer>whileAlone(nodes -> nodes)).contains(2);
      fleet.comeBack(false, () -> {});
      until("all is told", () -> told.size() == 4);
      assertThat(told).containsExactly("lost once", "returned", "lost again", "returned");
      assertThat(fleet.<Integer>whileAlone(nodes -> nodes)).isEmpty();
    }
  }
}
