package dev.sluice.server.http.routes;

import dev.sluice.broker.FairnessKeyPage;
import dev.sluice.broker.QueueConfig;
import dev.sluice.broker.QueueDefinition;
import dev.sluice.server.auth.Caller;
import dev.sluice.server.auth.Permission.Kind;
import dev.sluice.server.http.HandlerResult;
import dev.sluice.server.http.HttpRequest;
import dev.sluice.server.http.HttpResponse;
import dev.sluice.server.http.HttpRoute;
import dev.sluice.server.http.IfMatch;
import dev.sluice.server.http.JsonCodec;
import dev.sluice.server.operations.IdFormat;
import dev.sluice.server.operations.QueueConfigFields;
import dev.sluice.server.operations.QueueOperations;
import dev.sluice.server.operations.WaitingReceive;
import dev.sluice.server.support.ApiException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** Queues over HTTP. */
public final class QueueRoutes implements HttpRoute.RouteGroup {
  private static final int OK = 200;
  private static final int CREATED = 201;
  private static final int DEFAULT_BROWSE = 10;
  private static final int DEFAULT_KEYS = 100;
  private static final String ALL = "/v1/queues";
  private static final String ONE = ALL + "/{queue}";
  private static final String QUEUE = "queue";
  private static final String QUOTE = "\"";

  private final QueueOperations queues;

  public QueueRoutes(QueueOperations queues) {
    this.queues = queues;
  }

  @Override
  public List<HttpRoute> routes() {
    return List.of(
        HttpRoute.of("GET", ALL, this::list).listing(),
        HttpRoute.of("POST", ALL, this::create).needingSome(Kind.ADMIN).listing(),
        HttpRoute.of("GET", ONE, this::get).listing(),
        HttpRoute.of("PUT", ONE, this::replace).needing(queue(Kind.ADMIN)).listing(),
        HttpRoute.of("PATCH", ONE, this::change).needing(queue(Kind.ADMIN)).listing(),
        HttpRoute.of("DELETE", ONE, this::delete),
        HttpRoute.of("GET", ONE + "/fairness-keys", this::fairnessKeys)
            .taking("order", "limit", "prefix")
            .listing(),
        HttpRoute.of("POST", ONE + "/messages", this::enqueue).needing(queue(Kind.PRODUCE)),
        HttpRoute.of("POST", ONE + "/receive", this::receive).needing(queue(Kind.CONSUME)),
        HttpRoute.of("POST", ONE + "/settle", this::settle).needing(queue(Kind.CONSUME)),
        HttpRoute.of("POST", ONE + "/purge", this::purge).needing(queue(Kind.ADMIN)),
        HttpRoute.of("GET", ONE + "/browse", this::browse)
            .taking("max_messages", "max_payload_bytes", "from"),
        HttpRoute.of("POST", ONE + "/redrive", this::redrive).needing(queue(Kind.ADMIN)));
  }

  /**
   * A permission on a queue holds for its dead-letter queue too: only {@link QueueOperations}
   * knows.
   */
  private HttpRoute.Requirement queue(Kind kind) {
    return (caller, path) -> queues.require(caller, kind, path.get().getOrDefault(QUEUE, ""));
  }

  private static String queue(HttpRequest request) {
    return request.parameter(QUEUE);
  }

  private HandlerResult list(HttpRequest request) {
    return HandlerResult.now(
        HttpResponse.ok(QueueJson.Summaries.of(queues.list(request.caller()))));
  }

  private HandlerResult create(HttpRequest request) {
    QueueJson.NewQueue wanted = request.read(QueueJson.NewQueue.class);
    String name = wanted.name();
    if (name == null) {
      throw ApiException.invalid("name is required");
    }
    QueueConfigFields config = wanted.config();
    queues.create(
        request.caller(), name, config == null ? QueueConfig.defaults() : config.toConfig());
    return HandlerResult.now(describe(CREATED, request.caller(), name));
  }

  private HttpResponse describe(int status, Caller caller, String name) {
    QueueDefinition queue = queues.definition(caller, name);
    QueueJson.QueueDetailsJson described =
        new QueueJson.QueueDetailsJson(
            name,
            queue.revision(),
            QueueConfigFields.of(queue.config()),
            QueueConfigFields.hookThrottleKeys(queue.config()),
            QueueJson.Stats.of(queues.stats(caller, name).stats()));
    return HttpResponse.json(status, described)
        .with(Map.of("ETag", QUOTE + queue.revision() + QUOTE));
  }

