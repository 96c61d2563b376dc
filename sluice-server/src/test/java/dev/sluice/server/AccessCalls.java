package dev.sluice.server;

import com.google.protobuf.Message;
import com.google.protobuf.TextFormat;
import dev.sluice.proto.v1.AdminGrpc;
import dev.sluice.proto.v1.GovernorGrpc;
import dev.sluice.proto.v1.LimitsGrpc;
import dev.sluice.proto.v1.QueuesGrpc;
import dev.sluice.server.fila.v1.FilaAdminGrpc;
import dev.sluice.server.fila.v1.FilaServiceGrpc;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.PrototypeMarshaller;
import io.grpc.Status;
import java.io.InputStream;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Makes any call of a server, on any wire, and tells how far it gets. */
final class AccessCalls {
  /** Every RPC by its full name. */
  static final Map<String, MethodDescriptor<?, ?>> METHODS =
      Stream.of(
              QueuesGrpc.getServiceDescriptor(),
              LimitsGrpc.getServiceDescriptor(),
              GovernorGrpc.getServiceDescriptor(),
              AdminGrpc.getServiceDescriptor(),
              FilaServiceGrpc.getServiceDescriptor(),
              FilaAdminGrpc.getServiceDescriptor())
          .<MethodDescriptor<?, ?>>flatMap(service -> service.getMethods().stream())
          .collect(Collectors.toMap(MethodDescriptor::getFullMethodName, Function.identity()));

  private final KeyedServer server;
  private final HttpProbe http;

  AccessCalls(KeyedServer server, HttpProbe http) {
    this.server = server;
    this.http = http;
  }

  /** How far a call gets. */
  enum Got {
    UNAUTHENTICATED,
    DENIED,
    THROUGH
  }

  /**
   * Makes a call.
   *
   * @param call method and path, or the full name of an RPC
   * @param request JSON, or a message in protobuf's text format
   */
  Got make(String call, String request, @Nullable String authorization) throws Exception {
    int space = call.indexOf(' ');
    return space < 0
        ? askGrpc(Objects.requireNonNull(METHODS.get(call), call), request, authorization)
        : askHttp(call.substring(0, space), call.substring(space + 1), request, authorization);
  }

  private Got askHttp(String method, String path, String body, @Nullable String authorization)
      throws Exception {
    java.net.http.HttpRequest.Builder request =
        http.request(path).method(method, BodyPublishers.ofString(body));
    if (authorization != null) {
      request.header("Authorization", authorization);
    }
    HttpResponse<InputStream> answer =
        http.client().send(request.build(), BodyHandlers.ofInputStream());
    answer.body().close();
    return switch (answer.statusCode()) {
      case 401 -> Got.UNAUTHENTICATED;
      case 403 -> Got.DENIED;
      default -> Got.THROUGH;
    };
  }

  private <Q, A> Got askGrpc(
      MethodDescriptor<Q, A> method, String request, @Nullable String authorization)
      throws Exception {
    var marshaller = (PrototypeMarshaller<Q>) method.getRequestMarshaller();
    Message.Builder message =
        ((Message) Objects.requireNonNull(marshaller.getMessagePrototype())).toBuilder();
    TextFormat.merge(request, message);
    CompletableFuture<Status.Code> end = new CompletableFuture<>();
    ClientCall<Q, A> call = server.with(authorization).newCall(method, CallOptions.DEFAULT);
    call.start(
        new ClientCall.Listener<>() {
          @Override
          public void onMessage(A answer) {
            // Streams tell of each request by itself.
            if (answer.toString().contains("PERMISSION_DENIED")) {
              end.complete(Status.Code.PERMISSION_DENIED);
            }
          }

          @Override
          public void onClose(Status status, Metadata trailers) {
            end.complete(status.getCode());
          }
        },
        new Metadata());
    call.request(1);
    call.sendMessage(marshaller.getMessageClass().cast(message.build()));
    call.halfClose();
    return switch (end.get(10, TimeUnit.SECONDS)) {
      case UNAUTHENTICATED -> Got.UNAUTHENTICATED;
      case PERMISSION_DENIED -> Got.DENIED;
      default -> Got.THROUGH;
    };
  }
}
