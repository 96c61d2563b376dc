package dev.sluice.server.grpc;

import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/*
 * Callers without a key ask here, so nothing they send is kept or sent back: a watcher has the
 * server's own copy of the name of its service. gRPC's own HealthStatusManager keeps the names it is
 * asked for.
 */

/**
 * Answers {@code grpc.health.v1}: all services of this server have the same state, except those
 * that cannot do any of their work. {@link HealthCallLimiter} bounds the open calls of one
 * connection.
 */
final class HealthService extends HealthGrpc.HealthImplBase {
  /** The name that stands for the whole server. */
  private static final String SERVER = "";

  private final Set<Watcher> watchers = ConcurrentHashMap.newKeySet();
  private volatile Map<String, String> services = Map.of(SERVER, SERVER);
  private volatile State state = new State(false, Set.of());

  /** The state of the server, and the services that are down while it serves. */
  private record State(boolean serving, Set<String> without) {
    ServingStatus of(String service) {
      return serving && !without.contains(service)
          ? ServingStatus.SERVING
          : ServingStatus.NOT_SERVING;
    }
  }

  /** Sets the names that are answered for, besides that of the whole server. */
  void know(List<String> names) {
    Map<String, String> all = new HashMap<>();
    names.forEach(name -> all.put(name, name));
    all.put(SERVER, SERVER);
    services = Collections.unmodifiableMap(all);
  }

  /** Sets the state and sends it to watchers that have not seen it. */
  void tell(boolean serving, Set<String> without) {
    state = new State(serving, without);
    watchers.forEach(Watcher::tell);
  }

  @Override
  public void check(HealthCheckRequest request, StreamObserver<HealthCheckResponse> call) {
    String service = services.get(request.getService());
    if (service != null) {
      call.onNext(HealthCheckResponse.newBuilder().setStatus(state.of(service)).build());
      call.onCompleted();
    } else {
      call.onError(unknown());
    }
  }

  private static StatusException unknown() {
    return Status.NOT_FOUND.withDescription("the server has no such service").asException();
  }

  @Override
  public void watch(HealthCheckRequest request, StreamObserver<HealthCheckResponse> call) {
    Watcher watcher =
        new Watcher(
            (ServerCallStreamObserver<HealthCheckResponse>) call,
            services.get(request.getService()));
    watcher.begin();
  }

  /** A client that is sent every change, as long as it reads. */
  private final class Watcher {
    private final ServerCallStreamObserver<HealthCheckResponse> call;
    private final @Nullable String service;

    // Guarded by this.
    private ServingStatus told = ServingStatus.UNRECOGNIZED;

    /** {@code service} is null if no service has the requested name. */
    Watcher(ServerCallStreamObserver<HealthCheckResponse> call, @Nullable String service) {
      this.call = call;
      this.service = service;
    }

    void begin() {
      call.setOnCancelHandler(() -> watchers.remove(this));
      call.setOnReadyHandler(this::tell);
      watchers.add(this);
      tell();
    }

    synchronized void tell() {
      ServingStatus now = service == null ? ServingStatus.SERVICE_UNKNOWN : state.of(service);
      if (told != now
          && !call.isCancelled()
          && (call.isReady() || told == ServingStatus.UNRECOGNIZED)) {
        told = now;
        UnaryCalls.unlessGone(
            call, () -> call.onNext(HealthCheckResponse.newBuilder().setStatus(now).build()));
      }
    }
  }
}
