package dev.sluice.server.http.routes;

import dev.sluice.governor.TokenDecision;
import dev.sluice.server.auth.WatchedCall;
import dev.sluice.server.http.HttpResponse;
import dev.sluice.server.http.JsonCodec;
import dev.sluice.server.operations.TicketWatch;
import dev.sluice.server.support.ApiException;
import io.undertow.server.handlers.sse.ServerSentEventConnection;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The state of a ticket, as events to one client: {@code standing} until {@code granted} or {@code
 * refused} is the last. One that does not read misses standings.
 */
final class TicketEventStream
    implements TicketWatch.TicketListener, ServerSentEventConnection.EventCallback {
  private static final Logger LOG = LoggerFactory.getLogger(TicketEventStream.class);

  /** The interval of keep-alive events, which detect disconnected clients. */
  private static final long KEEP_ALIVE_MS = 2_000;

  private final WatchedCall key;
  private final ServerSentEventConnection connection;
  private final AtomicBoolean sending = new AtomicBoolean();

  private TicketEventStream(WatchedCall key, ServerSentEventConnection connection) {
    this.key = key;
    this.connection = connection;
  }

  static void begin(WatchedCall key, ServerSentEventConnection connection, TicketWatch watch) {
    connection.setKeepAliveTime(KEEP_ALIVE_MS);
    connection.addCloseTask((ServerSentEventConnection closed) -> watch.close());
    watch.begin(new TicketEventStream(key, connection));
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
  public void standing(TokenDecision.Queued standing) {
    sending.set(true);
    send("queued", GovernorJson.of(standing));
  }

  @Override
  public void decided(TokenDecision outcome) {
    send(outcome instanceof TokenDecision.Granted ? "granted" : "denied", GovernorJson.of(outcome));
    connection.shutdown();
  }

  @Override
  public void failed(ApiException why) {
    send("error", HttpResponse.ErrorBody.of(why));
    connection.shutdown();
  }

  private void send(String event, Object value) {
    if (!key.isValid()) {
      return;
    }
    String json = new String(JsonCodec.writeCamel(value), StandardCharsets.UTF_8);
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
    LOG.debug("a listener has disconnected", gone);
  }
}
