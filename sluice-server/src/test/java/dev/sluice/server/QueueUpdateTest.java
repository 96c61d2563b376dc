package dev.sluice.server;

import static dev.sluice.server.TestServer.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.protobuf.FieldMask;
import dev.sluice.proto.v1.GetQueueRequest;
import dev.sluice.proto.v1.GetQueueResponse;
import dev.sluice.proto.v1.QueueConfig;
import dev.sluice.proto.v1.UpdateQueueRequest;
import dev.sluice.server.HttpProbe.Reply;
import io.grpc.Status;
import java.io.IOException;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Partial and whole updates of a queue's settings, with and without a revision. */
final class QueueUpdateTest {
  private static final String QUEUE = "/v1/queues/q";

  @TempDir private Path dir;
  private TestServer server;
  private HttpProbe http;

  @BeforeEach
  void start() throws IOException {
    server = TestServer.start(dir);
    http = new HttpProbe(server.server.httpPort());
    Reply made =
        http.post(
            "/v1/queues",
            "{\"name\":\"q\",\"config\":{\"lease_timeout_ms\":5000,\"max_depth\":7,\"max_attempts\":3,"
                + "\"strict_order\":true,\"on_failure\":\"function on_failure(m) end\"}}");
    assertThat(made.status()).isEqualTo(201);
    assertThat(made.header("ETag")).isEqualTo(tag(made));
  }

  @AfterEach
  void stop() {
    server.close();
  }

  private static String tag(Reply queue) {
    return "\"" + queue.json().get("revision").asText() + "\"";
  }

  private Reply send(String method, String ifMatch, String body) {
    return http.send(
        http.request(QUEUE)
            .header("If-Match", ifMatch)
            .method(method, BodyPublishers.ofString(body)));
  }

  private JsonNode config() {
    return http.get(QUEUE).json().get("config");
  }

  @Test
  void patch_changesTheNamedFields_andLeavesTheOthers() {
    ObjectNode before = (ObjectNode) config();
    Reply patched = http.patch(QUEUE, "{\"max_depth\":8,\"retry_delay_ms\":0}");
    assertThat(patched.status()).isEqualTo(200);
    before.put("max_depth", 8).put("retry_delay_ms", 0);
    assertThat(patched.json().get("config").toString()).isEqualTo(before.toString());
    assertThat(config().toString()).isEqualTo(before.toString());
  }

  @Test
  void patch_withNull_setsTheDefault_alsoOfAScript() {
    JsonNode config =
        http.patch(QUEUE, "{\"on_failure\":null,\"max_attempts\":null,\"lease_timeout_ms\":null}")
            .json()
            .get("config");
    assertThat(config.has("on_failure")).isFalse();
    assertThat(config.get("max_attempts").asInt()).isEqualTo(10);
    assertThat(config.get("lease_timeout_ms").asInt()).isEqualTo(30_000);
    assertThat(config.get("max_depth").asInt()).isEqualTo(7);
  }

  @Test
  void put_replacesEverything() {
    JsonNode config = http.put(QUEUE, "{\"max_depth\":8}").json().get("config");
    assertThat(config.get("lease_timeout_ms").asInt()).isEqualTo(30_000);
    assertThat(config.get("max_attempts").asInt()).isEqualTo(10);
    assertThat(config.has("on_failure")).isFalse();
  }

  @ParameterizedTest
  @CsvSource({"PATCH", "PUT"})
  void staleETag_is412_withThePresentRevision_andChangesNothing(String method) {
    String old = http.get(QUEUE).header("ETag");
    Reply first = send(method, old, "{\"max_depth\":8}");
    assertThat(first.status()).isEqualTo(200);
    assertThat(first.header("ETag")).isEqualTo(tag(first)).isNotEqualTo(old);
    Reply second = send(method, old, "{\"max_depth\":9}");
    assertThat(second.status()).isEqualTo(412);
    assertThat(second.code()).isEqualTo("FAILED_PRECONDITION");
    assertThat(second.message()).contains("revision=" + first.json().get("revision").asText());
    assertThat(config()).isEqualTo(first.json().get("config"));
    assertThat(send(method, "*", "{\"max_depth\":9}").status()).isEqualTo(200);
  }

