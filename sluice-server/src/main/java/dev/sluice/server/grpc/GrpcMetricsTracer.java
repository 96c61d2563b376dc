package dev.sluice.server.grpc;

import dev.sluice.server.telemetry.RequestMetrics;
import dev.sluice.server.telemetry.RequestMetrics.Method;
import dev.sluice.server.telemetry.RequestMetrics.Protocol;
import io.grpc.Context;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.ServerServiceDefinition;
import io.grpc.ServerStreamTracer;
import io.grpc.Status;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;

/** Counts the calls of gRPC at their end, those that are refused and those for nothing too. */
final class GrpcMetricsTracer extends ServerStreamTracer.Factory {
  private final RequestMetrics meters;
  private final Map<String, Counted> methods = new ConcurrentHashMap<>();
  private final Counted other;

  /** A method, and whether its calls are streams without an end of their own. */
  private record Counted(Method method, boolean streams) {}

  GrpcMetricsTracer(RequestMetrics meters) {
    this.meters = meters;
    this.other = new Counted(meters.method(Protocol.GRPC, RequestMetrics.OTHER), false);
  }

  /** Calls of other services are counted together. */
  void know(List<ServerServiceDefinition> services) {
    for (ServerServiceDefinition service : services) {
      service
          .getMethods()
          .forEach(
              each -> {
                String name = each.getMethodDescriptor().getFullMethodName();
                methods.put(
                    name,
                    new Counted(
                        meters.method(Protocol.GRPC, name),
                        each.getMethodDescriptor().getType() != MethodType.UNARY));
              });
    }
  }

  @Override
  public ServerStreamTracer newServerStreamTracer(String fullMethodName, Metadata headers) {
    Counted counted = methods.getOrDefault(fullMethodName, other);
    return counted.streams() ? stream(counted.method()) : request(counted.method());
  }

  private static ServerStreamTracer request(Method method) {
    long from = System.nanoTime();
    return new ServerStreamTracer() {
      @Override
      public void streamClosed(Status status) {
        method.answered(status.getCode().name(), System.nanoTime() - from);
      }
    };
  }

  private static ServerStreamTracer stream(Method method) {
    AtomicBoolean open = new AtomicBoolean();
    return new ServerStreamTracer() {
      /** Called unless gRPC refuses the call by itself; it may not report the end of that. */
      @Override
      public Context filterContext(Context context) {
        open.set(true);
        method.streamBegan();
        return context;
      }

      @Override
      public void streamClosed(Status status) {
        method.streamEnded(status.getCode().name(), open.get());
      }
    };
  }
}
