package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.sluice.proto.v1.EnqueueRequest;
import dev.sluice.proto.v1.Message;
import dev.sluice.proto.v1.QueueConfig;
import dev.sluice.proto.v1.RedriveRequest;
import io.grpc.Status;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Batches with slow scripts on many connections: callers without scripts do not notice. */
@Tag("any-jdk")
@Timeout(120)
final class ScriptLoadTest {
  private static final int CALLERS = 8;
  private static final int BATCH = 1_000;

  /** About 10,000 instructions, a tenth of what one run may use. */
  private static final String SLOW =
      "function %s(msg) local x = 0 for i = 1, 5000 do x = x + i end return {} end";

  @TempDir private Path dir;
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final AtomicBoolean over = new AtomicBoolean();
  private TestServer server;
  private HttpProbe http;

  @BeforeEach
  void start() throws IOException {
    server = TestServer.start(dir);
    http = new HttpProbe(server.server.httpPort());
    server.createQueue("plain");
    server.createQueue(
        "slow", QueueConfig.newBuilder().setOnEnqueue(SLOW.formatted("on_enqueue")).build());
  }

  @AfterEach
  void stop() {
    over.set(true);
    threads.shutdownNow();
    server.close();
  }

  private static String json(int messages) {
    return "{\"messages\":["
        + String.join(",", Collections.nCopies(messages, "{\"payload\":\"x\"}"))
        + "]}";
  }

  private static EnqueueRequest grpc(String queue, int messages) {
    Message message = Message.newBuilder().setPayload(ByteString.copyFromUtf8("x")).build();
    return EnqueueRequest.newBuilder()
        .setQueue(queue)
        .addAllMessages(Collections.nCopies(messages, message))
        .build();
  }

  /** Enqueues until it is over; half of the callers use HTTP. */
  private void load(int caller, int messages) {
    String body = json(messages);
    while (!over.get()) {
      if (caller % 2 == 0) {
        assertThat(http.post("/v1/queues/slow/messages", body).code())
            .isEqualTo("RESOURCE_EXHAUSTED");
      } else {
        TestServer.assertRefused(
            () -> server.queues().enqueue(grpc("slow", messages)),
            Status.Code.RESOURCE_EXHAUSTED,
            "the hooks of one call must use at most 5000000 instructions and 250 ms together");
      }
    }
  }

  /** Threads that run a script now. */
  private static Set<String> scriptThreads() {
    Set<String> found = new TreeSet<>();
    for (Map.Entry<Thread, StackTraceElement[]> each : Thread.getAllStackTraces().entrySet()) {
      for (StackTraceElement frame : each.getValue()) {
        if (frame.getClassName().equals("dev.sluice.broker.internal.lua.LuaSandbox")) {
          found.add(each.getKey().getName());
        }
      }
    }
    return found;
  }

  @Test
  void slowScripts_runOnHookThreadsAlone_andRefusedCallsStoreNothing() throws Exception {
    List<? extends Future<?>> load =
        IntStream.range(0, CALLERS)
            .mapToObj(caller -> threads.submit(() -> load(caller, BATCH)))
            .toList();
    Set<String> seen = new TreeSet<>();
    while (seen.isEmpty()) {
      seen.addAll(scriptThreads());
    }
    for (int i = 0; i < 50; i++) {
      assertThat(http.post("/v1/queues/plain/messages", json(1)).status()).isEqualTo(200);
      assertThat(server.queues().enqueue(grpc("plain", 1)).getIdsCount()).isEqualTo(1);
      seen.addAll(scriptThreads());
    }
    over.set(true);
    for (Future<?> each : load) {
      each.get(60, TimeUnit.SECONDS);
    }
    assertThat(seen).containsExactly("sluice-hooks");
    assertThat(http.get("/v1/queues/slow").json().at("/stats/depth").asInt(-1)).isZero();
    assertThat(http.get("/v1/queues/plain").json().at("/stats/depth").asInt(-1)).isEqualTo(100);
    String refused = "sluice_enqueue_rejected_total{queue=\"slow\",reason=\"hook_budget\"}";
    assertThat(Scrape.of(http).value(refused)).isGreaterThanOrEqualTo(CALLERS);
  }

  @Test
  void redriveByScript_runsOnHookThreadsAlone() throws Exception {
    server.createQueue(
        "source", QueueConfig.newBuilder().setOnEnqueue(SLOW.formatted("on_enqueue")).build());
    server.queues().enqueue(grpc("source.dlq", 400));
    Future<Long> redrive =
        threads.submit(
            () ->
                server
                    .queues()
                    .redrive(
                        RedriveRequest.newBuilder()
                            .setDeadLetterQueue("source.dlq")
                            .setRunHook(true)
                            .build())
                    .getRedriven());
    Set<String> seen = new TreeSet<>();
    while (!redrive.isDone()) {
      seen.addAll(scriptThreads());
    }
    assertThat(redrive.get()).isEqualTo(400);
    assertThat(seen).containsExactly("sluice-hooks");
  }
}