  @Test
  void revision_survivesARestart() throws IOException {
    String before = http.patch(QUEUE, "{\"max_depth\":8}").header("ETag");
    server.close();
    server = TestServer.start(dir);
    http = new HttpProbe(server.server.httpPort());
    assertThat(http.get(QUEUE).header("ETag")).isEqualTo(before);
    assertThat(send("PATCH", before, "{\"max_depth\":9}").status()).isEqualTo(200);
    assertThat(send("PATCH", before, "{\"max_depth\":9}").status()).isEqualTo(412);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          1.1
          "1.1
          "1.1" "1.2"
          "1.1", 1.2
          "1.1", *
          w/"1.1"
          W/
          "1 1"
          ,
          "
          """)
  void malformedIfMatch_isRefused(String field) {
    Reply refused = send("PATCH", field, "{\"max_depth\":8}");
    assertThat(refused.status()).isEqualTo(400);
    assertThat(refused.message()).contains("If-Match must be * or a list of ETags");
  }

  /** {@code now} stands for the present revision, {@code old} for the one before. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          "now"               | 200
          "old", "now"        | 200
          ,"now" ,"a,b",      | 200
          W/"old", "now"      | 200
          "old"               | 412
          "old", "other"      | 412
          W/"now"             | 412
          W/"now", W/"old"    | 412
          "old,now"           | 412
          ""                  | 412
          """)
  void ifMatch_holdsIfOneStrongTagIsThePresentOne(String field, int status) {
    String old = http.get(QUEUE).json().get("revision").asText();
    Reply before = http.patch(QUEUE, "{\"max_depth\":8}");
    String present = before.json().get("revision").asText();
    String tags = field.replace("old", old).replace("now", present);
    assertThat(send("PATCH", tags, "{\"max_depth\":9}").status()).isEqualTo(status);
    assertThat(config().get("max_depth").asInt()).isEqualTo(status == 200 ? 9 : 8);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          "old"        | 412
          W/"now"      | 412
          now          | 400
          "old", "now" | 204
          *            | 204
          """)
  void delete_honorsIfMatch(String field, int status) {
    String old = http.get(QUEUE).json().get("revision").asText();
    String present = http.patch(QUEUE, "{\"max_depth\":8}").json().get("revision").asText();
    Reply reply = send("DELETE", field.replace("old", old).replace("now", present), "");
    assertThat(reply.status()).isEqualTo(status);
    assertThat(http.get(QUEUE).status()).isEqualTo(status == 204 ? 404 : 200);
  }

  @Test
  void severalIfMatchFields_areOneList() {
    String present = http.get(QUEUE).header("ETag");
    Reply changed =
        http.send(
            http.request(QUEUE)
                .header("If-Match", "\"other\"")
                .header("If-Match", present)
                .method("PATCH", BodyPublishers.ofString("{\"max_depth\":9}")));
    assertThat(changed.status()).isEqualTo(200);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          {"max_dept":1}         | unknown field max_dept
          {"lease_timeout_ms":1}         | leaseTimeout must be from PT1S
          {"retry_delay_ms":300001} | retryDelay must be at most maxRetryDelay
          {"max_attempts":-1}    | maxAttempts must be from 0
          {"on_failure":"no lua"} | on_failure
          []                     | must be an object
          """)
  void patch_thatBreaksARule_changesNothing(String body, String words) {
    Reply before = http.get(QUEUE);
    Reply refused = http.patch(QUEUE, body);
    assertThat(refused.status()).isEqualTo(400);
    assertThat(refused.message()).contains(words);
    assertThat(http.get(QUEUE).header("ETag")).isEqualTo(before.header("ETag"));
    assertThat(http.patch("/v1/queues/none", "{}").status()).isEqualTo(404);
  }

  private GetQueueResponse queue() {
    return server.queues().getQueue(GetQueueRequest.newBuilder().setName("q").build());
  }

  private static UpdateQueueRequest.Builder update(QueueConfig.Builder config, String... paths) {
    return UpdateQueueRequest.newBuilder()
        .setName("q")
        .setConfig(config)
        .setUpdateMask(FieldMask.newBuilder().addAllPaths(List.of(paths)));
  }

  @Test
  void updateQueue_withAMask_changesTheNamedFields_ifTheRevisionIsThePresentOne() {
    GetQueueResponse before = queue();
    QueueConfig.Builder wanted =
        QueueConfig.newBuilder().setMaxDepth(9).setLeaseTimeoutMs(9_000).setMaxAttempts(0);
    UpdateQueueRequest request =
        update(wanted, "max_depth", "max_attempts", "on_failure")
            .setRevision(before.getRevision())
            .build();
    String revision = server.queues().updateQueue(request).getRevision();
    GetQueueResponse after = queue();
    assertThat(after.getRevision()).isEqualTo(revision).isNotEqualTo(before.getRevision());
    assertThat(after.getConfig())
        .isEqualTo(
            before.getConfig().toBuilder()
                .setMaxDepth(9)
                .setMaxAttempts(0)
                .clearOnFailure()
                .build());
    assertRefused(
        () -> server.queues().updateQueue(request),
        Status.Code.FAILED_PRECONDITION,
        "revision=" + revision);
    assertThat(queue()).isEqualTo(after);
  }

  @Test
  void updateQueue_withABadMask_isRefused() {
    GetQueueResponse before = queue();
    QueueConfig.Builder nothing = QueueConfig.newBuilder();
    assertRefused(
        () -> server.queues().updateQueue(update(nothing).build()),
        Status.Code.INVALID_ARGUMENT,
        "update_mask must name at least one field");
    assertRefused(
        () -> server.queues().updateQueue(update(nothing, "max_depth", "depth").build()),
        Status.Code.INVALID_ARGUMENT,
        "depth");
    String[] many = Collections.nCopies(65, "max_depth").toArray(String[]::new);
    assertRefused(
        () -> server.queues().updateQueue(update(nothing, many).build()),
        Status.Code.INVALID_ARGUMENT,
        "paths must have at most 64 entries");
    assertThat(queue()).isEqualTo(before);
  }
}
