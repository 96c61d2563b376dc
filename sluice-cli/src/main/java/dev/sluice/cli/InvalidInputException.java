package dev.sluice.cli;

/** What the user gave breaks a rule; the message names the rule and the value. */
final class InvalidInputException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  InvalidInputException(String message) {
    super(message);
  }
}
