package dev.sluice.governor;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limit;
import dev.sluice.governor.internal.engine.ModelBuckets;
import dev.sluice.governor.spi.ModelLimits;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("any-jdk")
class ModelBucketsTest {
  private static final long SECOND = 1_000_000_000;
  private static final Limit.Balanced SLOW = WaitingListFixture.limit(1_000, 1, SECOND);
  private static final Limit.Balanced FAST = WaitingListFixture.limit(1_000, 1_000, SECOND);

  private static ModelLimits limits(Limit.Balanced named, Limit.Balanced others) {
    return new ModelLimits(
        FAST, List.of(), 0, List.of(), Map.of("named", named), others, FAST.capacity());
  }

  private static long available(ModelBuckets buckets, String tenant, long now) {
    return Objects.requireNonNull(buckets.tenant(tenant, now)).available();
  }

  @Test
  void retunedEmptyBuckets_accrueEarlierTimeAtTheOldRate() {
    ModelBuckets buckets = new ModelBuckets(limits(SLOW, SLOW), 0);
    buckets.restart(0);
    buckets.retune(limits(FAST, FAST), 5 * SECOND);
    assertThat(available(buckets, "named", 5 * SECOND)).isEqualTo(5);
    assertThat(available(buckets, "any", 5 * SECOND)).isEqualTo(5);
    buckets.retune(limits(SLOW, SLOW), 5 * SECOND + SECOND / 10);
    assertThat(available(buckets, "named", 6 * SECOND + SECOND / 10)).isEqualTo(106);
    assertThat(available(buckets, "any", 6 * SECOND + SECOND / 10)).isEqualTo(106);
    assertThat(available(buckets, "another", 6 * SECOND + SECOND / 10)).isEqualTo(106);
  }
}
