package dev.sluice.server;

import io.grpc.HandlerRegistry;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.Marshaller;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerMethodDefinition;
import io.grpc.Status;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import org.jspecify.annotations.Nullable;

/**
 * Answers calls of methods that do not exist, as gRPC would do by itself, but through an
 * interceptor: they have no key, and gRPC tells nobody of them.
 */
final class UnknownMethods extends HandlerRegistry {
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

  private final ServerInterceptor interceptor;

  UnknownMethods(ServerInterceptor interceptor) {
    this.interceptor = interceptor;
  }

  @Override
  public ServerMethodDefinition<?, ?> lookupMethod(String name, @Nullable String authority) {
    MethodDescriptor<byte[], byte[]> method =
        MethodDescriptor.newBuilder(NOTHING, NOTHING)
            .setType(MethodType.UNKNOWN)
            .setFullMethodName(name)
            .build();
    ServerCallHandler<byte[], byte[]> refusing = UnknownMethods::refuse;
    return ServerMethodDefinition.create(
        method, (call, headers) -> interceptor.interceptCall(call, headers, refusing));
  }

  private static ServerCall.Listener<byte[]> refuse(
      ServerCall<byte[], byte[]> call, Metadata headers) {
    String name = call.getMethodDescriptor().getFullMethodName();
    call.close(Status.UNIMPLEMENTED.withDescription("Method not found: " + name), new Metadata());
    return new ServerCall.Listener<>() {};
  }
}
