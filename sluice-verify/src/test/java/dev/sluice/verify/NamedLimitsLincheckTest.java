package dev.sluice.verify;

import dev.sluice.Limit;
import dev.sluice.LimitStats;
import dev.sluice.Limits;
import dev.sluice.ManualClock;
import java.util.List;
import java.util.Map;
import org.jetbrains.lincheck.datastructures.BooleanGen;
import org.jetbrains.lincheck.datastructures.LongGen;
import org.jetbrains.lincheck.datastructures.ManagedStrategyGuarantee;
import org.jetbrains.lincheck.datastructures.ManagedStrategyGuaranteeKt;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.junit.jupiter.api.Test;

/** Limits without refill are linearizable: one name, two names, and while limits change. */
class NamedLimitsLincheckTest {

  /** Two names, alone and together. */
  @Param(name = "burst", gen = LongGen.class, conf = "0:3")
  @Param(name = "first", gen = BooleanGen.class)
  public static class TwoKeys {
    private static final Map<String, Long> BOTH = Map.of("b", 1L, "a", 1L);

    final Limits limits = Limits.builder().clock(ManualClock.create()).build();

    public TwoKeys() {
      limits.set("a", Limit.ofRate(0, NamedLimitsModel.BURST));
      limits.set("b", Limit.ofRate(0, NamedLimitsModel.BURST));
    }

    private static String key(boolean first) {
      return first ? "a" : "b";
    }

    @Operation
    public boolean tryAcquire(@Param(name = "first") boolean first) {
      return limits.tryAcquire(key(first));
    }

    @Operation
    public boolean tryAcquireBoth(@Param(name = "first") boolean first) {
      return limits.tryAcquire(first ? List.of("a", "b") : List.of("b", "a"));
    }

    @Operation
    public String consumeBoth() {
      return limits.decide(BOTH).isGranted() ? "granted" : "refused";
    }

    @Operation
    public void setRate(@Param(name = "first") boolean first, @Param(name = "burst") long burst) {
      limits.set(key(first), Limit.ofRate(0, (double) burst));
    }

    @Operation
    public double level(@Param(name = "first") boolean first) {
      return limits.stats(key(first)).orElseThrow().level();
    }
  }

  /** One key whose rate is set, restored and removed. */
  @Param(name = "burst", gen = LongGen.class, conf = "1:2")
  public static class RestoredKey {
    final Limits limits = Limits.builder().clock(ManualClock.create()).build();

    @Operation
    public boolean tryAcquire() {
      return limits.tryAcquire("a");
    }

    @Operation
    public void setRate(@Param(name = "burst") long burst) {
      limits.set("a", Limit.ofRate(0, (double) burst));
    }

    @Operation
    public void restoreRate(@Param(name = "burst") long burst) {
      limits.restore("a", Limit.ofRate(0, (double) burst));
    }

    @Operation
    public boolean removeRate() {
      return limits.remove("a");
    }

    @Operation
    public double level() {
      return limits.stats("a").map(LimitStats::level).orElse(-1.0);
    }
  }

  /** The JDK's map is not what is tested: no switches inside it. */
  private static ManagedStrategyGuarantee mapIsAtomic() {
    return ManagedStrategyGuaranteeKt.forClasses("java.util.concurrent.ConcurrentHashMap")
        .allMethods()
        .treatAsAtomic();
  }

  @Test
  void twoKeys_areLinearizable() {
    Effort.modelChecking()
        .addGuarantee(mapIsAtomic())
        .sequentialSpecification(NamedLimitsModel.class)
        .check(TwoKeys.class);
    Effort.stress().sequentialSpecification(NamedLimitsModel.class).check(TwoKeys.class);
  }

  @Test
  void restoredKey_isLinearizable() {
    Effort.modelChecking()
        .addGuarantee(mapIsAtomic())
        .sequentialSpecification(RestoredModel.class)
        .check(RestoredKey.class);
    Effort.stress().sequentialSpecification(RestoredModel.class).check(RestoredKey.class);
  }
}
