package dev.sluice.broker;

/** A script used up a budget. An {@link Error}, because a script can catch every exception. */
final class ScriptOverrun extends Error {
  private static final long serialVersionUID = 1L;

  ScriptOverrun(String message) {
    super(message, null, false, false);
  }
}
