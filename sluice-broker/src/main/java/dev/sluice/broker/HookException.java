package dev.sluice.broker;

/** A script does not compile, failed, or exceeded a budget. */
final class HookException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  HookException(String message) {
    super(message, null, false, false);
  }
}
