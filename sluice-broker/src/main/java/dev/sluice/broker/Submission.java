package dev.sluice.broker;

import org.jspecify.annotations.Nullable;

/**
 * A message as the submitting thread has prepared it: checked, routed and encoded.
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

  /** What it takes up while it is on its way. */
  long bytes() {
    return (long) body.length
        + OVERHEAD_BYTES
        + route.key().length()
        + 50L * route.throttles().size();
  }
}
