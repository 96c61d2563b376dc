package dev.sluice.broker;

/** A store could not write, sync, read or open. */
final class StoreException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** Whether a write or a sync found no space, which damages nothing. */
  private final boolean noSpace;

  StoreException(String message, Throwable cause) {
    this(message, cause, cause instanceof StoreException store && store.noSpace);
  }

  StoreException(String message, Throwable cause, boolean noSpace) {
    super(message, cause);
    this.noSpace = noSpace;
  }

  StoreException(String message) {
    super(message);
    this.noSpace = false;
  }

  boolean isNoSpace() {
    return noSpace;
  }
}
