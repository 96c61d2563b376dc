package dev.sluice.redis.internal.connection;

/**
 * How this node stands with Redis. {@link #after} is the only transition table:
 *
 * <pre>
 *               SILENT            GIVEN_UP          PROBED
 *   CONNECTED ─────────▶ SUSPECT ──────────▶ OUT ──────────▶ RETURNING
 *    ▲ ▲  │                │  │               ▲               ▲ │   │
 *    │ └──┼── ANSWERED ────┘  │               └──── FAILED ───┼─┘   │
 *    │    └───── ABSENT ──────┴───────────────────────────────┘     │
 *    └────────────────────────── ADMITTED ──────────────────────────┘
 * </pre>
 *
 * <p>A return that fails leads to OUT, where the outage mode decides, whether Redis is silent again
 * or answers and refuses a report. If it failed before its heartbeat was sent, Redis has reserved
 * this node's share all along, and the outage mode decides at once. If the heartbeat was sent,
 * Redis may have admitted the node, and the outage mode decides when the presence by that heartbeat
 * has ended. Each further attempt waits for longer, so that the outage mode has most of the time.
 *
 * @since 0.1
 */
public enum ConnectionState {
  /** Redis decides. */
  CONNECTED,

  /**
   * Redis has not answered for a moment; it is still asked, and calls that it misses are refused.
   */
  SUSPECT,

  /**
   * Redis counts as lost. The node has stopped sending heartbeats; once its presence in Redis has
   * ended, the outage mode decides.
   */
  OUT,

  /** Redis answers again: the node reports what happened meanwhile and decides nothing itself. */
  RETURNING;

  /** The events that change the state. */
  enum Event {
    /** Redis answered in time. */
    ANSWERED,
    /** Redis did not answer for a while, or the connection broke. */
    SILENT,
    /** Redis was silent for so long that it counts as lost. */
    GIVEN_UP,
    /** Redis, which was lost, answers steadily again. */
    PROBED,
    /** Redis answered that this member counts as absent, as after a long pause of this process. */
    ABSENT,
    /** Redis has this member again. */
    ADMITTED,
    /** The return was not completed: there was no answer, or Redis refused a part of it. */
    FAILED
  }

  /** Returns the state that {@code event} leads to; this state if the event means nothing in it. */
  ConnectionState after(Event event) {
    return switch (this) {
      case CONNECTED -> event == Event.SILENT ? SUSPECT : event == Event.ABSENT ? RETURNING : this;
      case SUSPECT ->
          switch (event) {
            case ANSWERED -> CONNECTED;
            case GIVEN_UP -> OUT;
            case ABSENT -> RETURNING;
            default -> this;
          };
      case OUT -> event == Event.PROBED ? RETURNING : this;
      case RETURNING -> event == Event.ADMITTED ? CONNECTED : event == Event.FAILED ? OUT : this;
    };
  }

  /** Returns whether calls are sent to Redis. */
  public boolean asksRedis() {
    return this == CONNECTED || this == SUSPECT;
  }
}
