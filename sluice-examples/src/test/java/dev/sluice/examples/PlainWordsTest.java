package dev.sluice.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/**
 * Comments, documentation and names of tests name their subject. A sentence that begins with "who"
 * or "nobody" as a stand-in for a noun leaves the reader to guess whether it means a caller, a
 * waiter or a node; so does a test called {@code whoAsksTwice_isServedOnce}.
 */
final class PlainWordsTest {
  /** Sentences that are left, questions aside. Lower it when some go; never raise it. */
  private static final int LEFT = 1;

  /** Names of tests and of their nested classes that are left. */
  private static final int NAMES_LEFT = 0;

  private static final Pattern STAND_IN =
      Pattern.compile(
          "(?:^|[.:;!?] +|\\* +|// +|> +|\\| +|^- +)"
              + "(?:Who|Whoever|Whose|What|Whatever|Somebody|Someone|Nobody|Anybody|Everybody)"
              + " (?!.*\\?)");

  private static final Pattern NAME_STAND_IN =
      Pattern.compile(
          "[wW](?:ho|hat)[A-Z]|[wW](?:ho|hat)ever|[sS]ome(?:body|one)|(?:[nN]o|[aA]ny|[eE]very)body");

  private static final Pattern TEST =
      Pattern.compile("@(?:Test|ParameterizedTest|RepeatedTest|TestFactory|Nested)\\b.*");
  private static final Pattern TEST_NAME =
      Pattern.compile("(?:\\bclass (\\w+)|(?:\\bvoid|>) (\\w+)\\().*");
  private static final Set<String> COMMENTED = Set.of("java", "js", "proto", "lua");
  private static final Pattern COMMENT = Pattern.compile("^(?:\\*|/\\*|//|--).*");
  private static final Set<String> SKIPPED =
      Set.of("target", "node_modules", ".git", "sluice-data");

  @Test
  void sentences_nameTheirSubject() throws IOException {
    List<String> found = new ArrayList<>();
    for (Path file : sources()) {
      String name = Pages.ROOT.relativize(file).toString();
      String kind = name.substring(name.lastIndexOf('.') + 1);
      List<String> lines = Files.readAllLines(file);
      for (int i = 0; i < lines.size(); i++) {
        if (hasStandIn(kind, lines.get(i))) {
          found.add(name + ":" + (i + 1) + ": " + lines.get(i).strip());
        }
      }
    }
    assertThat(found).as("write the noun instead").hasSizeLessThanOrEqualTo(LEFT);
  }

  @Test
  void namesOfTests_nameTheirSubject() throws IOException {
    List<String> found = new ArrayList<>();
    int tests = 0;
    for (Path file : sources()) {
      if (file.toString().endsWith(".java")) {
        List<String> names = testNames(Files.readAllLines(file));
        tests += names.size();
        names.stream()
            .filter(PlainWordsTest::isStandIn)
            .forEach(name -> found.add(Pages.ROOT.relativize(file) + ": " + name));
      }
    }
    assertThat(tests).as("tests whose names were checked").isGreaterThan(2_500);
    assertThat(found).as("name the subject and its behavior").hasSizeLessThanOrEqualTo(NAMES_LEFT);
  }

  @Test
  void check_findsAStandIn() {
    assertThat(hasStandIn("java", "  /** Who waits is served first. */")).isTrue();
    assertThat(hasStandIn("md", "It is full. Nobody barges in.")).isTrue();
    assertThat(hasStandIn("java", "  String Who = name;")).isFalse();
    assertThat(hasStandIn("md", "What would limits do to your load?")).isFalse();
  }

  @Test
  void check_findsAStandInInANameOfATest() {
    List<String> source =
        List.of(
            "  @ParameterizedTest",
            "  @ValueSource(ints = {1, 2})",
            "  void whoAsksTwice_isServedOnce(int cost) {}",
            "  @Test",
            "  void expiredLease_isRedelivered() {}",
            "  void notWhatATestIs() {}",
            "  @Nested",
            "  final class Nobody extends TicketContract {}");
    assertThat(testNames(source))
        .containsExactly("whoAsksTwice_isServedOnce", "expiredLease_isRedelivered", "Nobody")
        .filteredOn(PlainWordsTest::isStandIn)
        .containsExactly("whoAsksTwice_isServedOnce", "Nobody");
    assertThat(isStandIn("key_seesWhatItMayRead")).isTrue();
    assertThat(isStandIn("tickets_ofSomebody_areNotFound")).isTrue();
    assertThat(isStandIn("whole_isReadByEveryNode")).isFalse();
    assertThat(isStandIn("scan_whoseVisitorThrows_leavesTheStoreUsable")).isFalse();
  }

  private static boolean isStandIn(String name) {
    return NAME_STAND_IN.matcher(name).find();
  }

  /** Returns the names of the test methods and nested test classes of a Java source. */
  private static List<String> testNames(List<String> lines) {
    List<String> names = new ArrayList<>();
    boolean annotated = false;
    for (String line : lines) {
      String text = line.strip();
      annotated |= TEST.matcher(text).matches();
      Matcher name = TEST_NAME.matcher(text);
      if (annotated && !text.startsWith("@") && name.find()) {
        names.add(name.group(1) != null ? name.group(1) : name.group(2));
        annotated = false;
      }
    }
    return names;
  }

  private static boolean hasStandIn(String kind, String line) {
    String text = line.strip();
    return (!COMMENTED.contains(kind) || COMMENT.matcher(text).matches())
        && STAND_IN.matcher(text).find();
  }

  private static List<Path> sources() throws IOException {
    List<Path> files = new ArrayList<>();
    Files.walkFileTree(
        Pages.ROOT,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult preVisitDirectory(Path folder, BasicFileAttributes unused) {
            return SKIPPED.contains(folder.getFileName().toString())
                ? FileVisitResult.SKIP_SUBTREE
                : FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes unused) {
            String name = file.getFileName().toString();
            String kind = name.substring(name.lastIndexOf('.') + 1);
            if (COMMENTED.contains(kind) || kind.equals("md")) {
              files.add(file);
            }
            return FileVisitResult.CONTINUE;
          }
        });
    return files;
  }
}
