package dev.sluice.governor;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limit;
import dev.sluice.governor.engine.ModelBuckets;
import dev.sluice.governor.spi.ModelLimits;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("any-jdk")
class LevelsTest {
  private static final long SECOND = 1_000_000_000;
  private static final Limit.Balanced SLOW = Desk.limit(1_000, 1, SECOND);
  private static final Limit.Balanced FAST = Desk.limit(1_000, 1_000, SECOND);

  private static ModelLimits limits(Limit.Balanced named, Limit.Balanced others) {
    return new ModelLimits(
        FAST, List.of(), 0, List.of(), Map.of("named", named), others, FAST.capacity());
  }

  private static long available(ModelBuckets levels, String tenant, long now) {
    return Objects.requireNonNull(levels.tenant(tenant, now)).available();
  }

  @Test
  void retune_ofWhatBeganEmpty_paysTheTimeBefore_atTheRateOfThen() {
    ModelBuckets levels = new ModelBuckets(limits(SLOW, SLOW), 0);
    levels.restart(0);
    levels.retune(limits(FAST, FAST), 5 * SECOND);
    assertThat(available(levels, "named", 5 * SECOND)).isEqualTo(5);
    assertThat(available(levels, "any", 5 * SECOND)).isEqualTo(5);
    levels.retune(limits(SLOW, SLOW), 5 * SECOND + SECOND / 10);
    assertThat(available(levels, "named", 6 * SECOND + SECOND / 10)).isEqualTo(106);
    assertThat(available(levels, "any", 6 * SECOND + SECOND / 10)).isEqualTo(106);
    assertThat(available(levels, "another", 6 * SECOND + SECOND / 10)).isEqualTo(106);
  }
}
