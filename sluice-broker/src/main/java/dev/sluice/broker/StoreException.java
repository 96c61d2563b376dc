package dev.sluice.broker;

/** A store could not write, sync, read or open. */
final class StoreException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  StoreException(String message, Throwable cause) {
    super(message, cause);
  }

  StoreException(String message) {
    super(message);
  }
}
