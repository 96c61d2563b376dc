package dev.sluice.server.grpc;

import dev.sluice.server.auth.Caller;
import dev.sluice.server.auth.ConcurrencyQuota;
import dev.sluice.server.auth.Credential;
import dev.sluice.server.auth.RevocationWatcher;
import dev.sluice.server.auth.WatchedCall;
import dev.sluice.server.support.ApiException;
import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Authenticates gRPC calls. */
public final class AuthenticationInterceptor implements ServerInterceptor {
  private static final Context.Key<Credential> KEY = Context.key("key");
  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);
  private static final Logger LOG = LoggerFactory.getLogger(AuthenticationInterceptor.class);

  private final RevocationWatcher keys;
  private final ConcurrencyQuota openCalls;

  /** {@code openCalls} limits streams. */
  public AuthenticationInterceptor(RevocationWatcher keys, ConcurrencyQuota openCalls) {
    this.keys = keys;
    this.openCalls = openCalls;
  }

  /** Returns the caller of the current gRPC call. */
  public static Caller caller() {
    return key().caller();
  }

  /** Returns the key of the current gRPC call. */
  public static Credential key() {
    return KEY.get();
  }

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
    Credential key;
    try {
      key = keys.authenticate(headers.get(AUTHORIZATION), RequestAdmission.connectionOf(call));
    } catch (RuntimeException refused) {
      close(call, refused);
      return new ServerCall.Listener<>() {};
    }
    Context context = Context.current().withValue(KEY, key);
    if (call.getMethodDescriptor().getType() == MethodType.UNARY) {
      return checkedWhenComplete(call, key, Contexts.interceptCall(context, call, headers, next));
    }
    ConcurrencyQuota.Hold place;
    try {
      place = openCalls.take(key.caller());
    } catch (ApiException full) {
      close(call, full);
      return new ServerCall.Listener<>() {};
    }
    EndableCall<Q, A> stream = new EndableCall<>(call);
    try {
      ServerCall.Listener<Q> service = Contexts.interceptCall(context, stream, headers, next);
      WatchedCall watch = key.watch(why -> stream.end(why.toStatus().getStatus()));
      return stream.listener(service, new AuthenticationInterceptor.RevocableCall(watch, place));
    } catch (RuntimeException | Error failure) {
      place.close();
      throw failure;
    }
  }

  /** Lets messages of a stream pass until its key is revoked, is changed or expires. */
  private record RevocableCall(WatchedCall key, ConcurrencyQuota.Hold place)
      implements EndableCall.CallObserver {
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
      LOG.debug("the call has already ended", over);
    }
  }

  /** Checks the key again when the request is complete, which may be long after its headers. */
  private static <Q> ServerCall.Listener<Q> checkedWhenComplete(
      ServerCall<Q, ?> call, Credential key, ServerCall.Listener<Q> service) {
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
