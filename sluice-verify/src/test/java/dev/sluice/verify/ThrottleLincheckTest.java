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

/** A throttle without refill: linearizable, over one key, over two, and while rates change. */
class ThrottleLincheckTest {

  /** Two keys, alone and together. */
  @Param(name = "burst", gen = LongGen.class, conf = "0:3")
  @Param(name = "first", gen = BooleanGen.class)
  public static class TwoKeys {
    private static final Map<String, Long> BOTH = Map.of("b", 1L, "a", 1L);

    final Limits throttle = Limits.builder().clock(ManualClock.create()).build();

    public TwoKeys() {
      throttle.set("a", Limit.ofRate(0, ThrottleModel.BURST));
      throttle.set("b", Limit.ofRate(0, ThrottleModel.BURST));
    }

    private static String key(boolean first) {
      return first ? "a" : "b";
    }

    @Operation
    public boolean tryAcquire(@Param(name = "first") boolean first) {
      return throttle.tryAcquire(key(first));
    }

    @Operation
    public boolean tryAcquireBoth(@Param(name = "first") boolean first) {
      return throttle.tryAcquire(first ? List.of("a", "b") : List.of("b", "a"));
    }

    @Operation
    public String consumeBoth() {
      return throttle.decide(BOTH).isGranted() ? "granted" : "refused";
    }

    @Operation
    public void setRate(@Param(name = "first") boolean first, @Param(name = "burst") long burst) {
      throttle.set(key(first), Limit.ofRate(0, (double) burst));
    }

    @Operation
    public double level(@Param(name = "first") boolean first) {
      return throttle.stats(key(first)).orElseThrow().level();
    }
  }

  /** One key whose rate is set, restored and removed. */
  @Param(name = "burst", gen = LongGen.class, conf = "1:2")
  public static class RestoredKey {
    final Limits throttle = Limits.builder().clock(ManualClock.create()).build();

    @Operation
    public boolean tryAcquire() {
      return throttle.tryAcquire("a");
    }

    @Operation
    public void setRate(@Param(name = "burst") long burst) {
      throttle.set("a", Limit.ofRate(0, (double) burst));
    }

    @Operation
    public void restoreRate(@Param(name = "burst") long burst) {
      throttle.restore("a", Limit.ofRate(0, (double) burst));
    }

    @Operation
    public boolean removeRate() {
      return throttle.remove("a");
    }

    @Operation
    public double level() {
      return throttle.stats("a").map(LimitStats::level).orElse(-1.0);
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
        .sequentialSpecification(ThrottleModel.class)
        .check(TwoKeys.class);
    Effort.stress().sequentialSpecification(ThrottleModel.class).check(TwoKeys.class);
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
