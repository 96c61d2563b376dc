package dev.sluice.governor.internal.engine;

import dev.sluice.Limit;
import dev.sluice.governor.spi.ModelLimits;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** All meters of one model. They outlive a change of its limits. Not thread-safe. */
public final class ModelBuckets {
  /** Tenants with a full budget are forgotten when there are more than this. */
  private static final int SPARE_TENANTS = 1_024;

  private ModelLimits limits;
  private final DebtBucket tokens;
  private final OverrunAllowance overruns;
  private List<DebtBucket> requests = new ArrayList<>();
  private List<Long> periods = new ArrayList<>();
  private Map<String, DebtBucket> guarantees = new HashMap<>();
  private final Map<String, DebtBucket> tenants = new HashMap<>();
  private int tenantsWorthALook = SPARE_TENANTS;
  private double factor = 1;
  private boolean emptied;
  private long emptiedAt;

  /** Full at {@code now}. */
  public ModelBuckets(ModelLimits limits, long now) {
    this.limits = limits;
    this.tokens = DebtBucket.full(limits.tokens(), now);
    this.overruns = new OverrunAllowance(limits, now);
    tune(limits, now);
  }

  /**
   * Goes by other limits from now on; what is owed stays.
   *
   * @throws IllegalArgumentException if they cannot be kept exactly; nothing has changed then
   */
  public void retune(ModelLimits other, long now) {
    new ModelBuckets(other, now);
    advance(now);
    advanceTenants(other, now);
    tune(other, now);
  }

  /** Tokens that have accrued until now did so at the previous rates. */
  private void advanceTenants(ModelLimits other, long now) {
    if (emptied) {
      List.of(limits, other)
          .forEach(each -> each.tenants().keySet().forEach(name -> tenant(name, now)));
      Limit.Balanced rate = limits.otherTenants();
      Limit.Balanced next = other.otherTenants();
      if (rate != null && next != null) {
        DebtBucket stranger = unknown(rate, now);
        stranger.advance(now);
        stranger.tune(next);
        emptiedAt = now - stranger.nanosSinceEmpty();
      }
    }
    tenants.values().forEach(each -> each.advance(now));
  }

  private void tune(ModelLimits other, long now) {
    limits = other;
    tokens.tune(other.tokens());
    tokens.slow(factor);
    overruns.bucket().tune(other.tokens());
    List<DebtBucket> newRequests = new ArrayList<>();
    List<Long> newPeriods = new ArrayList<>();
    for (Limit.Balanced rate : other.requests()) {
      int index = periods.indexOf(rate.refillPeriod().toNanos());
      newRequests.add(tuned(index < 0 ? null : requests.get(index), rate, now));
      newPeriods.add(rate.refillPeriod().toNanos());
    }
    requests = newRequests;
    periods = newPeriods;
    Map<String, DebtBucket> newGuarantees = new HashMap<>();
    for (ModelLimits.ClassLimit each : other.classes()) {
      Limit.Balanced rate = each.guarantee();
      if (rate != null) {
        newGuarantees.put(each.name(), tuned(guarantees.get(each.name()), rate, now));
      }
    }
    guarantees = newGuarantees;
    // The debt of other tenants counts again when they have a budget again.
    tenants.forEach(
        (name, bucket) -> {
          Limit.Balanced rate = other.tenant(name);
          if (rate != null) {
            bucket.tune(rate);
          }
        });
    other.tenants().values().forEach(rate -> DebtBucket.full(rate, now));
    if (other.otherTenants() != null) {
      DebtBucket.full(other.otherTenants(), now);
    }
  }

  private static DebtBucket tuned(@Nullable DebtBucket old, Limit.Balanced rate, long now) {
    if (old == null) {
      return DebtBucket.full(rate, now);
    }
    old.tune(rate);
    return old;
  }

  void advance(long now) {
    tokens.advance(now);
    overruns.bucket().advance(now);
    for (DebtBucket each : requests) {
      each.advance(now);
    }
    if (!guarantees.isEmpty()) {
      guarantees.values().forEach(each -> each.advance(now));
    }
  }

  /** Sets the part of the model's rate and burst that is in force. */
  void slow(double newFactor) {
    factor = newFactor;
    tokens.slow(newFactor);
  }

