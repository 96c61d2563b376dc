package dev.sluice.server.grpc;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedInputStream;
import com.google.protobuf.Message;
import com.google.protobuf.UnsafeByteOperations;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.transport.RequestSizeLimits;
import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.Marshaller;
import io.grpc.MethodDescriptor.PrototypeMarshaller;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerMethodDefinition;
import io.grpc.ServerServiceDefinition;
import io.grpc.ServiceDescriptor;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/*
 * gRPC parses a request before any interceptor sees it, and an exception of the parser ends the call
 * with UNKNOWN or INTERNAL and a stack trace in the log. Here the parser returns the refusal in the
 * place of the request, which type erasure allows as long as only the guard looks at it, and the
 * guard refuses the call when it receives that.
 */

/** Refuses requests that are no protobuf of their type, or have too many entries. */
final class StrictRequestMarshaller {
  private static final Logger LOG = LoggerFactory.getLogger(StrictRequestMarshaller.class);

  private StrictRequestMarshaller() {}

  /** Returns the service with strict parsing of requests. */
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
        described.toBuilder().setRequestMarshaller(new Checked<>(described)).build(),
        guarded(method.getServerCallHandler()));
  }

  private static <Q, A> ServerCallHandler<Q, A> guarded(ServerCallHandler<Q, A> service) {
    return (call, headers) -> new Guard<>(service.startCall(call, headers), call);
  }

  /** Returns an {@link ApiException} in the place of a request that is not valid. */
  private static final class Checked<Q> implements Marshaller<Q> {
    private final MethodDescriptor<Q, ?> method;
    private final Message prototype;
    private final ProtobufSizeChecker bounds;

    Checked(MethodDescriptor<Q, ?> method) {
      this.method = method;
      var marshaller = (PrototypeMarshaller<?>) method.getRequestMarshaller();
      this.prototype = (Message) Objects.requireNonNull(marshaller.getMessagePrototype());
      this.bounds = ProtobufSizeChecker.of(prototype.getDescriptorForType());
    }

    @Override
    public InputStream stream(Q value) {
      return method.getRequestMarshaller().stream(value);
    }

    @Override
    @SuppressWarnings("unchecked") // see above
    public Q parse(InputStream stream) {
      try {
        RequestAdmission.requireWanted();
        ByteString request = UnsafeByteOperations.unsafeWrap(bytes(stream));
        int parts = bounds.check(request.newCodedInput());
        if (parts >= RequestSizeLimits.PARTS_AT_ONCE) {
          RequestAdmission.parsing((long) parts * RequestSizeLimits.PART_BYTES);
        }
        CodedInputStream input = request.newCodedInput();
        // Strings and bytes may alias the array: no other code holds it.
        input.enableAliasing(true);
        Message parsed = prototype.getParserForType().parseFrom(input);
        input.checkLastTagWas(0);
        return (Q) parsed;
      } catch (IOException malformed) {
        LOG.debug("a request cannot be parsed", malformed);
        return (Q)
            ApiException.invalid(
                "the request must be a protobuf message as %s takes it"
                    .formatted(method.getFullMethodName()));
      } catch (ApiException refused) {
        return (Q) refused;
      }
    }

    private static byte[] bytes(InputStream stream) throws IOException {
      byte[] known = stream.readNBytes(stream.available());
      byte[] rest = stream.readAllBytes();
      return rest.length == 0
          ? known
          : ByteString.copyFrom(known).concat(ByteString.copyFrom(rest)).toByteArray();
    }
  }

  /** Keeps a refusal from the service, for which the call is canceled. */
  private static final class Guard<Q> extends SimpleForwardingServerCallListener<Q> {
    private final ServerCall<Q, ?> call;
    private boolean refused;

    Guard(ServerCall.Listener<Q> service, ServerCall<Q, ?> call) {
      super(service);
      this.call = call;
    }

    @Override
    public void onMessage(Q message) {
      if (refused) {
        return;
      }
      if ((Object) message instanceof ApiException why) {
        refused = true;
        super.onCancel();
        call.close(why.toStatus().getStatus(), new Metadata());
      } else {
        super.onMessage(message);
      }
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
