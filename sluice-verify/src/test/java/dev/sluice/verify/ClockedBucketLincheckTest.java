package dev.sluice.verify;

import dev.sluice.Limit;
import dev.sluice.verify.ClockVerifier.Exact;
import dev.sluice.verify.ClockVerifier.ExactUnlessLate;
import dev.sluice.verify.ClockVerifier.NeverMore;
import java.time.Duration;
import org.jetbrains.lincheck.datastructures.verifier.Verifier;
import org.junit.jupiter.api.Test;

/** The bucket on a clock that moves meanwhile; {@link ClockVerifier} says what is checked. */
class ClockedBucketLincheckTest {
  private static final long MINUTE_NANOS = Duration.ofMinutes(1).toNanos();

  /** A token every ten nanoseconds; the clock moves in steps of four. */
  private static final Limit BALANCED = new Limit.Balanced(3, 1, Duration.ofNanos(10));

  /** A rate that shares no factor with a second: an epoch lasts 19.2 minutes. */
  private static final long COPRIME_RATE = 999_983;

  /** Ten minutes' worth. */
  private static final long BATCH_TOKENS = COPRIME_RATE * 600;

  /** Takes half an hour to fill, so that what is owed outlives an epoch. */
  private static final Limit COPRIME =
      new Limit.Balanced(3 * BATCH_TOKENS, COPRIME_RATE, Duration.ofSeconds(1));

  /** Consumers only. */
  public static class Consumers extends ClockedBucket {
    public Consumers() {
      super(BALANCED, 2, 4);
    }
  }

  /** Tokens accrue. */
  public static class Balanced extends RefilledBucket {
    public Balanced() {
      super(BALANCED, 2, 4);
    }
  }

  /** Tokens come in whole periods. */
  public static class Strict extends RefilledBucket {
    public Strict() {
      super(new Limit.Strict(3, Duration.ofNanos(10)), 2, 4);
    }
  }

  /** The limit changes too. */
  public static class Changing extends ReconfiguredBucket {
    public Changing() {
      super(LIMITS.get(0), 2, 4);
    }
  }

  /** An epoch ends during the run, and no thread lags by more than a quarter of one. */
  public static class EpochEnd extends RefilledBucket {
    public EpochEnd() {
      super(COPRIME, BATCH_TOKENS, MINUTE_NANOS / 4);
      skip(19 * MINUTE_NANOS);
    }

    @Override
    long batchTokens() {
      return BATCH_TOKENS;
    }
  }

  /** Each advance ends an epoch, so that many are left behind for good. */
  public static class Epochs extends RefilledBucket {
    public Epochs() {
      super(COPRIME, BATCH_TOKENS, 30 * MINUTE_NANOS);
    }

    @Override
    long batchTokens() {
      return BATCH_TOKENS;
    }
  }

  /** Consumers only, and epochs end all the time. */
  public static class EpochConsumers extends ClockedBucket {
    public EpochConsumers() {
      super(COPRIME, BATCH_TOKENS, 10 * MINUTE_NANOS);
    }

    @Override
    long batchTokens() {
      return BATCH_TOKENS;
    }
  }

  @Test
  void consumers_grantsAreAtomicWithTheClock() {
    check(Consumers.class, NeverMore.class);
  }

  @Test
  void epochConsumers_grantsAreAtomicWithTheClock() {
    check(EpochConsumers.class, NeverMore.class);
  }

  @Test
  void balanced_isLinearizable() {
    check(Balanced.class, Exact.class);
  }

  @Test
  void strict_isLinearizable() {
    check(Strict.class, Exact.class);
  }

  @Test
  void reconfiguring_isLinearizable() {
    check(Changing.class, Exact.class);
  }

  @Test
  void epochEnd_isLinearizable() {
    check(EpochEnd.class, Exact.class);
  }

  @Test
  void epochs_areLinearizable_exceptStaleReadings() {
    check(Epochs.class, ExactUnlessLate.class);
  }

  private static void check(Class<?> scenario, Class<? extends Verifier> verifier) {
    Effort.modelChecking().verifier(verifier).check(scenario);
    Effort.stress().verifier(verifier).check(scenario);
  }
}
