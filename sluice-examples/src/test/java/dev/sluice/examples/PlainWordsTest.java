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
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/**
 * Comments and documentation name their subject. A sentence that begins with "who" or "nobody" as a
 * stand-in for a noun leaves the reader to guess whether it means a caller, a waiter or a node.
 */
final class PlainWordsTest {
  /** Sentences that are left, questions aside. Lower it when some go; never raise it. */
  private static final int LEFT = 10;

  private static final Pattern STAND_IN =
      Pattern.compile(
          "(?:^|[.:;!?] +|\\* +|// +|> +|\\| +|^- +)"
              + "(?:Who|Whoever|Whose|What|Whatever|Somebody|Someone|Nobody|Anybody|Everybody)"
              + " (?!.*\\?)");

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
  void check_findsAStandIn() {
    assertThat(hasStandIn("java", "  /** Who waits is served first. */")).isTrue();
    assertThat(hasStandIn("md", "It is full. Nobody barges in.")).isTrue();
    assertThat(hasStandIn("java", "  String Who = name;")).isFalse();
    assertThat(hasStandIn("md", "What would limits do to your load?")).isFalse();
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
