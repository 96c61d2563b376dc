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
    @Nullable String dedupeId) {}
