package dev.sluice.broker.internal.lua;

/** A script used up a budget. An {@link Error}, because a script can catch every exception. */
final class ScriptBudgetExceededError extends Error {
  private static final long serialVersionUID = 1L;

  ScriptBudgetExceededError(String message) {
    super(message, null, false, false);
  }
}
