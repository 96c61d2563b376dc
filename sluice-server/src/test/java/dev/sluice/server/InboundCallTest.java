package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.proto.v1.ConsumeRequest;
import dev.sluice.proto.v1.ConsumeResponse;
import dev.sluice.server.auth.Caller;
import dev.sluice.server.auth.ConcurrencyQuota;
import dev.sluice.server.auth.RevocationWatcher;
import dev.sluice.server.grpc.AuthenticationInterceptor;
import dev.sluice.server.grpc.EndableCall;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.ErrorKind;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Calls that the server ends: by a refusal, or because their key expires between two checks. */
@Tag("any-jdk")
final class InboundCallTest {
  private static final long EXPIRY_MS = 1_000;

  private final Caller caller = new Caller("c", false, List.of(), EXPIRY_MS);
  private final RevocationWatcher keys =
      new RevocationWatcher(
          authorization -> authenticated(), () -> Instant.ofEpochMilli(this.nowMs));
  private final ConcurrencyQuota open = new ConcurrencyQuota("streams", 10, 1);
  private final RecordingCall wire = new RecordingCall();
  private final Service service = new Service();
  private long nowMs;

  private Caller authenticated() {
    if (nowMs >= EXPIRY_MS) {
      throw new ApiException(ErrorKind.UNAUTHENTICATED, "the key has expired");
    }
    return caller;
  }

  /** A service that records what it gets. */
  private static final class Service extends ServerCall.Listener<ConsumeRequest> {
    private final List<ConsumeRequest> received = new ArrayList<>();
    private boolean canceled;
    private boolean complete;
    private @Nullable ServerCall<ConsumeRequest, ConsumeResponse> call;

    ServerCall.Listener<ConsumeRequest> begin(
        ServerCall<ConsumeRequest, ConsumeResponse> begun, Metadata headers) {
      call = begun;
      return this;
    }

    void send() {
      Objects.requireNonNull(call).sendMessage(ConsumeResponse.getDefaultInstance());
    }

    boolean seesClient() {
      return !Objects.requireNonNull(call).isCancelled();
    }

    @Override
    public void onMessage(ConsumeRequest message) {
      received.add(message);
    }

    @Override
    public void onHalfClose() {
      complete = true;
    }

    @Override
    public void onCancel() {
      canceled = true;
    }
  }

  private ServerCall.Listener<ConsumeRequest> begin() {
    ServerCall.Listener<ConsumeRequest> client =
        new AuthenticationInterceptor(keys, open)
            .interceptCall(wire, new Metadata(), service::begin);
    client.onMessage(ConsumeRequest.getDefaultInstance());
    service.send();
    assertThat(service.received).hasSize(1);
    assertThat(wire.received).hasSize(1);
    return client;
  }

  private void assertEnded(ServerCall.Listener<ConsumeRequest> client) {
    assertThat(Objects.requireNonNull(wire.end).getCode()).isEqualTo(Status.Code.UNAUTHENTICATED);
    assertThat(service.seesClient()).isFalse();
    client.onComplete();
    assertThat(service.canceled).isTrue();
    assertThat(open.held()).isZero();
    assertThat(keys.count()).isZero();
  }

  @Test
  void responseMessage_afterTheKeyExpired_isNotSent() {
    ServerCall.Listener<ConsumeRequest> client = begin();
    nowMs = EXPIRY_MS;
    service.send();
    assertThat(wire.received).hasSize(1);
    assertEnded(client);
  }

  @Test
  void requestMessage_afterTheKeyExpired_doesNotReachTheService() {
    ServerCall.Listener<ConsumeRequest> client = begin();
    nowMs = EXPIRY_MS;
    client.onMessage(ConsumeRequest.getDefaultInstance());
    assertThat(service.received).hasSize(1);
    assertEnded(client);
  }

  /** The last byte arrives after the refusal, but before the client learns of it. */
  @Test
  void refusedRequest_isNotCompleted() {
    EndableCall<ConsumeRequest, ConsumeResponse> call = new EndableCall<>(wire);
    ServerCall.Listener<ConsumeRequest> client = listen(call);
    call.refuse(Status.RESOURCE_EXHAUSTED);
    client.onHalfClose();
    assertThat(service.complete).isFalse();
    assertThat(wire.end).isEqualTo(Status.RESOURCE_EXHAUSTED);
  }

  /** As a call whose key has ended is; an eviction comes on the thread of another call. */
  @Test
  void callThatIsClosedBelow_isRefusedWithoutFailure() {
    EndableCall<ConsumeRequest, ConsumeResponse> call = new EndableCall<>(wire);
    listen(call);
    wire.close(Status.UNAUTHENTICATED, new Metadata());
    call.refuse(Status.RESOURCE_EXHAUSTED);
    assertThat(wire.end).isEqualTo(Status.UNAUTHENTICATED);
  }

  @Test
  void completeRequest_isNotRefused() {
    EndableCall<ConsumeRequest, ConsumeResponse> call = new EndableCall<>(wire);
    listen(call).onHalfClose();
    call.refuse(Status.RESOURCE_EXHAUSTED);
    assertThat(service.complete).isTrue();
    assertThat(wire.end).isNull();
    call.end(Status.UNAVAILABLE);
    assertThat(wire.end).isEqualTo(Status.UNAVAILABLE);
  }

  private ServerCall.Listener<ConsumeRequest> listen(
      EndableCall<ConsumeRequest, ConsumeResponse> call) {
    ServerCall.Listener<ConsumeRequest> client =
        call.listener(service.begin(call, new Metadata()), new EndableCall.CallObserver() {});
    client.onMessage(ConsumeRequest.getDefaultInstance());
    return client;
  }
}
