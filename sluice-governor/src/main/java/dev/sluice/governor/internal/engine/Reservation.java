package dev.sluice.governor.internal.engine;

import org.jspecify.annotations.Nullable;

/** Tokens that were granted and not settled, and where they were charged. Not thread-safe. */
public final class Reservation {
  final TokenDemand demand;
  public final long grantedAt;
  public final Charge model;
  public final Charge tenant;
  public final Charge guarantee;
  boolean open = true;

  /** A charge on a bucket, by which it can be refunded; without a bucket, it does nothing. */
  public record Charge(@Nullable DebtBucket bucket, long tokens, long event) {
    static Charge of(@Nullable DebtBucket bucket, long tokens) {
      return new Charge(bucket, tokens, bucket == null ? 0 : bucket.charge(tokens));
    }

    long more(long overused) {
      return bucket == null ? 0 : bucket.overcharge(overused);
    }

    long refund(long unused) {
      return bucket == null ? 0 : bucket.refund(Math.min(tokens, unused), event);
    }
  }

  public Reservation(
      TokenDemand demand, long grantedAt, Charge model, Charge tenant, Charge guarantee) {
    this.demand = demand;
    this.grantedAt = grantedAt;
    this.model = model;
    this.tenant = tenant;
    this.guarantee = guarantee;
  }

  /**
   * Charges {@code usage} in place of the reserved tokens.
   *
   * @return the tokens that were refunded to the model; negative for tokens charged on top
   */
  long settle(long usage) {
    long unused = demand.tokens() - usage;
    if (unused < 0) {
      long overused = model.more(-unused);
      tenant.more(overused);
      return -overused;
    }
    tenant.refund(unused);
    guarantee.refund(unused);
    return model.refund(unused);
  }
}
