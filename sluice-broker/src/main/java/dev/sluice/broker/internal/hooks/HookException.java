package dev.sluice.broker.internal.hooks;

/** A script does not compile, failed, or exceeded a budget. */
public final class HookException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public HookException(String message) {
    super(message, null, false, false);
  }
}
