package dev.sluice.redis;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** Records what an outage listener is told, in order. */
final class RecordedOutages implements OutageListener {
  private final List<Event> events = new CopyOnWriteArrayList<>();

  /** The kind of a call. */
  enum Kind {
    STARTED,
    ENDED,
    ERROR
  }

  /**
   * One call of the listener.
   *
   * @param text the cause or the error
   * @param tokens the tokens that were granted in the outage that ended
   */
  record Event(Kind kind, String text, long tokens) {}

  @Override
  public void outageStarted(String cause, double share) {
    events.add(new Event(Kind.STARTED, cause, 0));
  }

  @Override
  public void outageEnded(Duration length, long grantedTokens) {
    events.add(new Event(Kind.ENDED, length.toString(), grantedTokens));
  }

  @Override
  public void redisError(String message) {
    events.add(new Event(Kind.ERROR, message, 0));
  }

  List<Event> events() {
    return events;
  }

  long grantedTokens() {
    return events.stream().mapToLong(Event::tokens).sum();
  }

  @Override
  public String toString() {
    return events.toString();
  }
}
