package dev.sluice.server;

import static dev.sluice.server.KeyedServer.BOOTSTRAP;
import static dev.sluice.server.KeyedServer.codeOf;
import static dev.sluice.server.KeyedServer.statusOf;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.sluice.broker.Broker;
import dev.sluice.broker.QueueConfig;
import dev.sluice.proto.v1.CreateApiKeyResponse;
import dev.sluice.proto.v1.CreateQueueRequest;
import dev.sluice.proto.v1.DeleteQueueRequest;
import dev.sluice.proto.v1.EnqueueRequest;
import dev.sluice.proto.v1.GetQueueRequest;
import dev.sluice.proto.v1.ListQueuesRequest;
import dev.sluice.proto.v1.ListQueuesResponse;
import dev.sluice.proto.v1.Message;
import dev.sluice.proto.v1.QueuesGrpc;
import dev.sluice.proto.v1.RedriveRequest;
import dev.sluice.server.auth.ApiKey;
import dev.sluice.server.auth.Caller;
import dev.sluice.server.auth.Permission;
import dev.sluice.server.auth.Permission.Kind;
import dev.sluice.server.auth.QueueAuthorization;
import dev.sluice.server.support.ApiException;
import io.grpc.Status;
import io.grpc.Status.Code;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Ways from one key's queue to another's by the names of dead-letter queues. */
@Timeout(60)
final class DeadLetterAccessTest {
  @TempDir Path dir;

  private static CreateQueueRequest queue(String name) {
    return CreateQueueRequest.newBuilder().setName(name).build();
  }

  private static EnqueueRequest messages(String queue, String... throttleKeys) {
    EnqueueRequest.Builder request = EnqueueRequest.newBuilder().setQueue(queue);
    request.addMessages(Message.getDefaultInstance());
    for (String each : throttleKeys) {
      request.addMessages(Message.newBuilder().putThrottleKeys(each, 1));
    }
    return request.build();
  }

  private static long depth(KeyedServer server, String queue) {
    return server
        .queues(BOOTSTRAP)
        .getQueue(GetQueueRequest.newBuilder().setName(queue).build())
        .getStats()
        .getDepth();
  }

  @Test
  void redrive_doesNotInjectIntoAQueueOfOthers() throws Exception {
    try (KeyedServer server = new KeyedServer(dir)) {
      assertThat(server.queues(BOOTSTRAP).createQueue(queue("v"))).isNotNull();
      String key = server.create("produce:v.dlq", "admin:v.dlq").getSecret();
      assertThat(server.queues(key).enqueue(messages("v.dlq")).getIdsCount()).isEqualTo(1);
      RedriveRequest all = RedriveRequest.newBuilder().setDeadLetterQueue("v.dlq").build();
      assertThat(statusOf(() -> server.queues(key).redrive(all)).getDescription())
          .isEqualTo("the API key does not allow this; it needs produce on v");
      assertThat(depth(server, "v")).isZero();
      assertThat(depth(server, "v.dlq")).isEqualTo(1);
      assertThat(server.queues(BOOTSTRAP).redrive(all).getRedriven()).isEqualTo(1);
    }
  }

  @Test
  void redrive_endsWhenItsKeyIsRevoked() throws Exception {
    try (KeyedServer server = new KeyedServer(dir)) {
      String slow = "function on_enqueue(m) local x = 0 for i = 1, 20000 do x = x + i end end";
      CreateQueueRequest.Builder scripted = queue("v").toBuilder();
      scripted.getConfigBuilder().setOnEnqueue(slow);
      assertThat(server.queues(BOOTSTRAP).createQueue(scripted.build())).isNotNull();
      EnqueueRequest many =
          EnqueueRequest.newBuilder()
              .setQueue("v.dlq")
              .addAllMessages(Collections.nCopies(3_000, Message.getDefaultInstance()))
              .build();
      assertThat(server.queues(BOOTSTRAP).enqueue(many).getIdsCount()).isEqualTo(3_000);
      CreateApiKeyResponse key = server.create("produce:v", "admin:v");
      RedriveRequest all =
          RedriveRequest.newBuilder().setDeadLetterQueue("v.dlq").setRunHook(true).build();
      var redriven =
          QueuesGrpc.newFutureStub(server.with("Bearer " + key.getSecret())).redrive(all);
      Awaitility.await().until(() -> depth(server, "v") > 0);
      server.revoke(key.getId());
      assertThatThrownBy(() -> redriven.get(30, TimeUnit.SECONDS))
          .hasMessageContaining("UNAUTHENTICATED");
      assertThat(depth(server, "v.dlq")).isPositive();
    }
  }

