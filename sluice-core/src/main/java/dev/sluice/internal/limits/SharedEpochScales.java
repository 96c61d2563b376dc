package dev.sluice.internal.limits;

import dev.sluice.Limit;
import dev.sluice.internal.bucket.EpochScale;
import dev.sluice.internal.bucket.UnitScale;
import java.lang.ref.WeakReference;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The axes in use, one for all buckets of a limit that start within some time of each other.
 *
 * <p>Thread-safe. Holds an axis only as long as some bucket does.
 */
final class SharedEpochScales {
  /** Below so many entries, dead ones are not looked for. */
  private static final int FEW = 64;

  private final ConcurrentHashMap<Limit, WeakReference<EpochScale>> axes =
      new ConcurrentHashMap<>();

  /** How many entries to bear before dead ones are looked for; a hint. */
  private volatile int purgeAbove = FEW;

  /**
   * The scale of {@code limit}.
   *
   * @throws IllegalArgumentException if the limit is out of range
   */
  UnitScale scaleOf(Limit limit) {
    EpochScale axis = current(limit);
    return axis == null ? UnitScale.ofNamed(limit) : axis.scale();
  }

  /** An axis on which {@code atNanos} lies well after the epoch and well before the horizon. */
  EpochScale covering(UnitScale scale, long atNanos) {
    EpochScale axis = current(scale.limit());
    return axis != null && suits(axis, atNanos) ? axis : renewed(scale, atNanos);
  }

  private EpochScale renewed(UnitScale scale, long atNanos) {
    EpochScale fresh = EpochScale.around(scale, atNanos);
    WeakReference<EpochScale> held =
        axes.compute(
            scale.limit(),
            (limit, reference) -> {
              EpochScale present = reference == null ? null : reference.get();
              return reference != null && present != null && suits(present, atNanos)
                  ? reference
                  : new WeakReference<>(fresh);
            });
    purge();
    EpochScale axis = held.get();
    return axis == null ? fresh : axis;
  }

  private static boolean suits(EpochScale axis, long atNanos) {
    long elapsedNanos = atNanos - axis.epochNanos();
    return Long.compareUnsigned(elapsedNanos, axis.scale().horizonNanos() / 2) < 0;
  }

  private @Nullable EpochScale current(Limit limit) {
    WeakReference<EpochScale> reference = axes.get(limit);
    return reference == null ? null : reference.get();
  }

  private void purge() {
    if (axes.size() > purgeAbove) {
      axes.values().removeIf(reference -> reference.get() == null);
      purgeAbove = Math.max(FEW, 2 * axes.size());
    }
  }

  int size() {
    return axes.size();
  }
}
