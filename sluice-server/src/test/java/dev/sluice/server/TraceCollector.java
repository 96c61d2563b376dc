package dev.sluice.server;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnknownFieldSet;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;

/** Takes traces as OTLP over HTTP, and reads of them what tests want to know. */
final class TraceCollector implements AutoCloseable {
  private static final int RESOURCE_SPANS = 1;
  private static final int SCOPE_SPANS = 2;
  private static final int SPANS = 2;
  private static final int TRACE_STATE = 3;
  private static final int ATTRIBUTES = 9;
  private static final int STATUS = 15;

  private final HttpServer server;
  private final List<Span> spans = new CopyOnWriteArrayList<>();

  /**
   * A span.
   *
   * @param trace its trace, in hex
   * @param parent the span it continues, in hex; empty if it begins the trace
   * @param state its {@code tracestate}
   * @param name what it is called
   * @param attributes their values as text
   * @param error whether its status is an error
   */
  record Span(
      String trace,
      String parent,
      String state,
      String name,
      Map<String, String> attributes,
      boolean error) {}

  TraceCollector() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext("/v1/traces", this::take);
    server.start();
  }

  URI endpoint() {
    return URI.create("http://127.0.0.1:" + server.getAddress().getPort());
  }

  List<Span> spans() {
    return spans;
  }

  private void take(HttpExchange exchange) throws IOException {
    byte[] body = exchange.getRequestBody().readAllBytes();
    for (UnknownFieldSet resource : parts(UnknownFieldSet.parseFrom(body), RESOURCE_SPANS)) {
      for (UnknownFieldSet scope : parts(resource, SCOPE_SPANS)) {
        parts(scope, SPANS).forEach(span -> spans.add(span(span)));
      }
    }
    exchange.sendResponseHeaders(200, -1);
    exchange.close();
  }

  private static List<UnknownFieldSet> parts(UnknownFieldSet message, int field) {
    return message.getField(field).getLengthDelimitedList().stream()
        .map(TraceCollector::parse)
        .toList();
  }

  private static UnknownFieldSet parse(ByteString bytes) {
    try {
      return UnknownFieldSet.parseFrom(bytes);
    } catch (IOException malformed) {
      throw new UncheckedIOException(malformed);
    }
  }

  private static Span span(UnknownFieldSet span) {
    Map<String, String> attributes = new HashMap<>();
    for (UnknownFieldSet each : parts(span, ATTRIBUTES)) {
      UnknownFieldSet value = parts(each, 2).get(0);
      attributes.put(
          bytes(each, 1).toStringUtf8(),
          value.hasField(1)
              ? bytes(value, 1).toStringUtf8()
              : value.getField(3).getVarintList().toString());
    }
    boolean error =
        parts(span, STATUS).stream()
            .anyMatch(status -> status.getField(3).getVarintList().contains(2L));
    return new Span(
        hex(span, 1),
        hex(span, 4),
        bytes(span, TRACE_STATE).toStringUtf8(),
        bytes(span, 5).toStringUtf8(),
        attributes,
        error);
  }

  private static ByteString bytes(UnknownFieldSet message, int field) {
    List<ByteString> all = message.getField(field).getLengthDelimitedList();
    return all.isEmpty() ? ByteString.EMPTY : all.get(0);
  }

  private static String hex(UnknownFieldSet message, int field) {
    return HexFormat.of().formatHex(bytes(message, field).toByteArray());
  }

  @Override
  public void close() {
    server.stop(0);
  }
}
