package dev.sluice.broker.engine;

import dev.sluice.broker.store.MessageEnvelope;
import org.jspecify.annotations.Nullable;

/**
 * A message on its way to the state machine: checked, encoded and, in the end, routed.
 *
 * @param body its {@link MessageEnvelope}
 * @param timeToLiveNanos zero for what its queue says
 * @param isScripted whether a script set its fairness key and throttle keys, and not its producer
 */
public @SuppressWarnings("ArrayRecordComponent") // compared by nobody
record PreparedMessage(
    InternedPlacement.Spec placement,
    byte[] body,
    long delayNanos,
    long timeToLiveNanos,
    @Nullable String dedupeId,
    boolean isScripted) {
  /** What a message takes up beside its bytes. */
  private static final int OVERHEAD_BYTES = 200;

  /** The heap of a throttle key besides its name. */
  private static final int THROTTLE_BYTES = 50;

  /** The same, going where a script has decided. */
  public PreparedMessage withPlacement(InternedPlacement.Spec decided) {
    return new PreparedMessage(decided, body, delayNanos, timeToLiveNanos, dedupeId, true);
  }

  /** What it takes up while it is on its way. */
  public long bytes() {
    long bytes = (long) body.length + OVERHEAD_BYTES + placement.fairnessKey().length();
    for (String throttle : placement.throttleKeys().keySet()) {
      bytes += THROTTLE_BYTES + throttle.length();
    }
    return dedupeId == null ? bytes : bytes + dedupeId.length();
  }
}
