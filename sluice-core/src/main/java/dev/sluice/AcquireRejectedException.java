package dev.sluice;

/**
 * Why a caller that was ready to wait got no tokens. Nothing was taken from the bucket.
 *
 * @since 0.1
 */
public final class AcquireRejectedException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** The rule that refused. */
  public enum Reason {
    /** The bucket has as many waiters as it admits. */
    TOO_MANY_WAITERS,
    /** More would be owed than the bucket can account for. */
    DEBT_OVERFLOW,
    /** The bucket denies everything. */
    DENIES_ALL
  }

  private final Reason reason;

  public AcquireRejectedException(Reason reason, String message) {
    // Without a stack trace: a refusal is an ordinary answer under load and must stay cheap.
    super(message, null, false, false);
    this.reason = reason;
  }

  /**
   * The rule that refused.
   *
   * @return the reason
   */
  public Reason reason() {
    return reason;
  }
}