  @Test
  void createAndDelete_keepAnotherTenantsQueueWithTheDeadLetterName() throws Exception {
    try (KeyedServer server = new KeyedServer(dir)) {
      assertThat(server.queues(BOOTSTRAP).createQueue(queue("x.dlq"))).isNotNull();
      assertThat(server.queues(BOOTSTRAP).enqueue(messages("x.dlq"))).isNotNull();
      var others = server.queues(server.create("admin:x", "produce:x").getSecret());
      assertThat(statusOf(() -> others.createQueue(queue("x"))).getDescription())
          .isEqualTo(
              "the API key does not allow this; it needs admin on x.dlq, a queue that exists");
      DeleteQueueRequest delete = DeleteQueueRequest.newBuilder().setName("x").build();
      assertThat(codeOf(() -> others.deleteQueue(delete))).isEqualTo(Code.NOT_FOUND);
      assertThat(codeOf(() -> others.enqueue(messages("x.dlq"))))
          .as("there is no x whose dead letters these are")
          .isEqualTo(Code.PERMISSION_DENIED);
      assertThat(depth(server, "x.dlq")).isEqualTo(1);
    }
  }

  /** While a call on x.dlq is under way, creating x.dlq waits; a refusal does not. */
  @Test
  void creationWithoutPermission_isRefusedWithoutWaiting() throws Exception {
    try (Broker broker = Broker.open(dir)) {
      broker.createQueue("x");
      QueueAuthorization access = new QueueAuthorization(broker);
      Caller powerless = new Caller("p", false, List.of(), ApiKey.NEVER);
      FutureTask<Throwable> refused =
          new FutureTask<>(
              () ->
                  catchThrowable(
                      () ->
                          access.create(
                              powerless, "x.dlq", QueueConfig.defaults(), () -> () -> {})));
      access.run(
          admin("x"),
          Kind.ADMIN,
          "x.dlq",
          () -> {
            new Thread(refused).start();
            assertThat(soon(refused)).isInstanceOf(ApiException.class);
          });
    }
  }

  private static Caller admin(String... queues) {
    List<Permission> permissions =
        Arrays.stream(queues).map(each -> new Permission(Kind.ADMIN, each)).toList();
    return new Caller("a", false, permissions, ApiKey.NEVER);
  }

  private static <T> T soon(FutureTask<T> task) {
    try {
      return task.get(20, TimeUnit.SECONDS);
    } catch (Exception failure) {
      throw new AssertionError(failure);
    }
  }

  /** Nor does a call on x, which a redrive of x.dlq nests: it would wait while it holds a lock. */
  @Test
  void callOnAQueueThatHoldsNoDeadLetters_waitsForNoCreation() throws Exception {
    try (Broker broker = Broker.open(dir)) {
      broker.createQueue("x");
      String other = sharingItsLock("x");
      broker.createQueue(other);
      QueueAuthorization access = new QueueAuthorization(broker);
      Thread creation =
          new Thread(
              () ->
                  access.create(
                      Caller.ANYBODY, other + ".dlq", QueueConfig.defaults(), () -> () -> {}));
      creation.setUncaughtExceptionHandler((thread, exists) -> {});
      FutureTask<Throwable> refused =
          new FutureTask<>(
              () -> catchThrowable(() -> access.require(admin("x"), Kind.PRODUCE, "x")));
      access.run(
          admin(other),
          Kind.ADMIN,
          other + ".dlq",
          () -> {
            creation.start();
            Awaitility.await().until(() -> creation.getState() == Thread.State.WAITING);
            new Thread(refused).start();
            assertThat(soon(refused)).hasMessageContaining("produce on x");
          });
      creation.join();
    }
  }

  /** Returns a queue whose dead letters have the lock that the name {@code queue} leads to. */
  private static String sharingItsLock(String queue) {
    int number = 0;
    while (Math.floorMod(("q" + number + ".dlq").hashCode() - queue.hashCode(), 64) != 0) {
      number++;
    }
    return "q" + number;
  }

  @Test
  void deleteOfADeadLetterQueue_leavesTheQueueCalledAfterIt() throws Exception {
    try (Broker broker = Broker.open(dir)) {
      broker.createQueue("x");
      broker.createQueue("x.dlq.dlq");
      broker.deleteQueue("x.dlq");
      assertThat(broker.queues()).containsOnlyKeys("x", "x.dlq.dlq");
    }
  }

