package dev.sluice.governor.spi;

/**
 * Reports that a model or a whole store is closed: it decides nothing, and the same call may
 * succeed after the model is open again. Any other {@link IllegalStateException} of a store is
 * misuse or a fault.
 */
public final class StoreClosedException extends IllegalStateException {
  private static final long serialVersionUID = 1;

  /**
   * Creates an exception.
   *
   * @param message which part is closed, and why
   */
  public StoreClosedException(String message) {
    super(message);
  }
}
