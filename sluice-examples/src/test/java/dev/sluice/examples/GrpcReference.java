package dev.sluice.examples;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The tables of docs/grpc.md, out of the proto files and their comments. */
final class GrpcReference {
  private static final Pattern OPENS =
      Pattern.compile("(service|message|enum|oneof) (\\w+) \\{(})?");
  private static final Pattern CALL =
      Pattern.compile("rpc (\\w+)\\((stream )?(\\w+)\\) returns \\((stream )?(\\w+)\\);");
  private static final Pattern FIELD =
      Pattern.compile("((?:repeated |optional )?[\\w.]+|map<[\\w, ]+>) (\\w+) = (\\d+);");
  private static final Pattern VALUE = Pattern.compile("(\\w+) = (\\d+);");

  /** Something with a heading: its title, its comment, and the rows of its table. */
  private record Section(
      String level, String name, String head, String comment, List<String> rows) {
    @Override
    public String toString() {
      String table =
          rows.isEmpty() ? "\n\nHas no fields." : "\n\n" + head + "\n" + String.join("\n", rows);
      return level + " " + name + (comment.isEmpty() ? "" : "\n\n" + comment) + table + "\n";
    }
  }

  /** Names of messages and enums, those inside of others after these. */
  private final Set<String> known;

  private final List<Section> services = new ArrayList<>();
  private final List<Section> types = new ArrayList<>();

  /** Where we are: a section for each brace, the outermost first. */
  private final List<Section> open = new ArrayList<>();

  private final StringBuilder comment = new StringBuilder();

  private GrpcReference(Set<String> known) {
    this.known = known;
  }

  static String of(List<String> files) {
    Set<String> known = new TreeSet<>();
    // The first time for the names, which may come after their use.
    new GrpcReference(known).read(files);
    GrpcReference reference = new GrpcReference(known);
    reference.read(files);
    List<String> all = new ArrayList<>();
    reference.services.forEach(each -> all.add(each.toString()));
    all.add("## Messages\n\nA field that is not set is 0, empty or false.\n");
    reference.types.forEach(each -> all.add(each.toString()));
    return "\n" + String.join("\n", all);
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
      row(
          "`%s` | %s | %s"
              .formatted(
                  call.group(1),
                  stream(call.group(2)) + link(call.group(3)),
                  stream(call.group(4)) + link(call.group(5))));
    } else if (field.matches()) {
      row("`%s` | %s | %s".formatted(field.group(2), type(field.group(1)), field.group(3)));
    } else if (value.matches()) {
      row("`%s` | %s".formatted(value.group(1), value.group(2)));
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
    boolean service = kind.equals("service");
    String head =
        switch (kind) {
          case "service" -> "| call | takes | gives | what |\n|---|---|---|---|";
          case "enum" -> "| value | number | what |\n|---|---|---|";
          default -> "| field | type | number | what |\n|---|---|---|---|";
        };
    Section section =
        new Section(
            service ? "##" : "###",
            whole,
            head,
            HttpReference.cell(comment.toString().strip()),
            new ArrayList<>());
    (service ? services : types).add(section);
    if (!service) {
      known.add(whole);
    }
    open.add(section);
  }

  private Section innermost() {
    return open.get(open.size() - 1);
  }

  private void close() {
    open.remove(open.size() - 1);
  }

  private void row(String cells) {
    innermost()
        .rows()
        .add("| %s | %s |".formatted(cells, HttpReference.cell(comment.toString().strip())));
  }

  private static String stream(String word) {
    return word == null ? "" : "stream of ";
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
    while (!scope.isEmpty() && !known.contains(scope + "." + name)) {
      scope = scope.contains(".") ? scope.substring(0, scope.lastIndexOf('.')) : "";
    }
    String heading = scope.isEmpty() ? name : scope + "." + name;
    return "[%s](#%s)".formatted(name, heading.replace(".", "").toLowerCase(Locale.ROOT));
  }
}
