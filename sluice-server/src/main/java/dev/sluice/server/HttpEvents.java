package dev.sluice.server;

import dev.sluice.server.Permission.Kind;
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

/** Statistics of queues as events, each second, to whoever listens, as long as their key lasts. */
final class HttpEvents implements HttpRoute.Group {
  private static final Logger LOG = LoggerFactory.getLogger(HttpEvents.class);

  private final QueueApi queues;
  private final ScheduledExecutorService timer;
  private final Executor workers;

  /** Every listener costs a look at every queue each second. */
  private final Share streams = Quotas.eventStreams();

  HttpEvents(QueueApi queues, ScheduledExecutorService timer, Executor workers) {
    this.queues = queues;
    this.timer = timer;
    this.workers = workers;
  }

  @Override
  public List<HttpRoute> routes() {
    return List.of(HttpRoute.of("GET", "/v1/events", this::listen));
  }

  private HttpReply listen(HttpRequest request) {
    request.caller().requireSome(Kind.READ);
    Share.Hold place = streams.take(request.caller());
    request.ends().accept(place::close);
    return new HttpReply.Events(
        (connection, key) -> new Listener(request, key, connection).begin());
  }

  /** One client; one that does not read misses events instead of heaping them up. */
  private final class Listener implements ServerSentEventConnection.EventCallback {
    private final Caller caller;
    private final ByteBudget.Part room;
    private final KeyWatch key;
    private final ServerSentEventConnection connection;
    private final AtomicBoolean sending = new AtomicBoolean();

    Listener(HttpRequest request, KeyWatch key, ServerSentEventConnection connection) {
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
        byte[] json = Json.write(JsonQueues.Summaries.of(queues.list(caller)));
        room.hold(json.length, () -> IoUtils.safeClose(connection));
        connection.send(new String(json, StandardCharsets.UTF_8), "queues", null, this);
      } catch (RuntimeException later) {
        // A queue may vanish while all are listed: the next event has it right.
        LOG.debug("an event was left out", later);
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
      LOG.debug("a listener is gone", gone);
    }
  }
}
