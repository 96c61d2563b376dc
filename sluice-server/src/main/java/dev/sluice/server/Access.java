package dev.sluice.server;

import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import org.jspecify.annotations.Nullable;

/** Finds out who calls, for gRPC. */
final class Access implements ServerInterceptor {
  private static final Context.Key<Caller> CALLER = Context.key("caller");
  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  private final Authenticator authenticator;

  /** Knows keys. */
  interface Authenticator {
    /**
     * Who calls.
     *
     * @param authorization the value of that header, null without one
     * @throws ApiException if a key is needed and this is none
     */
    Caller authenticate(@Nullable String authorization);
  }

  Access(Authenticator authenticator) {
    this.authenticator = authenticator;
  }

  /** Who makes the call at hand. */
  static Caller caller() {
    return CALLER.get();
  }

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
    Caller caller;
    try {
      caller = authenticator.authenticate(headers.get(AUTHORIZATION));
    } catch (RuntimeException refused) {
      ApiException why = ApiException.of(refused);
      call.close(why.toStatus().getStatus(), new Metadata());
      return new ServerCall.Listener<>() {};
    }
    return Contexts.interceptCall(Context.current().withValue(CALLER, caller), call, headers, next);
  }
}