  private HandlerResult get(HttpRequest request) {
    return HandlerResult.now(describe(OK, request.caller(), queue(request)));
  }

  private HandlerResult replace(HttpRequest request) {
    QueueConfig config = request.read(QueueConfigFields.class).toConfig();
    return changed(request, before -> config);
  }

  private HandlerResult change(HttpRequest request) {
    QueueConfigFields config = request.read(QueueConfigFields.class);
    Set<String> named = JsonCodec.fields(request.body());
    return changed(request, before -> config.appliedTo(before, named));
  }

  private HandlerResult changed(HttpRequest request, UnaryOperator<QueueConfig> change) {
    queues.update(request.caller(), queue(request), change, ifMatch(request));
    return get(request);
  }

  /** Returns the revision that the queue must have; null for any. */
  private @Nullable String ifMatch(HttpRequest request) {
    IfMatch condition = request.header().apply("If-Match").map(IfMatch::of).orElse(null);
    return condition == null || condition.isAny()
        ? null
        : condition.expected(queues.definition(request.caller(), queue(request)).revision());
  }

  private HandlerResult delete(HttpRequest request) {
    queues.delete(request.caller(), queue(request), ifMatch(request));
    return HandlerResult.now(HttpResponse.nothing());
  }

  private HandlerResult fairnessKeys(HttpRequest request) {
    FairnessKeyPage found =
        queues.keys(
            request.caller(),
            queue(request),
            SchedulingStatsJson.order(request.query().getOrDefault("order", "depth")),
            request.queryInt("limit", DEFAULT_KEYS),
            request.query().getOrDefault("prefix", ""));
    QueueConfig config = queues.definition(request.caller(), queue(request)).config();
    return HandlerResult.now(
        HttpResponse.ok(SchedulingStatsJson.FairnessKeyPageJson.of(found, config)));
  }

  private HandlerResult enqueue(HttpRequest request) {
    CompletableFuture<List<UUID>> enqueued =
        queues.enqueue(request.key(), queue(request), () -> MessageJson.read(request));
    // The call may wait for a script; the broker accounts for the messages meanwhile.
    request.parsed().run();
    return HandlerResult.later(
        enqueued, ids -> HttpResponse.ok(Map.of("ids", IdFormat.texts(ids))));
  }

  private HandlerResult receive(HttpRequest request) {
    QueueJson.Receive wanted = request.readOptional(QueueJson.Receive.class);
    request.parsed().run();
    Integer most = wanted.maxMessages();
    return HandlerResult.waiting(
        queues.receive(
            request.key(),
            queue(request),
            most == null ? 1 : most,
            Duration.ofMillis(QueueJson.orZero(wanted.waitMs())),
            request.room()),
        deliveries -> HttpResponse.ok(MessageJson.Deliveries.of(deliveries)),
        WaitingReceive::giveBack);
  }

  private HandlerResult settle(HttpRequest request) {
    return HandlerResult.later(
        queues.settle(
            request.key(),
            queue(request),
            () -> request.read(QueueJson.Settle.class).toSettlements(),
            request.work()::hold),
        outcomes -> HttpResponse.ok(QueueJson.Settled.of(outcomes)));
  }

  private HandlerResult purge(HttpRequest request) {
    return HandlerResult.now(
        HttpResponse.ok(Map.of("purged", queues.purge(request.caller(), queue(request)))));
  }

  private HandlerResult browse(HttpRequest request) {
    String from = request.query().get("from");
    QueueOperations.BrowseRequest wanted =
        new QueueOperations.BrowseRequest(
            from == null ? null : IdFormat.id("from", from),
            request.queryInt("max_messages", DEFAULT_BROWSE),
            request.queryInt("max_payload_bytes", Integer.MAX_VALUE));
    return HandlerResult.now(
        HttpResponse.ok(
            MessageJson.StoredMessagesJson.of(
                queues.peek(request.caller(), queue(request), wanted, request.room()))));
  }

  private HandlerResult redrive(HttpRequest request) {
    QueueJson.Redrive wanted = request.readOptional(QueueJson.Redrive.class);
    request.parsed().run();
    Boolean runHook = wanted.runHook();
    return HandlerResult.waiting(
        queues.redrive(
            request.key(),
            queue(request),
            QueueJson.orZero(wanted.count()),
            runHook != null && runHook),
        redriven -> HttpResponse.ok(Map.of("redriven", redriven)));
  }
}
