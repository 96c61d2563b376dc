package dev.sluice.server;

import dev.sluice.governor.Outcome;
import io.undertow.server.handlers.sse.ServerSentEventConnection;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How a ticket stands, as events to one client: {@code standing} until {@code granted} or {@code
 * refused} is the last. One that does not read misses standings.
 */
final class TicketEvents implements TicketWatch.Follower, ServerSentEventConnection.EventCallback {
  private static final Logger LOG = LoggerFactory.getLogger(TicketEvents.class);

  /** Only what is sent shows that a client has left. */
  private static final long KEEP_ALIVE_MS = 2_000;

  private final KeyWatch key;
  private final ServerSentEventConnection connection;
  private final AtomicBoolean sending = new AtomicBoolean();

  private TicketEvents(KeyWatch key, ServerSentEventConnection connection) {
    this.key = key;
    this.connection = connection;
  }

  static void begin(KeyWatch key, ServerSentEventConnection connection, TicketWatch watch) {
    connection.setKeepAliveTime(KEEP_ALIVE_MS);
    connection.addCloseTask((ServerSentEventConnection closed) -> watch.close());
    watch.begin(new TicketEvents(key, connection));
  }

  @Override
  public boolean isThere() {
    return key.isValid() && connection.isOpen();
  }

  @Override
  public boolean isReady() {
    return !sending.get();
  }

  @Override
  public void standing(Outcome.Queued standing) {
    sending.set(true);
    send("standing", JsonGovernor.of(standing));
  }

  @Override
  public void decided(Outcome outcome) {
    send(outcome instanceof Outcome.Granted ? "granted" : "refused", JsonGovernor.of(outcome));
    connection.shutdown();
  }

  @Override
  public void failed(ApiException why) {
    send("error", HttpAnswer.Failure.of(why));
    connection.shutdown();
  }

  private void send(String event, Object value) {
    if (!key.isValid()) {
      return;
    }
    String json = new String(Json.writeCamel(value), StandardCharsets.UTF_8);
    connection.send(json, event, null, this);
  }

  @Override
  public void done(
      ServerSentEventConnection to,
      @Nullable String data,
      @Nullable String event,
      @Nullable String id) {
    sending.set(false);
  }

  @Override
  public void failed(
      ServerSentEventConnection to,
      @Nullable String data,
      @Nullable String event,
      @Nullable String id,
      IOException gone) {
    LOG.debug("a listener is gone", gone);
  }
}
