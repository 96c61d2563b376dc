package dev.sluice.server;

import dev.sluice.proto.v1.ConsumeRequest;
import dev.sluice.proto.v1.ConsumeResponse;
import dev.sluice.proto.v1.QueuesGrpc;
import io.grpc.Attributes;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.ServerCall;
import io.grpc.Status;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The transport side of a {@code Consume} stream: records what the client would get. */
final class RecordingCall extends ServerCall<ConsumeRequest, ConsumeResponse> {
  final List<ConsumeResponse> received = new ArrayList<>();

  /** Null while the call is open. */
  @Nullable Status end;

  @Override
  public Attributes getAttributes() {
    return Attributes.newBuilder()
        .set(Grpc.TRANSPORT_ATTR_REMOTE_ADDR, new InetSocketAddress(1))
        .build();
  }

  @Override
  public void request(int messages) {}

  @Override
  public void sendHeaders(Metadata headers) {}

  @Override
  public void sendMessage(ConsumeResponse message) {
    received.add(message);
  }

  @Override
  public void close(Status status, Metadata trailers) {
    if (end != null) {
      throw new IllegalStateException("call already closed");
    }
    end = status;
  }

  @Override
  public boolean isCancelled() {
    return false;
  }

  @Override
  public MethodDescriptor<ConsumeRequest, ConsumeResponse> getMethodDescriptor() {
    return QueuesGrpc.getConsumeMethod();
  }
}
