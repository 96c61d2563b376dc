package dev.sluice.server.grpc;

import com.google.protobuf.MessageLite;
import dev.sluice.server.transport.ResponseMemoryBudget;
import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.ForwardingServerCall.SimpleForwardingServerCall;
import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import java.net.SocketAddress;
import java.util.function.Consumer;

/*
 * gRPC buffers an answer for as long as its client does not read, and says so in two ways: a call
 * is over only when its last byte has been written to the socket, and a stream is ready again when
 * all but 32 KiB have been. A stream that is ready holds nothing here; what it may have is part of
 * what an open stream counts for (see Quotas).
 */

/**
 * Charges the answers of gRPC calls to the memory for answers, from the time they are handed to the
 * transport until they have left the process. Runs after {@link AuthenticationInterceptor}.
 */
public final class ResponseMemoryInterceptor implements ServerInterceptor {
  private static final Context.Key<ResponseMemoryBudget.Reservation> PART =
      Context.key("response memory");

  private final ResponseMemoryBudget budget;
  private final Consumer<SocketAddress> cut;

  /** {@code cut} closes the connection of the client at an address. */
  ResponseMemoryInterceptor(ResponseMemoryBudget budget, Consumer<SocketAddress> cut) {
    this.budget = budget;
    this.cut = cut;
  }

  /** Returns the memory of the current call's answer; it is given back when the call is over. */
  public static ResponseMemoryBudget.Reservation part() {
    return PART.get();
  }

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
    SocketAddress client = RequestAdmission.connectionOf(call);
    ResponseMemoryBudget.Reservation part = budget.part(AuthenticationInterceptor.key().owner());
    Outbound<Q, A> outbound = new Outbound<>(call, part, () -> cut.accept(client));
    return outbound.listener(
        Contexts.interceptCall(Context.current().withValue(PART, part), outbound, headers, next));
  }

  /** A call whose responses are charged to the memory budget. */
  private static final class Outbound<Q, A> extends SimpleForwardingServerCall<Q, A> {
    private final ResponseMemoryBudget.Reservation part;
    private final Runnable cut;
    private final boolean single;

    // Guarded by this, so that a stream is not taken for ready while a message is being written.
    private long written;

    Outbound(ServerCall<Q, A> call, ResponseMemoryBudget.Reservation part, Runnable cut) {
      super(call);
      this.part = part;
      this.cut = cut;
      this.single = call.getMethodDescriptor().getType().serverSendsOneMessage();
    }

    @Override
    public void sendMessage(A message) {
      int bytes = message instanceof MessageLite proto ? proto.getSerializedSize() : 0;
      if (single) {
        part.hold(bytes, cut);
        super.sendMessage(message);
      } else {
        sendOnStream(message, bytes);
      }
    }

    private synchronized void sendOnStream(A message, int bytes) {
      super.sendMessage(message);
      written += bytes;
      if (isReady()) {
        read();
      } else {
        part.hold(written, cut);
      }
    }

    private synchronized void read() {
      if (!single && isReady()) {
        written = 0;
        part.read();
      }
    }

    ServerCall.Listener<Q> listener(ServerCall.Listener<Q> service) {
      return new SimpleForwardingServerCallListener<>(service) {
        @Override
        public void onReady() {
          read();
          super.onReady();
        }

        @Override
        public void onCancel() {
          part.close();
          super.onCancel();
        }

        @Override
        public void onComplete() {
          part.close();
          super.onComplete();
        }
      };
    }
  }
}
