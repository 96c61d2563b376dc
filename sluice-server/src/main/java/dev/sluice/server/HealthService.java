package dev.sluice.server;

import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/*
 * Callers without a key ask here, so nothing they send is kept or sent back: a watcher knows
 * whether its service exists and not its name. gRPC's own HealthStatusManager keeps the names it is
 * asked for.
 */

/**
 * Answers {@code grpc.health.v1}: all services of this server have the same state. {@link
 * HealthCalls} bounds the open calls of one connection.
 */
final class HealthService extends HealthGrpc.HealthImplBase {
  /** The name that stands for the whole server. */
  private static final String SERVER = "";

  private final Set<Watcher> watchers = ConcurrentHashMap.newKeySet();
  private volatile Set<String> services = Set.of(SERVER);
  private volatile ServingStatus status = ServingStatus.NOT_SERVING;

  /** Sets the names that are answered for, besides that of the whole server. */
  void know(List<String> names) {
    Set<String> all = new HashSet<>(names);
    all.add(SERVER);
    services = Set.copyOf(all);
  }

  /** Sets the state and sends it to watchers that have not seen it. */
  void tell(boolean serving) {
    status = serving ? ServingStatus.SERVING : ServingStatus.NOT_SERVING;
    watchers.forEach(Watcher::tell);
  }

  @Override
  public void check(HealthCheckRequest request, StreamObserver<HealthCheckResponse> call) {
    if (services.contains(request.getService())) {
      call.onNext(HealthCheckResponse.newBuilder().setStatus(status).build());
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
            services.contains(request.getService()));
    watcher.begin();
  }

  /** A client that is sent every change, as long as it reads. */
  private final class Watcher {
    private final ServerCallStreamObserver<HealthCheckResponse> call;
    private final boolean known;

    // Guarded by this.
    private ServingStatus told = ServingStatus.UNRECOGNIZED;

    Watcher(ServerCallStreamObserver<HealthCheckResponse> call, boolean known) {
      this.call = call;
      this.known = known;
    }

    void begin() {
      call.setOnCancelHandler(() -> watchers.remove(this));
      call.setOnReadyHandler(this::tell);
      watchers.add(this);
      tell();
    }

    synchronized void tell() {
      ServingStatus now = known ? status : ServingStatus.SERVICE_UNKNOWN;
      if (told != now
          && !call.isCancelled()
          && (call.isReady() || told == ServingStatus.UNRECOGNIZED)) {
        told = now;
        Calls.unlessGone(
            call, () -> call.onNext(HealthCheckResponse.newBuilder().setStatus(now).build()));
      }
    }
  }
}
