package dev.sluice.server;

import static dev.sluice.server.KeyedServer.by;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.sluice.broker.Broker;
import dev.sluice.broker.QueueConfig;
import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.Governor;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import dev.sluice.proto.v1.ConsumeRequest;
import dev.sluice.proto.v1.ConsumeResponse;
import dev.sluice.proto.v1.CreateApiKeyResponse;
import dev.sluice.server.auth.AccountQuotas;
import dev.sluice.server.auth.ApiKey;
import dev.sluice.server.auth.ApiKeyAuthenticator;
import dev.sluice.server.auth.ApiKeyOperations;
import dev.sluice.server.auth.ApiKeyOperations.NewKey;
import dev.sluice.server.auth.ApiKeyStore;
import dev.sluice.server.auth.Caller;
import dev.sluice.server.auth.ConcurrencyQuota;
import dev.sluice.server.auth.Credential;
import dev.sluice.server.auth.Permission;
import dev.sluice.server.auth.Permission.Kind;
import dev.sluice.server.auth.QueueAuthorization;
import dev.sluice.server.auth.RevocationWatcher;
import dev.sluice.server.grpc.AuthenticationInterceptor;
import dev.sluice.server.operations.GovernorCalls;
import dev.sluice.server.operations.LimitOperations;
import dev.sluice.server.operations.QueueOperations;
import dev.sluice.server.operations.TicketWaiters;
import dev.sluice.server.operations.TicketWatch;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.ErrorKind;
import dev.sluice.server.support.JsonListFile;
import dev.sluice.server.transport.MemoryBudgets;
import dev.sluice.server.transport.ResponseMemoryBudget;
import dev.sluice.testkit.load.SeedBudget;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import java.io.IOException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.BooleanSupplier;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** One tenant cannot exhaust shared quotas, even with many keys. */
@Timeout(120)
final class QuotasTest {
  @TempDir Path dir;

