package dev.sluice.cli.text;

/** Thrown for invalid input of the user; the message has the rule and the value. */
public final class InvalidInputException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public InvalidInputException(String message) {
    super(message);
  }
}
