package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.protobuf.CodedInputStream;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.Message;
import com.google.protobuf.TextFormat;
import dev.sluice.proto.v1.AdminGrpc;
import dev.sluice.proto.v1.ConsumeRequest;
import dev.sluice.proto.v1.GovernorGrpc;
import dev.sluice.proto.v1.LimitsGrpc;
import dev.sluice.proto.v1.QueuesGrpc;
import dev.sluice.server.fila.v1.FilaAdminGrpc;
import dev.sluice.server.fila.v1.FilaServiceGrpc;
import dev.sluice.server.grpc.ProtobufSizeChecker;
import dev.sluice.server.transport.RequestSizeLimits;
import dev.sluice.testkit.load.SeedBudget;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.PrototypeMarshaller;
import io.grpc.Status;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Every list and map that a request can fill, on every wire: one entry more than {@link
 * RequestSizeLimits} allows is refused, with the rule and the number; as many as it allows, with
 * names whose hashes collide, are answered. The fields are found in the protocols and in {@code
 * openapi.json}, so that a new one without a bound fails here.
 */
@Timeout(120)
final class RequestBoundsTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String NO_ID = "00000000-0000-8000-8000-000000000000";

  /** The other required fields of a request, in the text format of protobuf. */
  private static final Map<String, String> GRPC_REQUESTS =
      Map.of(
          "sluice.v1.Queues/Enqueue", "queue: 'q'",
          "sluice.v1.Queues/EnqueueStream", "queue: 'q'",
          "sluice.v1.Queues/Settle", "queue: 'q'",
          "sluice.v1.Governor/ReportFeedback", "model: 'deepseek-r1' status: 200",
          "sluice.v1.Admin/CreateApiKey", "name: 'k'",
          "sluice.v1.Admin/SetPermissions", "id: 'none'",
          "fila.v1.FilaService/Enqueue", "queue: 'q'",
          "fila.v1.FilaAdmin/SetAcl", "key_id: 'none'");

  /** The same over HTTP, by the name of the schema. */
  private static final Map<String, String> HTTP_REQUESTS =
      Map.of(
          "Message", "{\"payload\":\"x\"}",
          "ProviderResponse", "{\"status\":200}",
          "NewApiKey", "{\"name\":\"k\"}");

  @TempDir private static Path dir;
  private static TestServer server;
  private static HttpProbe http;

  @BeforeAll
  static void start() throws IOException {
    server = TestServer.start(ServerConfig.defaults(dir).withGovernorFile(SeedBudget.FILE));
    server.createQueue("q");
    http = new HttpProbe(server.server.httpPort());
  }

  @AfterAll
  static void stop() {
    server.close();
  }

  private static String rule(String field) {
    int most = RequestSizeLimits.of(field);
    return "%s must have at most %d entries, but has %d or more".formatted(field, most, most + 1);
  }

  // ---- gRPC

  /** A list or map somewhere in the request of a method. */
  record GrpcField(MethodDescriptor<?, ?> method, List<FieldDescriptor> path) {
    FieldDescriptor list() {
      return path.get(path.size() - 1);
    }

    @Override
    public String toString() {
      return method.getFullMethodName()
          + " "
          + path.stream().map(FieldDescriptor::getName).collect(Collectors.joining("."));
    }

    /** A request with so many entries. */
    Message request(int entries) throws IOException {
      DynamicMessage.Builder request = DynamicMessage.newBuilder(type(method));
      TextFormat.merge(GRPC_REQUESTS.getOrDefault(method.getFullMethodName(), ""), request);
      fill(request, 0, entries);
      return request.build();
    }

    private void fill(Message.Builder message, int step, int entries) {
      FieldDescriptor field = path.get(step);
      if (step == path.size() - 1) {
        Collisions.names(entries)
            .forEach(name -> message.addRepeatedField(field, entry(message, field, name)));
        return;
      }
      Message.Builder inside = message.newBuilderForField(field);
      fill(inside, step + 1, entries);
      if (field.isRepeated()) {
        message.addRepeatedField(field, inside.build());
      } else {
        message.setField(field, inside.build());
      }
    }

    /** Returns an entry whose text, or whose first text field, is {@code name}. */
    private static Object entry(Message.Builder message, FieldDescriptor field, String name) {
      if (field.getJavaType() == FieldDescriptor.JavaType.STRING) {
        return name;
      }
      Message.Builder entry = message.newBuilderForField(field);
      entry.getDescriptorForType().getFields().stream()
          .filter(each -> each.getJavaType() == FieldDescriptor.JavaType.STRING)
          .findFirst()
          .ifPresent(each -> entry.setField(each, name));
      return entry.build();
    }
  }

  private static Descriptor type(MethodDescriptor<?, ?> method) {
    var marshaller = (PrototypeMarshaller<?>) method.getRequestMarshaller();
    return ((Message) marshaller.getMessagePrototype()).getDescriptorForType();
  }

  static List<GrpcField> grpcFields() {
    List<GrpcField> all = new ArrayList<>();
    Stream.of(
            QueuesGrpc.getServiceDescriptor(),
            LimitsGrpc.getServiceDescriptor(),
            GovernorGrpc.getServiceDescriptor(),
            AdminGrpc.getServiceDescriptor(),
            FilaServiceGrpc.getServiceDescriptor(),
            FilaAdminGrpc.getServiceDescriptor())
        .flatMap(service -> service.getMethods().stream())
        .forEach(method -> collect(method, type(method), List.of(), all));
    return all;
  }

  private static void collect(
      MethodDescriptor<?, ?> method,
      Descriptor type,
      List<FieldDescriptor> path,
      List<GrpcField> all) {
    for (FieldDescriptor field : type.getFields()) {
      List<FieldDescriptor> longer = new ArrayList<>(path);
      longer.add(field);
      if (field.isRepeated()) {
        all.add(new GrpcField(method, longer));
      }
      if (field.getJavaType() == FieldDescriptor.JavaType.MESSAGE && !field.isMapField()) {
        collect(method, field.getMessageType(), longer, all);
      }
    }
  }

  /** The words of the answer or of the error. */
  private static String ask(MethodDescriptor<?, ?> method, List<Message> requests) {
    MethodDescriptor<byte[], byte[]> raw =
        method.toBuilder(new Bytes(), new Bytes()).setSampledToLocalTracing(false).build();
    ClientCall<byte[], byte[]> call = server.channel.newCall(raw, CallOptions.DEFAULT);
    StringBuilder heard = new StringBuilder();
    CompletableFuture<String> end = new CompletableFuture<>();
    call.start(
        new ClientCall.Listener<>() {
          @Override
          public void onMessage(byte[] answer) {
            heard.append(new String(answer, java.nio.charset.StandardCharsets.UTF_8));
          }

          @Override
          public void onClose(Status status, Metadata trailers) {
            end.complete(heard + " " + status);
          }
        },
        new Metadata());
    call.request(100);
    requests.forEach(each -> call.sendMessage(each.toByteArray()));
    call.halfClose();
    return end.join();
  }

  /** A request as it is. */
  private static final class Bytes implements MethodDescriptor.Marshaller<byte[]> {
    @Override
    public InputStream stream(byte[] value) {
      return new java.io.ByteArrayInputStream(value);
    }

    @Override
    public byte[] parse(InputStream stream) {
      try {
        return stream.readAllBytes();
      } catch (IOException impossible) {
        throw new java.io.UncheckedIOException(impossible);
      }
    }
  }

  private static String ask(GrpcField field, int entries) throws IOException {
    List<Message> requests = new ArrayList<>();
    if (field.method().getFullMethodName().equals("sluice.v1.Queues/Consume")) {
      DynamicMessage.Builder open = DynamicMessage.newBuilder(type(field.method()));
      TextFormat.merge("open { queue: 'q' }", open);
      requests.add(open.build());
    }
    requests.add(field.request(entries));
    return ask(field.method(), requests);
  }

  @ParameterizedTest
  @MethodSource("grpcFields")
  void grpc_oneEntryTooMany_isRefusedWithTheRule(GrpcField field) throws IOException {
    String name = field.list().getName();
    assertThat(ask(field, RequestSizeLimits.of(name) + 1)).contains(rule(name));
  }

  @ParameterizedTest
  @MethodSource("grpcFields")
  void grpc_largestNumberOfEntries_isAccepted(GrpcField field) throws IOException {
    String name = field.list().getName();
    assertThat(ask(field, RequestSizeLimits.of(name)))
        .doesNotContain("must have at most")
        .doesNotContain("INTERNAL", "UNKNOWN", "RESOURCE_EXHAUSTED");
  }

  /** The parser would merge the lists of both into one beyond its bound. */
  @Test
  void grpc_singleMessageThatOccursTwice_isRefused() throws IOException {
    Descriptor consume = ConsumeRequest.getDescriptor();
    byte[] settle =
        ConsumeRequest.newBuilder()
            .setSettle(ConsumeRequest.Settlements.getDefaultInstance())
            .build()
            .toByteArray();
    byte[] twice = new byte[2 * settle.length];
    System.arraycopy(settle, 0, twice, 0, settle.length);
    System.arraycopy(settle, 0, twice, settle.length, settle.length);
    ProtobufSizeChecker bounds = ProtobufSizeChecker.of(consume);
    bounds.check(CodedInputStream.newInstance(settle));
    assertThatThrownBy(() -> bounds.check(CodedInputStream.newInstance(twice)))
        .hasMessage("settle must occur once in its message, but occurs again");
  }

  // ---- HTTP

  /** A list or map in the body of a request. */
  record HttpField(String method, String path, String schema, List<String> fields) {
    @Override
    public String toString() {
      return method + " " + path + " " + String.join(".", fields);
    }

    String list() {
      return fields.get(fields.size() - 1);
    }

    String body(int entries) throws IOException {
      ObjectNode body = base(schema);
      ObjectNode inner = body;
      if (fields.size() > 1) {
        inner = base("Message");
        body.putArray(fields.get(0)).add(inner);
      }
      JsonNode rules = property(fields.size() > 1 ? "Message" : schema, list());
      if (rules.path("type").asText().equals("array")) {
        for (int i = 0; i < entries; i++) {
          inner.withArray("/" + list()).addObject();
        }
      } else {
        ObjectNode map = inner.putObject(list());
        boolean text = rules.at("/additionalProperties/type").asText().equals("string");
        for (String name : Collisions.names(entries)) {
          map.set(name, text ? JSON.getNodeFactory().textNode("x") : JSON.valueToTree(1));
        }
      }
      return body.toString();
    }

    private static ObjectNode base(String schema) throws IOException {
      return (ObjectNode) JSON.readTree(HTTP_REQUESTS.getOrDefault(schema, "{}"));
    }
  }

  private static JsonNode openApi() throws IOException {
    try (InputStream in = SluiceServer.class.getResourceAsStream("/openapi.json")) {
      return JSON.readTree(in);
    }
  }

  private static JsonNode property(String schema, String name) throws IOException {
    return openApi().at("/components/schemas/%s/properties/%s".formatted(schema, name));
  }

  static List<HttpField> httpFields() throws IOException {
    JsonNode api = openApi();
    List<HttpField> all = new ArrayList<>();
    for (Map.Entry<String, JsonNode> path : api.get("paths").properties()) {
      for (Map.Entry<String, JsonNode> method : path.getValue().properties()) {
        JsonNode schema = method.getValue().at("/requestBody/content/application~1json/schema");
        for (JsonNode reference : schema.findValues("$ref")) {
          String name = last(reference.asText());
          String url = path.getKey().replace("{queue}", "q").replace("{model}", "deepseek-r1");
          url = url.replace("{id}", NO_ID).replaceAll("\\{.*}", "x");
          collect(api, name, new HttpField(method.getKey(), url, name, List.of()), all);
        }
      }
    }
    return all;
  }

  private static String last(String reference) {
    return reference.substring(reference.lastIndexOf('/') + 1);
  }

  private static void collect(JsonNode api, String schema, HttpField at, List<HttpField> all) {
    for (Map.Entry<String, JsonNode> each :
        api.at("/components/schemas/%s/properties".formatted(schema)).properties()) {
      List<String> fields = new ArrayList<>(at.fields());
      fields.add(each.getKey());
      HttpField field = new HttpField(at.method(), at.path(), at.schema(), fields);
      JsonNode rules = each.getValue();
      if (rules.path("type").asText().equals("array")
          || rules.path("additionalProperties").isObject()) {
        all.add(field);
      }
      JsonNode inside = rules.has("items") ? rules.at("/items/$ref") : rules.path("$ref");
      if (inside.isTextual()) {
        collect(api, last(inside.asText()), field, all);
      }
    }
  }

  private static HttpProbe.Reply ask(HttpField field, int entries) throws IOException {
    return field.method().equals("put")
        ? http.put(field.path(), field.body(entries))
        : http.post(field.path(), field.body(entries));
  }

  @ParameterizedTest
  @MethodSource("httpFields")
  void http_oneEntryTooMany_isRefusedWithTheRule(HttpField field) throws IOException {
    HttpProbe.Reply reply = ask(field, RequestSizeLimits.of(field.list()) + 1);
    assertThat(reply.status()).isEqualTo(400);
    assertThat(reply.message()).contains(rule(field.list()));
  }

  @ParameterizedTest
  @MethodSource("httpFields")
  void http_largestNumberOfEntries_isAccepted(HttpField field) throws IOException {
    HttpProbe.Reply reply = ask(field, RequestSizeLimits.of(field.list()));
    assertThat(reply.response().body()).doesNotContain("must have at most");
    assertThat(reply.status()).isLessThan(500);
  }

  @ParameterizedTest
  @MethodSource("httpFields")
  void openApi_documentsTheBound(HttpField field) throws IOException {
    String owner = field.fields().size() > 1 ? "Message" : field.schema();
    JsonNode rules = property(owner, field.list());
    String word = rules.path("type").asText().equals("array") ? "maxItems" : "maxProperties";
    assertThat(rules.path(word).asInt()).isEqualTo(RequestSizeLimits.of(field.list()));
  }

  @Test
  void documentation_hasEveryBound() throws IOException {
    String page = Files.readString(Path.of("..", "docs", "server.md"));
    RequestSizeLimits.BY_FIELD.forEach(
        (field, most) ->
            assertThat(page).containsPattern("\\| `%s`[^|]*\\| %d \\|".formatted(field, most)));
  }

  @Test
  void bounds_areOfFieldsThatExist() throws IOException {
    TreeSet<String> onTheWires = new TreeSet<>();
    grpcFields().forEach(each -> onTheWires.add(each.list().getName()));
    httpFields().forEach(each -> onTheWires.add(each.list()));
    assertThat(onTheWires).isEqualTo(new TreeSet<>(RequestSizeLimits.BY_FIELD.keySet()));
  }
}
