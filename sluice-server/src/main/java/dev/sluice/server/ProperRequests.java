package dev.sluice.server;

import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.Marshaller;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerMethodDefinition;
import io.grpc.ServerServiceDefinition;
import io.grpc.ServiceDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/*
 * gRPC parses a request before anybody may look at it, and what the parser throws ends the call
 * with UNKNOWN or INTERNAL and a stack trace in the log. Here the parser returns null instead, and
 * the call is refused when that comes along.
 */

/** Refuses requests that are no protobuf of their type. */
final class ProperRequests {
  private static final Logger LOG = LoggerFactory.getLogger(ProperRequests.class);

  private ProperRequests() {}

  /** The same service, for requests that can be parsed. */
  static ServerServiceDefinition only(ServerServiceDefinition service) {
    List<ServerMethodDefinition<?, ?>> methods = new ArrayList<>();
    service.getMethods().forEach(method -> methods.add(only(method)));
    ServiceDescriptor described = service.getServiceDescriptor();
    ServiceDescriptor.Builder descriptor =
        ServiceDescriptor.newBuilder(described.getName())
            .setSchemaDescriptor(described.getSchemaDescriptor());
    methods.forEach(method -> descriptor.addMethod(method.getMethodDescriptor()));
    ServerServiceDefinition.Builder builder = ServerServiceDefinition.builder(descriptor.build());
    methods.forEach(builder::addMethod);
    return builder.build();
  }

  private static <Q, A> ServerMethodDefinition<Q, A> only(ServerMethodDefinition<Q, A> method) {
    MethodDescriptor<Q, A> described = method.getMethodDescriptor();
    return ServerMethodDefinition.create(
        described.toBuilder()
            .setRequestMarshaller(new Lenient<>(described.getRequestMarshaller()))
            .build(),
        guarded(method.getServerCallHandler()));
  }

  private static <Q, A> ServerCallHandler<Q, A> guarded(ServerCallHandler<Q, A> service) {
    return (call, headers) -> new Guard<>(service.startCall(call, headers), call);
  }

  /** Returns null for what is none. */
  private static final class Lenient<Q> implements Marshaller<Q> {
    private final Marshaller<Q> strict;

    Lenient(Marshaller<Q> strict) {
      this.strict = strict;
    }

    @Override
    public InputStream stream(Q value) {
      return strict.stream(value);
    }

    @Override
    @SuppressWarnings("NullAway") // the guard is there for it
    public @Nullable Q parse(InputStream stream) {
      try {
        return strict.parse(stream);
      } catch (StatusRuntimeException malformed) {
        LOG.debug("a request cannot be parsed", malformed);
        return null;
      }
    }
  }

  /** Keeps it from the service, for which the call is cancelled. */
  private static final class Guard<Q> extends SimpleForwardingServerCallListener<Q> {
    private final ServerCall<Q, ?> call;
    private boolean refused;

    Guard(ServerCall.Listener<Q> service, ServerCall<Q, ?> call) {
      super(service);
      this.call = call;
    }

    @Override
    public void onMessage(@Nullable Q message) {
      if (refused) {
        return;
      }
      if (message != null) {
        super.onMessage(message);
        return;
      }
      refused = true;
      super.onCancel();
      String method = call.getMethodDescriptor().getFullMethodName();
      call.close(
          Status.INVALID_ARGUMENT.withDescription(
              "the request must be a protobuf message as %s takes it".formatted(method)),
          new Metadata());
    }

    @Override
    public void onHalfClose() {
      if (!refused) {
        super.onHalfClose();
      }
    }

    @Override
    public void onReady() {
      if (!refused) {
        super.onReady();
      }
    }

    @Override
    public void onComplete() {
      if (!refused) {
        super.onComplete();
      }
    }

    @Override
    public void onCancel() {
      if (!refused) {
        super.onCancel();
      }
    }
  }
}
