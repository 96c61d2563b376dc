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

  Access(KeyWatches keys) {
    this.keys = keys;
  }

  /** Who makes the call at hand. */
  static Caller caller() {
    return key().caller();
  }

  /** The key of the call at hand. */
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
    KeyedStream<Q, A> stream = new KeyedStream<>(call);
    ServerCall.Listener<Q> service = Contexts.interceptCall(context, stream, headers, next);
    return stream.listener(service, key);
  }

  private static void close(ServerCall<?, ?> call, RuntimeException refused) {
    try {
      call.close(ApiException.of(refused).toStatus().getStatus(), new Metadata());
    } catch (IllegalStateException over) {
      LOG.debug("a call is over already", over);
    }
  }

  /** A request may come long after its headers: its key must still be what it was then. */
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
