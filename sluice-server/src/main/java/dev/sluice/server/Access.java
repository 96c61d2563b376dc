package dev.sluice.server;

import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** Finds out who calls, for gRPC. */
final class Access implements ServerInterceptor {
  private static final Context.Key<Caller> CALLER = Context.key("caller");
  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  private final Authenticator authenticator;
  private final Share openCalls;
  private final Set<KeyedStream<?, ?>> streams = ConcurrentHashMap.newKeySet();

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

  /** {@code openCalls} is for streams. */
  Access(Authenticator authenticator, Share openCalls) {
    this.authenticator = authenticator;
    this.openCalls = openCalls;
  }

  /** Who makes the call at hand. */
  static Caller caller() {
    return CALLER.get();
  }

  /** Returns what tells the key of the call at hand from others; null if the server asks for none. */
  static @Nullable Object keyOf(Metadata headers) {
    return keyOf(caller(), headers.get(AUTHORIZATION));
  }

  /** As above, of a caller who gave {@code authorization}. */
  static @Nullable Object keyOf(Caller caller, @Nullable String authorization) {
    return caller == Caller.ANYBODY ? null : KeyAuthenticator.tokenOf(authorization).orElse("");
  }

  /** Ends streams whose key has been revoked or changed, or has expired. */
  void checkStreams() {
    streams.forEach(stream -> stream.check(authenticator));
  }

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
    String authorization = headers.get(AUTHORIZATION);
    Caller caller;
    try {
      caller = authenticator.authenticate(authorization);
    } catch (RuntimeException refused) {
      ApiException why = ApiException.of(refused);
      call.close(why.toStatus().getStatus(), new Metadata());
      return new ServerCall.Listener<>() {};
    }
    Context context = Context.current().withValue(CALLER, caller);
    if (call.getMethodDescriptor().getType() == MethodType.UNARY) {
      return Contexts.interceptCall(context, call, headers, next);
    }
    Share.Hold place;
    try {
      place = openCalls.take(caller);
    } catch (ApiException full) {
      call.close(full.toStatus().getStatus(), new Metadata());
      return new ServerCall.Listener<>() {};
    }
    KeyedStream<Q, A> stream = new KeyedStream<>(call, authorization, caller);
    ServerCall.Listener<Q> service = Contexts.interceptCall(context, stream, headers, next);
    streams.add(stream);
    return stream.listener(
        service,
        () -> {
          streams.remove(stream);
          place.close();
        });
  }
}
