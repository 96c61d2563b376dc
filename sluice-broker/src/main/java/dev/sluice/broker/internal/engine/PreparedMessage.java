package dev.sluice.broker.internal.engine;

import dev.sluice.broker.internal.store.MessageEnvelope;
import org.jspecify.annotations.Nullable;

/**
 * A message on its way to the engine: checked, encoded and, after its hook, placed.
 *
 * @param body its {@link MessageEnvelope}
 * @param timeToLiveNanos zero for that of its queue
 * @param isScripted whether a hook set its fairness key and throttle keys, and not its producer
 */
public @SuppressWarnings("ArrayRecordComponent") // never compared
record PreparedMessage(
    InternedPlacement.Spec placement,
    byte[] body,
    long delayNanos,
    long timeToLiveNanos,
    @Nullable String dedupeId,
    boolean isScripted) {
  /** The heap of a message besides its bytes. */
  private static final int OVERHEAD_BYTES = 200;

  /** The heap of a throttle key besides its name. */
  private static final int THROTTLE_BYTES = 50;

  /** Returns this message with the placement that a hook has assigned. */
  public PreparedMessage withPlacement(InternedPlacement.Spec decided) {
    return new PreparedMessage(decided, body, delayNanos, timeToLiveNanos, dedupeId, true);
  }

  /** Returns the heap of the message on its way into the engine. */
  public long bytes() {
    long bytes = (long) body.length + OVERHEAD_BYTES + placement.fairnessKey().length();
    for (String throttle : placement.throttleKeys().keySet()) {
      bytes += THROTTLE_BYTES + throttle.length();
    }
    return dedupeId == null ? bytes : bytes + dedupeId.length();
  }
}
