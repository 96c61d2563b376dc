package dev.sluice.examples;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.StringJoiner;

/** The reference in docs/http.md, made of the OpenAPI document. */
final class HttpReference {
  private static final Map<String, String> TITLES =
      Map.of(
          "queues", "Queues and messages",
          "limits", "Limits and decisions",
          "decide", "Limits and decisions",
          "governor", "Governor",
          "config", "Configuration that hooks read",
          "throttles", "Throttle keys of queues",
          "api-keys", "API keys");

  private final JsonNode document;
  private final StringBuilder text = new StringBuilder();
  private final Set<JsonNode> described = new HashSet<>();

  private HttpReference(JsonNode document) {
    this.document = document;
  }

  static String of(JsonNode document) {
    HttpReference reference = new HttpReference(document);
    reference.calls();
    reference.schemas();
    return reference.text.toString();
  }

  private void line(String line) {
    text.append(line).append('\n');
  }

  private void calls() {
    String title = "";
    for (Map.Entry<String, JsonNode> path : document.get("paths").properties()) {
      String next = title(path.getKey());
      if (!next.equals(title)) {
        title = next;
        line("\n## " + title + "\n");
      }
      for (Map.Entry<String, JsonNode> call : path.getValue().properties()) {
        if (!call.getKey().equals("parameters")) {
          line(call(call.getKey().toUpperCase(Locale.ROOT) + " " + path.getKey(), call.getValue()));
        }
      }
    }
  }

  private static String title(String path) {
    String[] segments = path.split("/", -1);
    return segments.length < 3 ? "Server" : TITLES.getOrDefault(segments[2], "Server");
  }

  private String call(String name, JsonNode call) {
    StringBuilder what = new StringBuilder(call.get("summary").asText());
    call.path("parameters").forEach(parameter -> what.append(parameter(parameter)));
    if (call.has("security")) {
      what.append(" Needs no key.");
    }
    StringJoiner answers = new StringJoiner("; ");
    for (Map.Entry<String, JsonNode> answer : call.get("responses").properties()) {
      if (!answer.getKey().equals("default")) {
        answers.add((answer.getKey() + " " + content(answer.getValue())).strip());
      }
    }
    String body = content(call.path("requestBody"));
    return "- `%s`%s, %s. %s"
        .formatted(name, body.isEmpty() ? "" : ", body " + body, answers, cell(what.toString()));
  }

  /** A parameter of the query, or a header with its type and description the first time. */
  private String parameter(JsonNode parameter) {
    boolean isQuery = parameter.get("in").asText().equals("query");
    String name = (isQuery ? " `?" : " Header `") + parameter.get("name").asText() + "`";
    if (!isQuery && !described.add(parameter)) {
      return name + " as above.";
    }
    String description = parameter.path("description").asText();
    String type = type(parameter.get("schema"));
    return (name + " " + type + ". " + description).stripTrailing();
  }

  /** Returns the schemas of a body, of every media type. */
  private static String content(JsonNode node) {
    StringJoiner schemas = new StringJoiner(" or ");
    for (Map.Entry<String, JsonNode> content : node.path("content").properties()) {
      JsonNode schema = content.getValue().path("schema");
      String words = schema.isMissingNode() ? "" : type(schema);
      schemas.add(
          content.getKey().equals("application/json")
              ? words
              : (words + " `" + content.getKey() + "`").strip());
    }
    return schemas.toString();
  }

  private void schemas() {
    line("\n## Objects\n");
    line("A field with an asterisk is always there, or has to be.");
    for (Map.Entry<String, JsonNode> schema : document.at("/components/schemas").properties()) {
      line("\n### " + schema.getKey() + "\n");
      if (schema.getValue().has("description")) {
        line(schema.getValue().get("description").asText() + "\n");
      }
      fields(schema.getValue());
    }
  }

  /** In one line if that is enough, else as a list. */
  private void fields(JsonNode schema) {
    List<String> required = new ArrayList<>();
    schema.path("required").forEach(each -> required.add(each.asText()));
    List<String> fields = new ArrayList<>();
    boolean described = false;
    for (Map.Entry<String, JsonNode> field : schema.path("properties").properties()) {
      String mark = required.contains(field.getKey()) ? "*" : "";
      String words = "`%s`%s %s".formatted(field.getKey(), mark, type(field.getValue()));
      String description = field.getValue().path("description").asText();
      described |= !description.isEmpty();
      fields.add(description.isEmpty() ? words : words + ". " + cell(description));
    }
    if (described && fields.size() > 1) {
      fields.forEach(field -> line("- " + field));
    } else {
      line(String.join(", ", fields));
    }
  }

  private static String type(JsonNode schema) {
    if (schema.has("$ref")) {
      String name = schema.get("$ref").asText().replaceAll(".*/", "");
      return "[%s](#%s)".formatted(name, name.toLowerCase(Locale.ROOT));
    }
    if (schema.has("oneOf")) {
      StringJoiner all = new StringJoiner(" or ");
      schema.get("oneOf").forEach(each -> all.add(type(each)));
      return all.toString();
    }
    if (schema.has("enum")) {
      StringJoiner all = new StringJoiner(", ");
      schema.get("enum").forEach(each -> all.add("`" + each.asText() + "`"));
      return all + bounds(schema);
    }
    return switch (schema.path("type").asText()) {
      case "array" -> "list of " + type(schema.get("items"));
      case "object" ->
          schema.has("additionalProperties")
              ? "map of " + type(schema.get("additionalProperties"))
              : "object";
      case "string" -> string(schema);
      case "boolean" -> schema.has("const") ? "`" + schema.get("const").asText() + "`" : "boolean";
      case "integer" -> "integer" + bounds(schema);
      default -> "number" + bounds(schema);
    };
  }

  private static String string(JsonNode schema) {
    String format = schema.path("format").asText(schema.path("contentEncoding").asText());
    return (format.isEmpty() ? "string" : format) + bounds(schema);
  }

  private static String bounds(JsonNode schema) {
    StringBuilder words = new StringBuilder();
    if (schema.has("minimum") && schema.has("maximum")) {
      words.append(", %s to %s".formatted(schema.get("minimum"), schema.get("maximum")));
    } else if (schema.has("minimum")) {
      words.append(", at least ").append(schema.get("minimum").asText());
    } else if (schema.has("maximum")) {
      words.append(", at most ").append(schema.get("maximum").asText());
    }
    if (!schema.path("default").asText().isEmpty()) {
      words.append(", `").append(schema.get("default").asText()).append("` by default");
    }
    return words.toString();
  }

  static String cell(String text) {
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ");
  }
}
