package dev.sluice.server.grpc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.proto.v1.EnqueueRequest;
import dev.sluice.proto.v1.EnqueueResponse;
import dev.sluice.proto.v1.QueuesGrpc;
import dev.sluice.server.auth.ApiKey;
import dev.sluice.server.auth.Caller;
import dev.sluice.server.auth.ConcurrencyQuota;
import dev.sluice.server.auth.RevocationWatcher;
import dev.sluice.server.transport.MemoryBudgets;
import dev.sluice.server.transport.MinimumTransferRate;
import dev.sluice.server.transport.RequestMemoryBudget;
import dev.sluice.server.transport.ResponseMemoryBudget;
import io.grpc.Attributes;
import io.grpc.Context;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.ServerCall;
import io.grpc.ServerStreamTracer;
import io.grpc.Status;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.InstantSource;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Unary calls that have to make room for others. */
final class RequestAdmissionTest {
  private static final int MAX = 100_000;
  private static final int LARGE = 30_000;

  private final RequestMemoryBudget budget = new RequestMemoryBudget(MAX);
  private final RequestAdmission admission =
      new RequestAdmission(
          new MemoryBudgets(
              budget,
              new RequestMemoryBudget(MAX),
              new RequestMemoryBudget(MAX),
              new ResponseMemoryBudget(MAX, System::nanoTime)),
          MinimumTransferRate.DEFAULT,
          new PendingCallLimiter(10));
  private boolean executed;
  private @Nullable Status end;

  /** The transport side of the call. */
  private final class Wire extends ServerCall<EnqueueRequest, EnqueueResponse> {
    @Override
    public void request(int messages) {}

    @Override
    public void sendHeaders(Metadata headers) {}

    @Override
    public void sendMessage(EnqueueResponse message) {}

    @Override
    public void close(Status status, Metadata trailers) {
      end = status;
    }

    @Override
    public boolean isCancelled() {
      return false;
    }

    @Override
    public Attributes getAttributes() {
      return Attributes.newBuilder()
          .set(
              Grpc.TRANSPORT_ATTR_REMOTE_ADDR,
              new InetSocketAddress(InetAddress.getLoopbackAddress(), 1))
          .build();
    }

    @Override
    public MethodDescriptor<EnqueueRequest, EnqueueResponse> getMethodDescriptor() {
      return QueuesGrpc.getEnqueueMethod();
    }
  }

  /** Begins a call all of whose bytes have arrived. */
  private ServerCall.Listener<EnqueueRequest> begin() throws Exception {
    Caller caller = new Caller("tenant", false, List.of(), ApiKey.NEVER);
    AuthenticationInterceptor access =
        new AuthenticationInterceptor(
            new RevocationWatcher(authorization -> caller, InstantSource.system()),
            new ConcurrencyQuota("streams", 1, 1));
    ServerStreamTracer tracer = admission.newServerStreamTracer("Enqueue", new Metadata());
    Context context = tracer.filterContext(Context.ROOT);
    Callable<ServerCall.Listener<EnqueueRequest>> call =
        () ->
            access.interceptCall(
                new Wire(),
                new Metadata(),
                (begun, headers) ->
                    admission.ofCallers().interceptCall(begun, headers, (same, more) -> service()));
    ServerCall.Listener<EnqueueRequest> client = context.call(call);
    tracer.inboundMessage(0);
    tracer.inboundWireSize(LARGE);
    tracer.inboundMessageRead(0, LARGE, LARGE);
    return client;
  }

  private ServerCall.Listener<EnqueueRequest> service() {
    return new ServerCall.Listener<>() {
      @Override
      public void onHalfClose() {
        executed = true;
      }
    };
  }

  @Test
  void completeCall_isExecuted_andMakesNoRoom() throws Exception {
    begin().onHalfClose();
    assertThat(executed).isTrue();
    assertThat(budget.part("other", "other").take(MAX - LARGE)).isFalse();
    assertThat(end).isNull();
  }

  /** The thread that makes room ends evicted requests one after the other. */
  @Test
  void callThatIsCompleteWhenItsEvictionIsDecided_isRefused() throws Exception {
    ServerCall.Listener<EnqueueRequest> client = begin();
    assertThat(budget.part("complete", "larger").take(LARGE + 10_000)).isTrue();
    RequestMemoryBudget.Reservation first = budget.part("arriving", "larger");
    first.evictBy(client::onHalfClose);
    assertThat(first.take(1_000)).isTrue();
    assertThat(budget.part("small", "small").take(LARGE)).isTrue();
    assertThat(executed).isFalse();
    assertThat(end).isEqualTo(CallMemory.NO_ROOM);
  }
}
