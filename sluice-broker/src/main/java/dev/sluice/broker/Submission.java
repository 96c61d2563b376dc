package dev.sluice.broker;

import org.jspecify.annotations.Nullable;

/**
 * A message on its way to the state machine: checked, encoded and, in the end, routed.
 *
 * @param body its {@link Envelope}
 * @param timeToLiveNanos zero for what its queue says
 */
@SuppressWarnings("ArrayRecordComponent") // compared by nobody
record Submission(
    Route.Spec route,
    byte[] body,
    long delayNanos,
    long timeToLiveNanos,
    @Nullable String dedupeId) {
  /** What a message takes up beside its bytes. */
  private static final int OVERHEAD_BYTES = 200;

  /** The same, going where a script has decided. */
  Submission withRoute(Route.Spec decided) {
    return new Submission(decided, body, delayNanos, timeToLiveNanos, dedupeId);
  }

  /** What it takes up while it is on its way. */
  long bytes() {
    return (long) body.length
        + OVERHEAD_BYTES
        + route.key().length()
        + 50L * route.throttles().size();
  }
}
