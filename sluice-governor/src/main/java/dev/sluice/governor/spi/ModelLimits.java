package dev.sluice.governor.spi;

import dev.sluice.governor.engine.DebtBucket;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The limits that the waiting list of a model keeps.
 *
 * @param tokens of the model
 * @param requests in a time, all of which hold; none for any number
 * @param concurrency requests at once; 0 for any number
 * @param classes the first goes first
 * @param tenants budgets inside the model, by tenant
 * @param otherTenants the budget of each tenant without one of its own; null for none
 * @param mostCharged the most that a settlement charges for a smaller reservation
 * @since 0.1
 */
public record ModelLimits(
    Rate tokens,
    List<Rate> requests,
    int concurrency,
    List<ClassLimit> classes,
    Map<String, Rate> tenants,
    @Nullable Rate otherTenants,
    long mostCharged) {
  private static final int MOST_AT_ONCE = 100_000;

  /**
   * So many in a period, in bursts of the capacity.
   *
   * @param capacity the most there are at a time
   * @param amount what accrues in a period
   * @param periodNanos how long that is
   */
  public record Rate(long capacity, long amount, long periodNanos) {
    public DebtBucket meter(long now) {
      return DebtBucket.full(capacity, amount, periodNanos, now);
    }

    /** The meter goes by this from now on. */
    public void tune(DebtBucket meter) {
      meter.tune(capacity, amount, periodNanos);
    }
  }

  /**
   * A class.
   *
   * @param name what it is called
   * @param ceiling how much of the capacity may be in use for this class to be granted anything
   * @param guarantee what it gets whoever else is there; null for nothing
   */
  public record ClassLimit(String name, long ceiling, @Nullable Rate guarantee) {}

  /**
   * Returns the same text for the same limits in any process. Leaves out {@code mostCharged}, which
   * only settlements use.
   */
  public String fingerprint() {
    return Fingerprint.of(
        List.of(
            tokens,
            requests,
            concurrency,
            classes,
            new TreeMap<>(tenants),
            String.valueOf(otherTenants)));
  }

  /** Returns how many requests may run at once; without a limit, a number that fits into memory. */
  public int slots() {
    return concurrency > 0 ? concurrency : MOST_AT_ONCE;
  }

  public @Nullable Rate tenant(String name) {
    Rate own = tenants.get(name);
    return own == null ? otherTenants : own;
  }
}
