package dev.sluice.cli.text;

/** What the user gave breaks a rule; the message names the rule and the value. */
public final class InvalidInputException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public InvalidInputException(String message) {
    super(message);
  }
}
