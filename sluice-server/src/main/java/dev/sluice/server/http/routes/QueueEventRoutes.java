package dev.sluice.server.http.routes;

import dev.sluice.server.auth.AccountQuotas;
import dev.sluice.server.auth.Caller;
import dev.sluice.server.auth.ConcurrencyQuota;
import dev.sluice.server.auth.Permission.Kind;
import dev.sluice.server.auth.WatchedCall;
import dev.sluice.server.http.HandlerResult;
import dev.sluice.server.http.HttpRequest;
import dev.sluice.server.http.HttpRoute;
import dev.sluice.server.http.JsonCodec;
import dev.sluice.server.operations.QueueOperations;
import dev.sluice.server.transport.ResponseMemoryBudget;
import io.undertow.server.handlers.sse.ServerSentEventConnection;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.xnio.IoUtils;

/** Statistics of queues as events, each second, to every listener with a valid key. */
public final class QueueEventRoutes implements HttpRoute.RouteGroup {
  private static final Logger LOG = LoggerFactory.getLogger(QueueEventRoutes.class);

  private final QueueOperations queues;
  private final ScheduledExecutorService timer;
  private final Executor workers;

  /** Every listener costs a look at every queue each second. */
  private final ConcurrencyQuota streams = AccountQuotas.eventStreams();

  public QueueEventRoutes(
      QueueOperations queues, ScheduledExecutorService timer, Executor workers) {
    this.queues = queues;
    this.timer = timer;
    this.workers = workers;
  }

  @Override
  public List<HttpRoute> routes() {
    return List.of(HttpRoute.of("GET", "/v1/events", this::listen));
  }

  private HandlerResult listen(HttpRequest request) {
    request.caller().requireSome(Kind.READ);
    ConcurrencyQuota.Hold place = streams.take(request.caller());
    request.ends().accept(place::close);
    return new HandlerResult.EventStream(
        (connection, key) -> new Listener(request, key, connection).begin());
  }

  /** A client. One that does not read misses events instead of accumulating them. */
  private final class Listener implements ServerSentEventConnection.EventCallback {
    private final Caller caller;
    private final ResponseMemoryBudget.Reservation room;
    private final WatchedCall key;
    private final ServerSentEventConnection connection;
    private final AtomicBoolean sending = new AtomicBoolean();

    Listener(HttpRequest request, WatchedCall key, ServerSentEventConnection connection) {
      this.caller = request.caller();
      this.room = request.room();
      this.key = key;
      this.connection = connection;
    }

    void begin() {
      Future<?> ticks =
          timer.scheduleAtFixedRate(() -> workers.execute(this::tick), 0, 1, TimeUnit.SECONDS);
      connection.addCloseTask((ServerSentEventConnection closed) -> ticks.cancel(false));
    }

    private void tick() {
      if (!key.isValid() || !connection.isOpen() || !sending.compareAndSet(false, true)) {
        return;
      }
      try {
        byte[] json = JsonCodec.write(QueueJson.Summaries.of(queues.list(caller)));
        room.hold(json.length, () -> IoUtils.safeClose(connection));
        connection.send(new String(json, StandardCharsets.UTF_8), "queues", null, this);
      } catch (RuntimeException later) {
        // A queue may vanish while all are listed: the next event has it right.
        LOG.debug("an event was skipped", later);
        sending.set(false);
      }
    }

    @Override
    public void done(
        ServerSentEventConnection to,
        @Nullable String data,
        @Nullable String event,
        @Nullable String id) {
      room.read();
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
}