  private static void assertExhausted(ThrowingCallable call, String rule) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(
            ApiException.class,
            refused -> assertThat(refused.kind()).isEqualTo(ErrorKind.RESOURCE_EXHAUSTED))
        .hasMessageContaining(rule);
  }

  private static NewKey wanted(String pattern) {
    return new NewKey("key", ApiKey.NEVER, false, List.of(new Permission(Kind.ADMIN, pattern)));
  }

  private static ApiKeyOperations api(ApiKeyStore keys) {
    return new ApiKeyOperations(keys, () -> Instant.ofEpochMilli(1_000));
  }

  private static Caller caller(ApiKeyStore keys, ApiKeyOperations.Created created) {
    return new ApiKeyAuthenticator(keys, () -> Instant.ofEpochMilli(1_000), new Secret("bootstrap"))
        .authenticate("Bearer " + created.token());
  }

  // ---- API keys

  @Test
  void keysOfATenant_areBounded_overTheWholeChain() throws IOException {
    ApiKeyStore keys = ApiKeyStore.open(dir);
    ApiKeyOperations api = api(keys);
    Caller root = caller(keys, api.create(by(Caller.ANYBODY), wanted("a.*")));
    Caller other = caller(keys, api.create(by(Caller.ANYBODY), wanted("b.*")));
    ApiKeyOperations.Created last = api.create(by(root), wanted("a.*"));
    Caller child = caller(keys, last);
    for (int i = 1; i < AccountQuotas.MAX_KEYS; i++) {
      last = api.create(by(i % 2 == 0 ? root : child), wanted("a.b"));
    }
    String rule = "keys of one account must be at most 100, but were 100";
    assertExhausted(() -> api.create(by(root), wanted("a.b")), rule);
    assertExhausted(() -> api.create(by(child), wanted("a.b")), rule);
    api.create(by(other), wanted("b.x"));
    Caller first = caller(keys, api.create(by(Caller.ANYBODY), wanted("a.*")));
    api.create(by(first), wanted("a.x"));
    api.revoke(by(root), last.id());
    api.create(by(child), wanted("a.b"));
    ApiKeyStore again = ApiKeyStore.open(dir);
    assertExhausted(() -> api(again).create(by(child), wanted("a.b")), rule);
  }

  private static ApiKey key(int number) {
    String id = "id-" + number;
    return new ApiKey(
        id, "old", "hash-" + number, 0, ApiKey.NEVER, false, List.of(), id, List.of());
  }

  @Test
  void lastKeys_areReservedForSuperadmins() throws IOException {
    List<ApiKey> many = new ArrayList<>();
    for (int i = 0; i < ApiKeyStore.MAX_KEYS - AccountQuotas.RESERVED_KEYS - 1; i++) {
      many.add(key(i));
    }
    new JsonListFile<>(dir, "keys", ApiKey.class).write(many);
    ApiKeyStore keys = ApiKeyStore.open(dir);
    ApiKeyOperations api = api(keys);
    Caller tenant = caller(keys, api.create(by(Caller.ANYBODY), wanted("a.*")));
    assertExhausted(() -> api.create(by(tenant), wanted("a.b")), "at most 9000 API keys");
    api.create(by(Caller.ANYBODY), wanted("a.b"));
  }

  /** Written by the version before keys had owners. */
  @Test
  void keysWithoutOwner_areReadAsTheirOwnAccounts() throws IOException {
    Files.writeString(dir.resolve(ApiKeyStore.FILE), OLD_KEYS);
    ApiKeyStore keys = ApiKeyStore.open(dir);
    assertThat(keys.list()).extracting(ApiKey::owner).containsExactly("one", "two");
    assertThat(keys.get("two").permissions()).containsExactly(new Permission(Kind.ADMIN, "a.*"));
    api(keys).create(by(Caller.ANYBODY), wanted("x"));
    assertThat(ApiKeyStore.open(dir).list()).extracting(ApiKey::owner).startsWith("one", "two");
  }

  private static final String OLD_KEYS =
      "{\"format\":1,\"sha256\":\"7d468c3c1c16390379d1cced0264292ec5d7b8ebaa17bc40fd64102ed"
          + "9aad05e\",\"keys\":[{\"id\":\"one\",\"name\":\"n\u00e4me\",\"tokenHash\":\"aa\",\"cr"
          + "eatedAtMs\":1,\"expiresAtMs\":0,\"superadmin\":false,\"permissions\":[{\"kind\":\"PR"
          + "ODUCE\",\"pattern\":\"foo.*\"}]},{\"id\":\"two\",\"name\":\"b\",\"tokenHash\":\"bb\""
          + ",\"createdAtMs\":2,\"expiresAtMs\":0,\"superadmin\":false,\"permissions\":[{\"kind\""
          + ":\"ADMIN\",\"pattern\":\"a.*\"}]}]}";

  // ---- names

  @Test
  void queuesOfATenant_areBounded() throws IOException {
    ApiKeyStore keys = ApiKeyStore.open(dir);
    ApiKeyOperations api = api(keys);
    ApiKeyOperations.Created made = api.create(by(Caller.ANYBODY), wanted("a.*"));
    Caller root = caller(keys, made);
    Caller child = caller(keys, api.create(by(root), wanted("a.b.*")));
    AccountQuotas quotas = new AccountQuotas(keys, new AccountQuotas.QuotaConfig(4, 2, 1));
    try (Broker broker = Broker.open(dir.resolve("broker"))) {
      QueueOperations queues =
          new QueueOperations(
              broker, new QueueAuthorization(broker), quotas, AccountQuotas.openCalls());
      QueueConfig config = QueueConfig.defaults();
      queues.create(root, "a.1", config);
      queues.create(child, "a.b.1", config);
      String rule = "queues of one account must be at most 4, but were 4";
      assertExhausted(() -> queues.create(child, "a.b.2", config), rule);
      assertExhausted(() -> queues.create(root, "a.2", config), rule);
      queues.create(Caller.ANYBODY, "a.3", config);
      queues.delete(root, "a.1", null);
      queues.delete(root, "a.3", null);
      queues.create(child, "a.b.2", config);
      api.revoke(by(Caller.ANYBODY), made.id());
      assertExhausted(() -> queues.create(child, "a.b.3", config), "at most 4");
    }
  }

  /** Concurrent creations, each of which alone would be within the quota. */
  @Test
  void namesThatAreBeingCreated_count() throws IOException {
    ApiKeyStore keys = ApiKeyStore.open(dir);
    Caller root = caller(keys, api(keys).create(by(Caller.ANYBODY), wanted("a.*")));
    AccountQuotas quotas = new AccountQuotas(keys, new AccountQuotas.QuotaConfig(4, 2, 1));
    ConcurrencyQuota.Hold first = quotas.queue(root, "a.1", () -> Set.of("b.1"));
    ConcurrencyQuota.Hold again = quotas.queue(root, "a.1", () -> Set.of("b.1"));
    quotas.queue(root, "a.2", Set::of);
    assertExhausted(() -> quotas.queue(root, "a.3", Set::of), "but were 4; remove some");
    first.close();
    first.close();
    assertExhausted(() -> quotas.queue(root, "a.3", Set::of), "but were 4; remove some");
    again.close();
    quotas.queue(root, "a.3", Set::of);

    AccountQuotas limits = new AccountQuotas(keys, new AccountQuotas.QuotaConfig(4, 2, 1));
    limits.limit(root, "a.1", Set::of);
    limits.limit(root, "a.2", () -> Set.of("a.1"));
    limits.limit(root, "a.2", () -> Set.of("a.1"));
    assertExhausted(() -> limits.limit(root, "a.3", () -> Set.of("a.1")), "but were 2");
  }

  @Test
  void namesOfAnAccount_count_afterItsFirstKeyWasNarrowedOrRevoked() throws IOException {
    ApiKeyStore keys = ApiKeyStore.open(dir);
    ApiKeyOperations api = api(keys);
    ApiKeyOperations.Created first = api.create(by(Caller.ANYBODY), wanted("a:*"));
    ApiKeyOperations.Created second = api.create(by(caller(keys, first)), wanted("a:*"));
    ApiKeyOperations.Created narrow = api.create(by(caller(keys, second)), wanted("a:b:*"));
    LimitOperations limits =
        LimitOperations.open(dir, new AccountQuotas(keys, new AccountQuotas.QuotaConfig(4, 2, 1)));
    LimitOperations.Rate rate = new LimitOperations.Rate(1, 1);
    limits.set(caller(keys, second), "a:1", rate).join();
    limits.set(caller(keys, second), "a:2", rate).join();
    String rule = "limits of one account must be at most 2, but were 2";
    api.setPermissions(
        by(caller(keys, second)), first.id(), List.of(new Permission(Kind.ADMIN, "a:z")));
    assertExhausted(() -> limits.set(caller(keys, second), "a:3", rate), rule);
    assertExhausted(() -> limits.set(caller(keys, narrow), "a:b:1", rate), rule);
    api.revoke(by(caller(keys, second)), first.id());
    assertExhausted(() -> limits.set(caller(keys, second), "a:3", rate), rule);
    assertExhausted(() -> limits.set(caller(keys, narrow), "a:b:1", rate), rule);
    ApiKeyStore again = ApiKeyStore.open(dir);
    assertThat(again.scopeOf(first.id())).containsExactly(new Permission(Kind.ADMIN, "a:*"));
  }

  @Test
  void limitsOfATenant_areBounded() throws IOException {
    ApiKeyStore keys = ApiKeyStore.open(dir);
    Caller root = caller(keys, api(keys).create(by(Caller.ANYBODY), wanted("a:*")));
    AccountQuotas quotas = new AccountQuotas(keys, new AccountQuotas.QuotaConfig(4, 2, 1));
    LimitOperations limits = LimitOperations.open(dir, quotas);
    LimitOperations.Rate rate = new LimitOperations.Rate(1, 1);
    limits.set(root, "a:1*", rate).join();
    assertExhausted(() -> limits.set(root, "a:2*", rate), "templates of one account");
    limits.set(root, "a:2", rate).join();
    assertExhausted(() -> limits.set(root, "a:3", rate), "limits of one account");
    limits.set(root, "a:2", new LimitOperations.Rate(2, 2)).join();
    limits.set(Caller.ANYBODY, "b:1", rate).join();
    limits.remove(root, "a:2").join();
    limits.set(root, "a:3", rate).join();
  }

  // ---- what is held

  @Test
  void quota_belongsToTheAccount_andIsReleasedOnce() {
    ConcurrencyQuota share = new ConcurrencyQuota("things", 4, 2);
    Caller one = new Caller("one", false, List.of(), ApiKey.NEVER);
    Caller two = new Caller("two", false, List.of(), ApiKey.NEVER);
    ConcurrencyQuota.Hold first = share.take(one);
    share.take(one);
    assertExhausted(() -> share.take(one), "things of one account must be at most 2 at once");
    share.take(two);
    first.close();
    first.close();
    assertThat(share.held()).isEqualTo(2);
    share.take(one);
    share.take(Caller.ANYBODY);
    assertExhausted(() -> share.take(Caller.ANYBODY), "things must be at most 4 at once");
  }

  @Test
  void waitingReceives_haveAQuota() throws IOException {
    Caller caller =
        new Caller("c", false, List.of(new Permission(Kind.CONSUME, "q")), ApiKey.NEVER);
    try (Broker broker = Broker.open(dir.resolve("broker"))) {
      broker.createQueue("q");
      ConcurrencyQuota open = new ConcurrencyQuota("calls", 10, 1);
      QueueOperations queues =
          new QueueOperations(
              broker,
              new QueueAuthorization(broker),
              new AccountQuotas(ApiKeyStore.open(dir)),
              open);
      Credential key = watches(caller).authenticate(null, "connection");
      Duration wait = Duration.ofSeconds(30);
      ResponseMemoryBudget.Reservation room = MemoryBudgets.ofHeap().answers().part("c");
      var first = queues.receive(key, "q", 1, wait, room);
      assertExhausted(() -> queues.receive(key, "q", 1, wait, room), "calls of one account");
      assertThat(queues.receive(key, "q", 1, Duration.ZERO, room).join()).isEmpty();
      assertThat(first.cancel(false)).isTrue();
      queues.receive(key, "q", 1, wait, room).cancel(false);
      assertThat(open.held()).isZero();
    }
  }

  @Test
  void redrivesOfOneAccount_areBounded_untilTheBrokerHasEndedThem() throws IOException {
    Caller caller =
        new Caller(
            "c",
            false,
            List.of(new Permission(Kind.ADMIN, "q.dlq"), new Permission(Kind.PRODUCE, "q")),
            ApiKey.NEVER);
    List<Running> running = new ArrayList<>();
    try (Broker broker = Broker.open(dir.resolve("broker"))) {
      broker.createQueue("q");
      QueueOperations queues =
          new QueueOperations(
              redrivingSlowly(broker, running),
              new QueueAuthorization(broker),
              new AccountQuotas(ApiKeyStore.open(dir)),
              new ConcurrencyQuota("calls", 10, 1));
      Credential key = watches(caller).authenticate(null, "connection");
      for (int i = 0; i < 4; i++) {
        assertThat(queues.redrive(key, "q.dlq", 0, false)).isNotDone();
      }
      String rule = "redrives of one account must be at most 4";
      assertExhausted(() -> queues.redrive(key, "q.dlq", 0, false), rule);
      assertThat(running).hasSize(4);
      running.get(0).end.complete(7L);
      CompletableFuture<Long> next = queues.redrive(key, "q.dlq", 0, false);
      assertExhausted(() -> queues.redrive(key, "q.dlq", 0, false), rule);
      assertThat(running.get(4).canceled.getAsBoolean()).isFalse();
      next.cancel(false);
      assertThat(running.get(4).canceled.getAsBoolean()).isTrue();
      assertExhausted(() -> queues.redrive(key, "q.dlq", 0, false), rule);
      running.get(4).end.complete(500L);
      assertThat(queues.redrive(key, "q.dlq", 0, false)).isNotDone();
    }
  }

  /** A redrive that the broker has begun. */
  private record Running(BooleanSupplier canceled, CompletableFuture<Long> end) {}

  private static Broker redrivingSlowly(Broker broker, List<Running> running) {
    InvocationHandler handler =
        (proxy, method, arguments) -> {
          if (method.getName().equals("redriveAsync")) {
            Running begun = new Running((BooleanSupplier) arguments[3], new CompletableFuture<>());
            running.add(begun);
            return begun.end;
          }
          return method.invoke(broker, arguments);
        };
    return (Broker)
        Proxy.newProxyInstance(
            Broker.class.getClassLoader(), new Class<?>[] {Broker.class}, handler);
  }

  /** Returns the ticket of a second request to model {@code one}, which allows one at a time. */
  private static String ticket(Governor governor) {
    TokenRequest request = TokenRequest.of("one", 1).withPriorityClass("P1_user");
    assertThat(governor.blocking().request(request)).isInstanceOf(TokenDecision.Granted.class);
    return ((TokenDecision.Queued) governor.blocking().request(request)).ticket();
  }

  @Test
  void watchedTickets_countFromTheCallOn() {
    ModelBudget one = SeedBudget.budget(60_000, 60_000).maxConcurrentRequests(1).build();
    BudgetConfig config = BudgetConfig.builder().models(Map.of("one", one)).build();
    ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
    try (Governor governor = Governor.create(config)) {
      TicketWaiters waits = new TicketWaiters(governor, timer, new GovernorCalls(Runnable::run));
      String ticket = ticket(governor);
      Caller caller = new Caller("one", false, List.of(), ApiKey.NEVER);
      List<TicketWatch> open = new ArrayList<>();
      for (int i = 0; i < TicketWaiters.MAX_WATCHES / 4; i++) {
        open.add(waits.watch(caller, ticket).join());
      }
      assertExhausted(
          () -> waits.watch(caller, ticket), "watched tickets of one account must be at most 64");
      open.get(0).close();
      open.get(0).close();
      assertThat(waits.watch(caller, "no-such-ticket")).isCompletedExceptionally();
      open.set(0, waits.watch(caller, ticket).join());
      assertExhausted(() -> waits.watch(caller, ticket), "watched tickets");
      while (open.size() < TicketWaiters.MAX_WATCHES) {
        open.add(waits.watch(Caller.ANYBODY, ticket).join());
      }
      assertExhausted(() -> waits.watch(Caller.ANYBODY, ticket), "must be at most 256 at once");
      open.forEach(TicketWatch::close);
      assertThat(waits.open()).isZero();
    } finally {
      timer.shutdownNow();
    }
  }

  private static RevocationWatcher watches(Caller caller) {
    return new RevocationWatcher(authorization -> caller, InstantSource.system());
  }

  private static ServerCall.Listener<ConsumeRequest> ignoring(
      ServerCall<ConsumeRequest, ConsumeResponse> call, Metadata headers) {
    return new ServerCall.Listener<ConsumeRequest>() {};
  }

  @Test
  void streams_haveAQuota_untilTheyEnd() {
    Caller caller = new Caller("c", false, List.of(), ApiKey.NEVER);
    ConcurrencyQuota open = new ConcurrencyQuota("streams", 10, 1);
    AuthenticationInterceptor access = new AuthenticationInterceptor(watches(caller), open);
    RecordingCall first = new RecordingCall();
    var stream = access.interceptCall(first, new Metadata(), QuotasTest::ignoring);
    RecordingCall second = new RecordingCall();
    access.interceptCall(second, new Metadata(), QuotasTest::ignoring);
    assertThat(first.end).isNull();
    Status refused = Objects.requireNonNull(second.end);
    assertThat(refused.getCode()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
    assertThat(refused.getDescription()).contains("streams of one account must be at most 1");
    stream.onCancel();
    assertThat(open.held()).isZero();
  }

  @Test
  void eventStreamsOfOneKey_areBounded_andRequireAPermission() throws IOException {
    try (KeyedServer server = new KeyedServer(dir)) {
      CreateApiKeyResponse admin = server.create("admin:a.*");
      String child =
          server
              .admin(admin.getSecret())
              .createApiKey(KeyedServer.request("admin:a.*").build())
              .getSecret();
      assertThat(statusOf(listen(server, server.create().getSecret()))).contains(" 403 ");
      List<Socket> open = new ArrayList<>();
      for (int i = 0; i < AccountQuotas.MAX_EVENT_STREAMS_OF_ACCOUNT; i++) {
        open.add(listen(server, i % 2 == 0 ? admin.getSecret() : child));
        assertThat(statusOf(open.get(i))).contains(" 200 ");
      }
      assertThat(statusOf(listen(server, admin.getSecret()))).contains(" 429 ");
      assertThat(statusOf(listen(server, child))).contains(" 429 ");
      assertThat(statusOf(listen(server, KeyedServer.BOOTSTRAP))).contains(" 200 ");
      open.get(0).close();
      await()
          .atMost(Duration.ofSeconds(30))
          .until(() -> statusOf(listen(server, child)).contains(" 200 "));
    }
  }

  private static Socket listen(KeyedServer server, String key) throws IOException {
    Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.httpPort());
    socket.setSoTimeout(20_000);
    String head =
        "GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n"
            .formatted(key);
    socket.getOutputStream().write(head.getBytes(StandardCharsets.US_ASCII));
    return socket;
  }

  private static String statusOf(Socket socket) throws IOException {
    return new String(socket.getInputStream().readNBytes(13), StandardCharsets.US_ASCII);
  }
}