  double factor() {
    return factor;
  }

  public DebtBucket tokens() {
    return tokens;
  }

  public OverrunAllowance overruns() {
    return overruns;
  }

  List<DebtBucket> requests() {
    return requests;
  }

  public @Nullable DebtBucket guarantee(String name) {
    return guarantees.get(name);
  }

  /** The budget of a tenant at this moment; null if it has none of its own. */
  public @Nullable DebtBucket tenant(String name, long now) {
    Limit.Balanced rate = limits.tenant(name);
    if (rate == null) {
      return null;
    }
    DebtBucket bucket = tenants.get(name);
    if (bucket == null) {
      forgetFullTenants(now);
      bucket = unknown(rate, now);
      tenants.put(name, bucket);
    }
    bucket.advance(now);
    return bucket;
  }

  private DebtBucket unknown(Limit.Balanced rate, long now) {
    if (!emptied) {
      return DebtBucket.full(rate, now);
    }
    DebtBucket bucket = DebtBucket.full(rate, emptiedAt);
    bucket.empty();
    return bucket;
  }

  /** Forgets tenants with a full budget: they are the same as new ones. */
  private void forgetFullTenants(long now) {
    if (tenants.size() >= tenantsWorthALook) {
      tenants
          .values()
          .removeIf(
              each -> {
                each.advance(now);
                return each.isFull();
              });
      tenantsWorthALook = Math.max(SPARE_TENANTS, 2 * tenants.size());
    }
  }

  /** Returns whether {@code bucket} is that of the tenant. */
  public boolean isOf(String name, @Nullable DebtBucket bucket) {
    return bucket != null && limits.tenant(name) != null && tenants.get(name) == bucket;
  }

  /**
   * Returns the time at which the model was emptied because its level was unknown; null if it never
   * was.
   */
  public @Nullable Long emptiedAt() {
    return emptied ? emptiedAt : null;
  }

  /** Budgets were emptied then: tenants of whom nothing is known had nothing. */
  public void emptiedAt(long then) {
    emptied = true;
    emptiedAt = then;
  }

  // ---- over a restart

  /** Returns the debt of every bucket, by a name of its own. */
  public Map<String, DebtBucket.Saved> save(long now) {
    advance(now);
    tenants.values().forEach(each -> each.advance(now));
    Map<String, DebtBucket.Saved> saved = new LinkedHashMap<>();
    saved.put("tokens", tokens.save());
    saved.put("overruns", overruns.bucket().save());
    for (int i = 0; i < requests.size(); i++) {
      saved.put("requests " + periods.get(i), requests.get(i).save());
    }
    guarantees.forEach((name, bucket) -> saved.put("class " + name, bucket.save()));
    tenants.forEach((name, bucket) -> saved.put("tenant " + name, bucket.save()));
    return saved;
  }

  /** Leaves out buckets that do not exist any more. */
  public void restore(Map<String, DebtBucket.Saved> saved, long now) {
    saved.forEach(
        (name, each) -> {
          DebtBucket bucket = named(name, now);
          if (bucket != null) {
            bucket.restore(each);
          }
        });
  }

  private @Nullable DebtBucket named(String name, long now) {
    String[] words = name.split(" ", 2);
    return switch (words[0]) {
      case "tokens" -> tokens;
      case "overruns" -> overruns.bucket();
      case "requests" -> {
        int index = periods.indexOf(Long.valueOf(words[1]));
        yield index < 0 ? null : requests.get(index);
      }
      case "class" -> guarantees.get(words[1]);
      case "tenant" -> tenant(words[1], now);
      default -> null;
    };
  }

  /** Time goes on from there, which may be earlier. */
  public void clock(long now) {
    tokens.clock(now);
    overruns.bucket().clock(now);
    requests.forEach(each -> each.clock(now));
    guarantees.values().forEach(each -> each.clock(now));
    tenants.values().forEach(each -> each.clock(now));
  }

  /** Empties all buckets: it is unknown how long ago tokens were taken. */
  public void restart(long now) {
    clock(now);
    tokens.empty();
    requests.forEach(DebtBucket::empty);
    guarantees.values().forEach(DebtBucket::empty);
    tenants.clear();
    emptiedAt(now);
  }
}
