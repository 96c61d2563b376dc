package dev.sluice.internal.limits;

import dev.sluice.Limit;
import dev.sluice.internal.bucket.EpochScale;
import dev.sluice.internal.bucket.UnitScale;
import java.lang.ref.WeakReference;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The epoch scales in use, one for all buckets of a limit that start within some time of each
 * other.
 *
 * <p>Thread-safe. Holds an epoch scale only as long as some bucket does.
 */
final class SharedEpochScales {
  /** Below so many entries, dead ones are not looked for. */
  private static final int FEW = 64;

  private final ConcurrentHashMap<Limit, WeakReference<EpochScale>> epochScales =
      new ConcurrentHashMap<>();

  /** The number of entries above which dead ones are purged; a hint. */
  private volatile int purgeAbove = FEW;

  /**
   * The scale of {@code limit}.
   *
   * @throws IllegalArgumentException if the limit is out of range
   */
  UnitScale scaleOf(Limit limit) {
    EpochScale epochScale = current(limit);
    return epochScale == null ? UnitScale.ofNamed(limit) : epochScale.scale();
  }

  /**
   * An epoch scale on which {@code atNanos} lies well after the epoch and well before the horizon.
   */
  EpochScale covering(UnitScale scale, long atNanos) {
    EpochScale epochScale = current(scale.limit());
    return epochScale != null && suits(epochScale, atNanos) ? epochScale : renewed(scale, atNanos);
  }

  private EpochScale renewed(UnitScale scale, long atNanos) {
    EpochScale fresh = EpochScale.around(scale, atNanos);
    WeakReference<EpochScale> held =
        epochScales.compute(
            scale.limit(),
            (limit, reference) -> {
              EpochScale present = reference == null ? null : reference.get();
              return reference != null && present != null && suits(present, atNanos)
                  ? reference
                  : new WeakReference<>(fresh);
            });
    purge();
    EpochScale epochScale = held.get();
    return epochScale == null ? fresh : epochScale;
  }

  private static boolean suits(EpochScale epochScale, long atNanos) {
    long elapsedNanos = atNanos - epochScale.epochNanos();
    return Long.compareUnsigned(elapsedNanos, epochScale.scale().horizonNanos() / 2) < 0;
  }

  private @Nullable EpochScale current(Limit limit) {
    WeakReference<EpochScale> reference = epochScales.get(limit);
    return reference == null ? null : reference.get();
  }

  private void purge() {
    if (epochScales.size() > purgeAbove) {
      epochScales.values().removeIf(reference -> reference.get() == null);
      purgeAbove = Math.max(FEW, 2 * epochScales.size());
    }
  }

  int size() {
    return epochScales.size();
  }
}
