package dev.sluice.server.grpc;

import io.grpc.HandlerRegistry;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.Marshaller;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.ServerCall;
import io.grpc.ServerMethodDefinition;
import io.grpc.Status;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import org.jspecify.annotations.Nullable;

/**
 * Answers calls of methods that do not exist. gRPC would do so by itself, but would repeat the name
 * in the answer, and callers need no key to send long ones.
 */
final class UnknownMethodRegistry extends HandlerRegistry {
  private static final Marshaller<byte[]> NOTHING =
      new Marshaller<>() {
        @Override
        public InputStream stream(byte[] value) {
          return new ByteArrayInputStream(value);
        }

        @Override
        public byte[] parse(InputStream stream) {
          return new byte[0];
        }
      };

  private static final Status NO_SUCH_METHOD =
      Status.UNIMPLEMENTED.withDescription("the server has no such method");

  @Override
  public ServerMethodDefinition<?, ?> lookupMethod(String name, @Nullable String authority) {
    MethodDescriptor<byte[], byte[]> method =
        MethodDescriptor.newBuilder(NOTHING, NOTHING)
            .setType(MethodType.UNKNOWN)
            .setFullMethodName(name)
            .build();
    return ServerMethodDefinition.create(method, UnknownMethodRegistry::refuse);
  }

  private static ServerCall.Listener<byte[]> refuse(
      ServerCall<byte[], byte[]> call, Metadata headers) {
    call.close(NO_SUCH_METHOD, new Metadata());
    return new ServerCall.Listener<>() {};
  }
}
