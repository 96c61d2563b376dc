import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Compares the parts of an SBOM with a list of advisories, for {@code deploy/scan}: {@code java
 * Scan.java bom.json advisories-maven.csv}. Prints each part with a known vulnerability and exits
 * with 1 if there is one.
 *
 * <p>A line of the list is: CVE, published, summary, group:artifact, introduced in, fixed in, last
 * affected, severity, CWE, score.
 */
final class Scan {
  private static final Pattern PART =
      Pattern.compile("\"purl\" *: *\"pkg:maven/([^/\"]+)/([^@\"]+)@([^?\"]+)");

  private Scan() {}

  public static void main(String[] arguments) throws IOException {
    Map<String, String> versions = new HashMap<>();
    Matcher parts = PART.matcher(Files.readString(Path.of(arguments[0])));
    while (parts.find()) {
      versions.put(parts.group(1) + ":" + parts.group(2), parts.group(3));
    }
    if (versions.isEmpty()) {
      throw new IOException("the SBOM names no Maven artifact: " + arguments[0]);
    }
    int about = 0;
    int vulnerable = 0;
    String newest = "";
    for (String line : Files.readAllLines(Path.of(arguments[1]))) {
      List<String> fields = fields(line);
      if (fields.size() < 7) {
        continue;
      }
      newest = newest.compareTo(fields.get(1)) < 0 ? fields.get(1) : newest;
      String version = versions.get(fields.get(3));
      if (version == null) {
        continue;
      }
      about++;
      if (isAffected(version, fields.get(4), fields.get(5), fields.get(6))) {
        vulnerable++;
        System.out.println(fields.get(3) + " " + version + ": " + line);
      }
    }
    System.out.printf(
        "%d parts, %d advisories about them (the newest of the list: %s), %d with a known vulnerability%n",
        versions.size(), about, newest, vulnerable);
    System.exit(vulnerable == 0 ? 0 : 1);
  }

  private static boolean isAffected(String version, String introduced, String fixed, String last) {
    return compare(version, introduced) >= 0
        && (fixed.isEmpty() || compare(version, fixed) < 0)
        && (last.isEmpty() || compare(version, last) <= 0);
  }

  /** Numbers compare as such; a word (alpha, beta, rc) stands before the release itself. */
  private static int compare(String left, String right) {
    String[] a = words(left);
    String[] b = words(right);
    for (int i = 0; i < Math.max(a.length, b.length); i++) {
      int order = compareWord(i < a.length ? a[i] : "0", i < b.length ? b[i] : "0");
      if (order != 0) {
        return order;
      }
    }
    return 0;
  }

  private static String[] words(String version) {
    return version.replaceAll("(?i)[.-](final|release|ga|jre|android)$", "").split("[.-]");
  }

  private static int compareWord(String a, String b) {
    boolean number = a.matches("\\d{1,9}");
    boolean otherNumber = b.matches("\\d{1,9}");
    if (number && otherNumber) {
      return Integer.compare(Integer.parseInt(a), Integer.parseInt(b));
    }
    return number == otherNumber ? a.compareToIgnoreCase(b) : number ? 1 : -1;
  }

  private static List<String> fields(String line) {
    List<String> fields = new ArrayList<>();
    StringBuilder field = new StringBuilder();
    boolean quoted = false;
    for (char each : line.toCharArray()) {
      if (each == '"') {
        quoted = !quoted;
      } else if (each == ',' && !quoted) {
        fields.add(field.toString());
        field.setLength(0);
      } else {
        field.append(each);
      }
    }
    fields.add(field.toString());
    return fields;
  }
}
