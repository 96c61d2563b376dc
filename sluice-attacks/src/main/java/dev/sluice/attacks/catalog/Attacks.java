package dev.sluice.attacks.catalog;

import dev.sluice.attacks.catalog.Attack.Access;
import dev.sluice.attacks.wire.Grpc;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Stream;

/** All attacks there are. */
public final class Attacks {
  /** A queue of the hostile tenant that exists. */
  public static final String QUEUE = Target.TENANT + "q";

  private static final String MESSAGES = "/v1/queues/%s/messages".formatted(QUEUE);
  private static final String SETTLE = "/v1/queues/%s/settle".formatted(QUEUE);
  private static final String DECIDE = "/v1/decide";

  /** One of each kind, for runs that have little time. */
  private static final Set<String> QUICK =
      Set.of(
          "health-watch-gzip",
          "health-check-gzip",
          "enqueue-gzip",
          "health-large-names",
          "health-unfinished",
          "enqueue-unfinished-powerless",
          "slow-bodies-powerless",
          "padded-polls",
          "settings-flood",
          "ping-flood",
          "empty-data-flood",
          "rapid-reset",
          "made-you-reset",
          "calls-no-key",
          "malformed-timeouts",
          "unknown-encodings",
          "many-segments",
          "colliding-headers-no-key",
          "colliding-headers",
          "grpc-colliding-headers",
          "settlements",
          "costs",
          "hook-batches",
          "connection-flood",
          "idle-connections",
          "abandoned-nacks",
          "unread-messages",
          "grpc-unread-receives",
          "unread-keys",
          "empty-redrives",
          "event-streams",
          "script-queues",
          "api-keys");

  private Attacks() {}

  /**
   * Returns all attacks in the order in which they should run: those that leave state come last.
   */
  public static List<Attack> all() {
    return Stream.of(
            memory(),
            budgets(),
            frames(),
            processorOverHttp(),
            processorOverGrpc(),
            connections(),
            unread(),
            scans(),
            state())
        .flatMap(List::stream)
        .toList();
  }

  private static List<Attack> memory() {
    return List.of(
        new GzipHealth("health-watch-gzip", Grpc.HEALTH_WATCH),
        new GzipHealth("health-check-gzip", Grpc.HEALTH_CHECK),
        new GzipEnqueue("enqueue-gzip-powerless", Access.POWERLESS_KEY),
        new GzipEnqueue("enqueue-gzip", Access.TENANT_KEY),
        new LargeHealthNames(),
        new LargeWatchHeaders(),
        new LargeHeaderTable(),
        new LargeHeads(),
        new LargeTexts(),
        SelfAnsweredCalls.noGrpcWithoutWindow(),
        SelfAnsweredCalls.longMethods(),
        CostlyRequest.manyHttp("nacks", SETTLE, Bodies::nacks),
        CostlyRequest.manyGrpc("grpc-nacks", Grpc.SETTLE, Bodies::protoNacks),
        new AbandonedCalls());
  }

  private static List<Attack> budgets() {
    return List.of(
        new UnfinishedCalls("health-unfinished", Access.NO_KEY, Grpc.HEALTH_CHECK),
        new UnfinishedCalls("enqueue-unfinished-no-key", Access.NO_KEY, Grpc.ENQUEUE),
        new UnfinishedCalls("enqueue-unfinished-powerless", Access.POWERLESS_KEY, Grpc.ENQUEUE),
        new UnfinishedCalls("enqueue-unfinished", Access.TENANT_KEY, Grpc.ENQUEUE),
        new SlowBodies("slow-bodies-no-key", Access.NO_KEY),
        new SlowBodies("slow-bodies-powerless", Access.POWERLESS_KEY),
        new SlowBodies("slow-bodies", Access.TENANT_KEY),
        SelfAnsweredCalls.malformedTimeouts(),
        SelfAnsweredCalls.unknownEncodings(),
        new PaddedPolls());
  }

