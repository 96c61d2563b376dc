package dev.sluice.server;

import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Finds out who calls, for gRPC. */
final class Access implements ServerInterceptor {
  private static final Context.Key<KeyInUse> KEY = Context.key("key");
  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);
  private static final Logger LOG = LoggerFactory.getLogger(Access.class);

  private final KeyWatches keys;
  private final Share openCalls;

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

  /** {@code openCalls} limits streams. */
  Access(KeyWatches keys, Share openCalls) {
    this.keys = keys;
    this.openCalls = openCalls;
  }

  /** Returns the caller of the current gRPC call. */
  static Caller caller() {
    return key().caller();
  }

  /** Returns the key of the current gRPC call. */
  static KeyInUse key() {
    return KEY.get();
  }

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
    KeyInUse key;
    try {
      key = keys.authenticate(headers.get(AUTHORIZATION));
    } catch (RuntimeException refused) {
      close(call, refused);
      return new ServerCall.Listener<>() {};
    }
    Context context = Context.current().withValue(KEY, key);
    if (call.getMethodDescriptor().getType() == MethodType.UNARY) {
      return checkedWhenComplete(call, key, Contexts.interceptCall(context, call, headers, next));
    }
    Share.Hold place;
    try {
      place = openCalls.take(key.caller());
    } catch (ApiException full) {
      close(call, full);
      return new ServerCall.Listener<>() {};
    }
    InboundCall<Q, A> stream = new InboundCall<>(call);
    try {
      ServerCall.Listener<Q> service = Contexts.interceptCall(context, stream, headers, next);
      KeyWatch watch = key.watch(why -> stream.end(why.toStatus().getStatus()));
      return stream.listener(service, new WhileKeyLasts(watch, place));
    } catch (RuntimeException | Error failure) {
      place.close();
      throw failure;
    }
  }

  /** Lets messages of a stream pass until its key is revoked, is changed or expires. */
  private record WhileKeyLasts(KeyWatch key, Share.Hold place) implements InboundCall.Observer {
    @Override
    public boolean isValid() {
      return key.isValid();
    }

    @Override
    public void over() {
      key.close();
      place.close();
    }
  }

  private static void close(ServerCall<?, ?> call, RuntimeException refused) {
    try {
      call.close(ApiException.of(refused).toStatus().getStatus(), new Metadata());
    } catch (IllegalStateException over) {
      LOG.debug("a call is over already", over);
    }
  }

  /** Checks the key again when the request is complete, which may be long after its headers. */
  private static <Q> ServerCall.Listener<Q> checkedWhenComplete(
      ServerCall<Q, ?> call, KeyInUse key, ServerCall.Listener<Q> service) {
    return new SimpleForwardingServerCallListener<>(service) {
      @Override
      public void onHalfClose() {
        try {
          key.requireSame();
        } catch (RuntimeException refused) {
          close(call, refused);
          return;
        }
        super.onHalfClose();
      }
    };
  }
}
