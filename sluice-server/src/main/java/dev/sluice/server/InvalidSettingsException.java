package dev.sluice.server;

/**
 * The settings of a server break a rule; the message names where, the rule and the value, but never
 * a secret.
 *
 * @since 0.1
 */
public final class InvalidSettingsException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public InvalidSettingsException(String message) {
    super(message);
  }
}
