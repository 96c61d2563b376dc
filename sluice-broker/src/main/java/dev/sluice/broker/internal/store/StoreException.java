package dev.sluice.broker.internal.store;

/** A store could not write, sync, read or open. */
public final class StoreException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** Whether a write or a sync found no space, which damages nothing. */
  private final boolean noSpace;

  public StoreException(String message, Throwable cause) {
    this(message, cause, cause instanceof StoreException store && store.noSpace);
  }

  public StoreException(String message, Throwable cause, boolean noSpace) {
    super(message, cause);
    this.noSpace = noSpace;
  }

  public StoreException(String message) {
    super(message);
    this.noSpace = false;
  }

  public boolean isNoSpace() {
    return noSpace;
  }
}