  @Test
  void list_includesDeadLetterQueuesOfReadableQueues() throws Exception {
    try (KeyedServer server = new KeyedServer(dir)) {
      for (String each : List.of("mine", "other", "mine2.dlq")) {
        assertThat(server.queues(BOOTSTRAP).createQueue(queue(each))).isNotNull();
      }
      var list = ListQueuesRequest.getDefaultInstance();
      String key = server.create("read:mine", "read:mine2").getSecret();
      assertThat(server.queues(key).listQueues(list).getQueuesList())
          .extracting(ListQueuesResponse.Queue::getName)
          .containsExactly("mine", "mine.dlq");
      String producer = server.create("produce:*").getSecret();
      assertThat(statusOf(() -> server.queues(producer).listQueues(list)).getDescription())
          .isEqualTo("the API key does not allow this; it needs read on any name");
    }
  }

  @Test
  void batchWithAThrottleKeyOfOthers_isRefusedAsAWhole() throws Exception {
    try (KeyedServer server = new KeyedServer(dir)) {
      assertThat(server.queues(BOOTSTRAP).createQueue(queue("q"))).isNotNull();
      String key = server.create("produce:q", "limit:own.*").getSecret();
      assertThat(statusOf(() -> server.queues(key).enqueue(messages("q", "own.a", "shared"))))
          .extracting(Status::getDescription)
          .isEqualTo("the API key does not allow this; it needs limit on shared");
      assertThat(depth(server, "q")).isZero();
      assertThat(server.queues(key).enqueue(messages("q", "own.a")).getIdsCount()).isEqualTo(2);
    }
  }

  @Test
  void throttleKeysOfAScript_needNoPermissionOfTheProducer() throws Exception {
    try (KeyedServer server = new KeyedServer(dir)) {
      String script = "function on_enqueue(msg) return { throttle_keys = { 'shared' } } end";
      CreateQueueRequest.Builder scripted = queue("q").toBuilder();
      scripted.getConfigBuilder().setOnEnqueue(script);
      assertThat(server.queues(BOOTSTRAP).createQueue(scripted.build())).isNotNull();
      String key = server.create("produce:q").getSecret();
      assertThat(server.queues(key).enqueue(messages("q")).getIdsCount()).isEqualTo(1);
    }
  }

  // ---- between the check and the call

  private static Caller with(String... permissions) {
    return new Caller(
        "test",
        false,
        Arrays.stream(permissions)
            .map(each -> each.split(":", 2))
            .map(each -> new Permission(Kind.of(each[0]), each[1]))
            .toList(),
        ApiKey.NEVER);
  }

  /** The queue is deleted, and another key makes one of the name, while a call is on its way. */
  @Test
  void callAllowedByTheSource_neverReachesAQueueCreatedMeanwhile() throws Exception {
    try (Broker broker = Broker.open(dir)) {
      QueueAuthorization access = new QueueAuthorization(broker);
      broker.createQueue("x");
      FutureTask<Void> others =
          new FutureTask<>(
              () ->
                  access.create(
                      with("admin:x.dlq"), "x.dlq", QueueConfig.defaults(), () -> () -> {}),
              null);
      Thread thread = new Thread(others);
      access.run(
          with("produce:x"),
          Kind.PRODUCE,
          "x.dlq",
          () -> {
            broker.deleteQueue("x");
            thread.start();
            Awaitility.await()
                .atMost(Duration.ofSeconds(30))
                .until(() -> others.isDone() || thread.getState() == Thread.State.WAITING);
            assertThat(broker.queue("x.dlq")).as("made during the call").isEmpty();
          });
      others.get(30, TimeUnit.SECONDS);
      assertThat(broker.queue("x.dlq")).isPresent();
    }
  }

  @Test
  void adoptionOfADeadLetterQueue_isDecidedWhenTheQueueIsMade() {
    try (Broker broker = Broker.open(dir)) {
      broker.createQueue("x.dlq");
      QueueAuthorization access = new QueueAuthorization(broker);
      QueueConfig config = QueueConfig.defaults();
      assertThat(catchThrowable(() -> access.create(with("admin:x"), "x", config, () -> () -> {})))
          .hasMessageContaining("admin on x.dlq");
      assertThat(broker.queue("x")).isEmpty();
      access.create(with("admin:x", "admin:x.dlq"), "x", config, () -> () -> {});
      assertThat(broker.queues()).containsOnlyKeys("x", "x.dlq");
    }
  }
}
