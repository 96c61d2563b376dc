package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.proto.v1.ConsumeRequest;
import dev.sluice.proto.v1.ConsumeResponse;
import dev.sluice.proto.v1.CreateApiKeyResponse;
import dev.sluice.proto.v1.CreateQueueRequest;
import dev.sluice.proto.v1.EnqueueRequest;
import dev.sluice.proto.v1.Message;
import dev.sluice.proto.v1.QueuesGrpc;
import dev.sluice.proto.v1.ReceiveRequest;
import dev.sluice.proto.v1.SetPermissionsRequest;
import io.grpc.Status.Code;
import io.grpc.stub.StreamObserver;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Streams whose key does not stay as it was. */
@Tag("any-jdk")
final class KeyedStreamTest {
  @TempDir Path dir;
  private KeyedServer server;

  @BeforeEach
  void start() throws Exception {
    server = new KeyedServer(dir);
    var queues = server.queues(KeyedServer.BOOTSTRAP);
    var created = queues.createQueue(CreateQueueRequest.newBuilder().setName("q").build());
    assertThat(created).isNotNull();
    var stored =
        queues.enqueue(
            EnqueueRequest.newBuilder()
                .setQueue("q")
                .addMessages(Message.getDefaultInstance())
                .build());
    assertThat(stored.getIdsCount()).isEqualTo(1);
  }

  @AfterEach
  void stop() {
    server.close();
  }

  /** A stream and what came on it. */
  private record Stream(
      StreamObserver<ConsumeRequest> requests, Recorded<ConsumeResponse> answers) {}

  private Stream open(String key) throws Exception {
    Recorded<ConsumeResponse> answers = new Recorded<>();
    StreamObserver<ConsumeRequest> requests =
        QueuesGrpc.newStub(server.with("Bearer " + key)).consume(answers);
    requests.onNext(
        ConsumeRequest.newBuilder()
            .setOpen(ConsumeRequest.Open.newBuilder().setQueue("q").setPrefetch(1))
            .build());
    assertThat(answers.next().hasOpened()).isTrue();
    return new Stream(requests, answers);
  }

  /** A consumer that has the message. */
  private Recorded<ConsumeResponse> consume(String key) throws Exception {
    Stream stream = open(key);
    assertThat(stream.answers().next().getDeliveries().getDeliveriesCount()).isEqualTo(1);
    return stream.answers();
  }

  private void requireMessageIsBack() {
    var received =
        server
            .queues(KeyedServer.BOOTSTRAP)
            .receive(ReceiveRequest.newBuilder().setQueue("q").setWaitMs(10_000).build());
    assertThat(received.getDeliveriesCount()).isEqualTo(1);
  }

  @Test
  void revoked_endsTheStreamAndFreesItsMessages() throws Exception {
    CreateApiKeyResponse key = server.create("consume:q");
    Recorded<ConsumeResponse> stream = consume(key.getSecret());
    server.revoke(key.getId());
    assertThat(stream.end().getCode()).isEqualTo(Code.UNAUTHENTICATED);
    requireMessageIsBack();
  }

  @Test
  void expired_endsTheStream() throws Exception {
    long end = server.nowMs.get() + 1;
    var request = KeyedServer.request("consume:q").setExpiresAtMs(end).build();
    String key = server.admin(KeyedServer.BOOTSTRAP).createApiKey(request).getSecret();
    Recorded<ConsumeResponse> stream = consume(key);
    server.nowMs.set(end);
    assertThat(stream.end().getCode()).isEqualTo(Code.UNAUTHENTICATED);
    requireMessageIsBack();
  }

  @Test
  void changed_endsThatStreamAlone() throws Exception {
    Stream kept = open(server.create("consume:*").getSecret());
    CreateApiKeyResponse key = server.create("consume:q");
    Stream stream = open(key.getSecret());
    var changed =
        server
            .admin(KeyedServer.BOOTSTRAP)
            .setPermissions(SetPermissionsRequest.newBuilder().setId(key.getId()).build());
    assertThat(changed).isNotNull();
    assertThat(stream.answers().end().getCode()).isEqualTo(Code.UNAVAILABLE);
    assertThat(kept.answers().next().getDeliveries().getDeliveriesCount()).isEqualTo(1);
    kept.requests().onCompleted();
    assertThat(kept.answers().end().isOk()).isTrue();
  }
}