  private static List<Attack> frames() {
    return List.of(
        FrameFlood.settings(),
        FrameFlood.emptySettings(),
        FrameFlood.ping(),
        FrameFlood.pingAcks(),
        FrameFlood.emptyData(),
        FrameFlood.priority(),
        FrameFlood.windowUpdates(),
        FrameFlood.unknown(),
        new ContinuationFlood("continuation-flood", 1_000),
        new ContinuationFlood("empty-continuation-flood", 0),
        new RapidReset("rapid-reset", false),
        new RapidReset("made-you-reset", true),
        new ResetBurst(),
        new ByteFrames(),
        new KeylessCalls("calls-no-key", Grpc.ENQUEUE),
        new KeylessCalls("health-calls", Grpc.HEALTH_CHECK));
  }

  private static List<Attack> processorOverHttp() {
    return List.of(
        new ManySegments(),
        post("colliding-headers-no-key", Access.NO_KEY, MESSAGES, Bodies::collidingHeaders),
        post("colliding-headers", Access.TENANT_KEY, MESSAGES, Bodies::collidingHeaders),
        post("colliding-costs", Access.POWERLESS_KEY, DECIDE, Bodies::collidingCosts),
        post("colliding-fields", Access.POWERLESS_KEY, DECIDE, Bodies::collidingFields),
        post("colliding-ids", Access.TENANT_KEY, SETTLE, Bodies::collidingIds),
        post("settlements", Access.TENANT_KEY, SETTLE, Bodies::settlements),
        post("costs", Access.POWERLESS_KEY, DECIDE, Bodies::costs),
        post("messages", Access.TENANT_KEY, MESSAGES, Bodies::messages),
        post("deep-arrays", Access.TENANT_KEY, MESSAGES, Bodies::deepArrays),
        post("deep-objects", Access.TENANT_KEY, MESSAGES, Bodies::deepObjects),
        post("many-digits", Access.TENANT_KEY, MESSAGES, Bodies::manyDigits),
        post("huge-exponent", Access.TENANT_KEY, MESSAGES, Bodies::hugeExponent));
  }

  private static List<Attack> processorOverGrpc() {
    return List.of(
        CostlyRequest.grpc(
            "grpc-colliding-headers",
            Access.TENANT_KEY,
            Grpc.ENQUEUE,
            Bodies::protoCollidingHeaders),
        CostlyRequest.grpc(
            "grpc-colliding-ids", Access.TENANT_KEY, Grpc.SETTLE, Bodies::protoCollidingIds),
        CostlyRequest.grpc(
            "grpc-settlements", Access.TENANT_KEY, Grpc.SETTLE, Bodies::protoSettlements),
        CostlyRequest.grpc("grpc-costs", Access.POWERLESS_KEY, Grpc.DECIDE, Bodies::protoCosts),
        CostlyRequest.grpc("grpc-messages", Access.TENANT_KEY, Grpc.ENQUEUE, Bodies::protoMessages),
        new BurningHooks());
  }

  private static List<Attack> connections() {
    return List.of(
        new SlowHeaders(),
        ManyStreams.watches(),
        ManyStreams.polls(),
        new ConnectionFlood(),
        new IdleConnections(),
        new UnreadAnswers("pipelining", Access.NO_KEY, "/healthz", true),
        new UnreadAnswers("unread-answers", Access.NO_KEY, "/openapi.json", false),
        new UnreadMessages(),
        new Garbage(),
        new EventStreams());
  }

  /** Their queues stay on the server. */
  private static List<Attack> unread() {
    return List.of(
        UnreadCalls.peeks(),
        UnreadCalls.receives(),
        UnreadCalls.statistics(),
        UnreadCalls.peeksOverHttp(),
        UnreadCalls.keysOverHttp());
  }

  /** Their queues, one of them with many messages, stay on the server. */
  private static List<Attack> scans() {
    return List.of(EmptyQueues.redrives(), EmptyQueues.purges());
  }

  private static List<Attack> state() {
    return List.of(EndlessState.scriptQueues(), EndlessState.limits(), EndlessState.keys());
  }

  private static Attack post(String name, Access access, String path, Supplier<byte[]> body) {
    return CostlyRequest.http(name, access, path, body);
  }

  /** Returns a few attacks, one of each kind. */
  public static List<Attack> quick() {
    return all().stream().filter(each -> QUICK.contains(each.name())).toList();
  }

  /** Returns the attack of that name. */
  public static Attack named(String name) {
    return all().stream()
        .filter(each -> each.name().equals(name))
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException("no such attack: '%s'".formatted(name)));
  }
}
