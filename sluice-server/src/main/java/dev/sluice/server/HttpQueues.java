package dev.sluice.server;

import dev.sluice.broker.QueueConfig;
import dev.sluice.broker.QueueDefinition;
import dev.sluice.broker.QueueKeys;
import dev.sluice.server.JsonQueues.Config;
import dev.sluice.server.Permission.Kind;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** Queues over HTTP. */
final class HttpQueues implements HttpRoute.Group {
  private static final int OK = 200;
  private static final int CREATED = 201;
  private static final int DEFAULT_PEEK = 10;
  private static final int DEFAULT_KEYS = 100;
  private static final String ALL = "/v1/queues";
  private static final String ONE = ALL + "/{queue}";
  private static final String QUEUE = "queue";
  private static final String QUOTE = "\"";

  private final QueueApi queues;

  HttpQueues(QueueApi queues) {
    this.queues = queues;
  }

  @Override
  public List<HttpRoute> routes() {
    return List.of(
        HttpRoute.of("GET", ALL, this::list).listing(),
        HttpRoute.of("POST", ALL, this::create).needingSome(Kind.ADMIN),
        HttpRoute.of("GET", ONE, this::get).listing(),
        HttpRoute.of("PUT", ONE, this::replace).needing(queue(Kind.ADMIN)).listing(),
        HttpRoute.of("PATCH", ONE, this::change).needing(queue(Kind.ADMIN)).listing(),
        HttpRoute.of("DELETE", ONE, this::delete),
        HttpRoute.of("GET", ONE + "/keys", this::keys).taking("order", "limit", "prefix").listing(),
        HttpRoute.of("POST", ONE + "/messages", this::enqueue).needing(queue(Kind.PRODUCE)),
        HttpRoute.of("POST", ONE + "/receive", this::receive).needing(queue(Kind.CONSUME)),
        HttpRoute.of("POST", ONE + "/settle", this::settle).needing(queue(Kind.CONSUME)),
        HttpRoute.of("POST", ONE + "/purge", this::purge).needing(queue(Kind.ADMIN)),
        HttpRoute.of("GET", ONE + "/peek", this::peek)
            .taking("max_messages", "max_payload_bytes", "from"),
        HttpRoute.of("POST", ONE + "/redrive", this::redrive).needing(queue(Kind.ADMIN)));
  }

  /** A permission on a queue holds for its dead-letter queue too: only {@link QueueApi} knows. */
  private HttpRoute.Need queue(Kind kind) {
    return (caller, path) -> queues.require(caller, kind, path.get().getOrDefault(QUEUE, ""));
  }

  private static String queue(HttpRequest request) {
    return request.parameter(QUEUE);
  }

  private HttpReply list(HttpRequest request) {
    return HttpReply.now(HttpAnswer.ok(JsonQueues.Summaries.of(queues.list(request.caller()))));
  }

  private HttpReply create(HttpRequest request) {
    JsonQueues.NewQueue wanted = request.read(JsonQueues.NewQueue.class);
    String name = wanted.name();
    if (name == null) {
      throw ApiException.invalid("name must be there");
    }
    Config config = wanted.config();
    queues.create(
        request.caller(), name, config == null ? QueueConfig.defaults() : config.toConfig());
    return HttpReply.now(describe(CREATED, request.caller(), name));
  }

  private HttpAnswer describe(int status, Caller caller, String name) {
    QueueDefinition queue = queues.definition(caller, name);
    JsonQueues.Queue described =
        new JsonQueues.Queue(
            name,
            queue.revision(),
            Config.of(queue.config()),
            JsonQueues.Stats.of(queues.stats(caller, name).stats()));
    return HttpAnswer.json(status, described)
        .with(Map.of("ETag", QUOTE + queue.revision() + QUOTE));
  }

  private HttpReply get(HttpRequest request) {
    return HttpReply.now(describe(OK, request.caller(), queue(request)));
  }

  private HttpReply replace(HttpRequest request) {
    QueueConfig config = request.read(Config.class).toConfig();
    return changed(request, before -> config);
  }

  private HttpReply change(HttpRequest request) {
    Config config = request.read(Config.class);
    Set<String> named = Json.fields(request.body());
    return changed(request, before -> config.appliedTo(before, named));
  }

  private HttpReply changed(HttpRequest request, UnaryOperator<QueueConfig> change) {
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

  private HttpReply delete(HttpRequest request) {
    queues.delete(request.caller(), queue(request), ifMatch(request));
    return HttpReply.now(HttpAnswer.nothing());
  }

  private HttpReply keys(HttpRequest request) {
    QueueKeys found =
        queues.keys(
            request.caller(),
            queue(request),
            JsonKeys.order(request.query().getOrDefault("order", "depth")),
            request.queryInt("limit", DEFAULT_KEYS),
            request.query().getOrDefault("prefix", ""));
    QueueConfig config = queues.definition(request.caller(), queue(request)).config();
    return HttpReply.now(HttpAnswer.ok(JsonKeys.Keys.of(found, config)));
  }

  private HttpReply enqueue(HttpRequest request) {
    CompletableFuture<List<UUID>> enqueued =
        queues.enqueue(request.caller(), queue(request), () -> JsonMessages.read(request));
    // The call may wait for a script; the broker accounts for the messages meanwhile.
    request.parsed().run();
    return HttpReply.later(enqueued, ids -> HttpAnswer.ok(Map.of("ids", QueueService.texts(ids))));
  }

  private HttpReply receive(HttpRequest request) {
    JsonQueues.Receive wanted = request.readOptional(JsonQueues.Receive.class);
    request.parsed().run();
    Integer most = wanted.maxMessages();
    return HttpReply.waiting(
        queues.receive(
            request.key(),
            queue(request),
            most == null ? 1 : most,
            Duration.ofMillis(JsonQueues.orZero(wanted.waitMs())),
            request.room()),
        deliveries -> HttpAnswer.ok(JsonMessages.Deliveries.of(deliveries)),
        Reception::giveBack);
  }

  private HttpReply settle(HttpRequest request) {
    return HttpReply.later(
        queues.settle(
            request.caller(),
            queue(request),
            () -> request.read(JsonQueues.Settle.class).toSettlements(),
            request.work()::hold),
        outcomes -> HttpAnswer.ok(JsonQueues.Settled.of(outcomes)));
  }

  private HttpReply purge(HttpRequest request) {
    return HttpReply.now(
        HttpAnswer.ok(Map.of("purged", queues.purge(request.caller(), queue(request)))));
  }

  private HttpReply peek(HttpRequest request) {
    String from = request.query().get("from");
    QueueApi.Peek wanted =
        new QueueApi.Peek(
            from == null ? null : Wire.id("from", from),
            request.queryInt("max_messages", DEFAULT_PEEK),
            request.queryInt("max_payload_bytes", Integer.MAX_VALUE));
    return HttpReply.now(
        HttpAnswer.ok(
            JsonMessages.Peeked.of(
                queues.peek(request.caller(), queue(request), wanted, request.room()))));
  }

  private HttpReply redrive(HttpRequest request) {
    JsonQueues.Redrive wanted = request.readOptional(JsonQueues.Redrive.class);
    request.parsed().run();
    Boolean runScript = wanted.runScript();
    return HttpReply.later(
        queues.redrive(
            request.key(),
            queue(request),
            JsonQueues.orZero(wanted.count()),
            runScript != null && runScript),
        redriven -> HttpAnswer.ok(Map.of("redriven", redriven)));
  }
}
