package dev.sluice.examples;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The reference in docs/grpc.md, made of the proto files and their comments. */
final class GrpcReference {
  private static final Pattern OPENS =
      Pattern.compile("(service|message|enum|oneof) (\\w+) \\{(})?");
  private static final Pattern CALL =
      Pattern.compile("rpc (\\w+)\\((stream )?(\\w+)\\) returns \\((stream )?(\\w+)\\);");
  private static final Pattern FIELD =
      Pattern.compile("((?:repeated |optional )?[\\w.]+|map<[\\w, ]+>) (\\w+) = \\d+;");
  private static final Pattern VALUE = Pattern.compile("(\\w+) = \\d+;");

  /** A field with its type, or a value of an enum. */
  private record Row(String words, String comment) {
    @Override
    public String toString() {
      return comment.isEmpty() ? words : words + ". " + comment;
    }
  }

  private record Call(String name, String comment, boolean requests, boolean responses) {}

  /** A service with calls, a message with fields, or an enum with values. */
  private record Section(String name, String comment, List<Call> calls, List<Row> rows) {}

  /** Messages and enums by name, which may come after their use, without those of calls. */
  private final Map<String, Section> known;

  private final List<Section> services = new ArrayList<>();
  private final Map<String, Section> types = new LinkedHashMap<>();

  /** A section for each open brace, the outermost first. */
  private final List<Section> open = new ArrayList<>();

  private final StringBuilder comment = new StringBuilder();
  private final StringBuilder text = new StringBuilder();

  private GrpcReference(Map<String, Section> known) {
    this.known = known;
  }

  static String of(List<String> files) {
    GrpcReference first = new GrpcReference(Map.of());
    first.read(files);
    first.write();
    GrpcReference reference = new GrpcReference(first.types);
    reference.read(files);
    reference.write();
    return reference.text.toString();
  }

  private void write() {
    services.forEach(this::writeService);
    paragraph("## Messages");
    paragraph("A field that is not set is 0, empty or false.");
    for (Section type : types.values()) {
      if (type.rows().isEmpty()) {
        requireNoComment(type); // the field of this type has it
      } else {
        paragraph("### " + type.name());
        paragraph(type.comment());
        rows("", type.rows());
      }
    }
  }

  /** Writes each call with the fields of its messages, which are then no types of their own. */
  private void writeService(Section service) {
    paragraph("## " + service.name());
    paragraph(service.comment());
    for (Call call : service.calls()) {
      paragraph("### " + call.name());
      paragraph(call.comment());
      rows(call.requests() ? "Requests" : "Request", remove(call.name() + "Request"));
      rows(call.responses() ? "Responses" : "Response", remove(call.name() + "Response"));
    }
  }

  /** Removes a message of a call, whose comment describes both. */
  private List<Row> remove(String type) {
    Section message = Objects.requireNonNull(types.remove(type), type);
    requireNoComment(message);
    return message.rows();
  }

  private static void requireNoComment(Section message) {
    if (!message.comment().isEmpty()) {
      throw new IllegalArgumentException("the page would not show this comment: " + message);
    }
  }

  /** In one line if that is enough, else as a list. */
  private void rows(String title, List<Row> rows) {
    String start = title.isEmpty() ? "" : title + ": ";
    if (rows.size() == 1) {
      paragraph(start + rows.get(0));
    } else if (rows.stream().allMatch(row -> row.comment().isEmpty())) {
      paragraph(rows.isEmpty() ? "" : start + String.join(", ", words(rows)));
    } else {
      paragraph(start.strip());
      paragraph(String.join("\n", rows.stream().map(row -> "- " + row).toList()));
    }
  }

  private static List<String> words(List<Row> rows) {
    return rows.stream().map(Row::words).toList();
  }

  private void paragraph(String words) {
    if (!words.isEmpty()) {
      text.append('\n').append(words).append('\n');
    }
  }

  private void read(List<String> files) {
    files.forEach(file -> file.lines().map(String::strip).forEach(this::read));
  }

  private void read(String line) {
    if (line.startsWith("//")) {
      comment.append(line.substring(2).stripTrailing());
      return;
    }
    Matcher opens = OPENS.matcher(line);
    Matcher call = CALL.matcher(line);
    Matcher field = FIELD.matcher(line);
    Matcher value = VALUE.matcher(line);
    if (opens.matches()) {
      open(opens.group(1), opens.group(2));
      if (opens.group(3) != null) {
        close();
      }
    } else if (line.equals("}")) {
      close();
    } else if (call.matches()) {
      call(call);
    } else if (field.matches()) {
      row("`%s` %s".formatted(field.group(2), type(field.group(1))));
    } else if (value.matches()) {
      row("`%s`".formatted(value.group(1)));
    } else if (!line.isEmpty() && !line.matches("(syntax|package|import|option|reserved) .*")) {
      throw new IllegalArgumentException("unknown kind of line in a .proto file: " + line);
    }
    comment.setLength(0);
  }

  private void open(String kind, String name) {
    if (kind.equals("oneof")) {
      open.add(innermost()); // its fields are those of the message
      return;
    }
    String whole = open.isEmpty() ? name : innermost().name() + "." + name;
    Section section = new Section(whole, comment(), new ArrayList<>(), new ArrayList<>());
    if (kind.equals("service")) {
      services.add(section);
    } else {
      types.put(whole, section);
    }
    open.add(section);
  }

  private String comment() {
    return HttpReference.cell(comment.toString().strip());
  }

  private Section innermost() {
    return open.get(open.size() - 1);
  }

  private void close() {
    open.remove(open.size() - 1);
  }

  /** Adds a call; its messages are named for it. */
  private void call(Matcher call) {
    String name = call.group(1);
    if (!call.group(3).equals(name + "Request") || !call.group(5).equals(name + "Response")) {
      throw new IllegalArgumentException("messages not named for their call: " + call.group());
    }
    boolean requests = call.group(2) != null;
    boolean responses = call.group(4) != null;
    innermost().calls().add(new Call(name, comment(), requests, responses));
  }

  private void row(String words) {
    innermost().rows().add(new Row(words, comment()));
  }

  private String type(String type) {
    if (type.startsWith("repeated ")) {
      return "list of " + type(type.substring("repeated ".length()));
    }
    if (type.startsWith("map<")) {
      return "map of " + type.substring("map<".length(), type.length() - 1);
    }
    return Character.isUpperCase(type.charAt(0)) ? link(type) : type;
  }

  /** To the heading of that name: one inside of this message or of those around it comes first. */
  private String link(String name) {
    String scope = innermost().name();
    while (!scope.isEmpty() && !known.containsKey(scope + "." + name)) {
      scope = scope.contains(".") ? scope.substring(0, scope.lastIndexOf('.')) : "";
    }
    String heading = scope.isEmpty() ? name : scope + "." + name;
    Section target = known.get(heading);
    if (target == null) {
      heading = name.replaceAll("(Request|Response)$", ""); // the call has the fields
    }
    return target != null && target.rows().isEmpty()
        ? "(empty)"
        : "[%s](#%s)".formatted(name, heading.replace(".", "").toLowerCase(Locale.ROOT));
  }
}
