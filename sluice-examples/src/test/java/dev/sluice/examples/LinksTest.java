package dev.sluice.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Links of the documentation lead somewhere, and its index to every page. */
final class LinksTest {
  private static final Pattern LINK = Pattern.compile("\\]\\(([^)\\s]+)\\)");
  private static final Pattern IMAGE = Pattern.compile("(?:src|srcset)=\"([^\"]+)\"");
  private static final Pattern HEADING = Pattern.compile("(?m)^#+ (.*)$");
  private static final String SOURCES = "../../sluice-examples/src/test/java/dev/sluice/examples/";
  private static final Pattern SPAN = Pattern.compile("`[^`\\n]*`");

  @Test
  void links_resolve() {
    List<String> broken = new ArrayList<>();
    for (Path page : Pages.all()) {
      for (String target : links(page)) {
        if (!target.contains("://") && !exists(page, target)) {
          broken.add(Pages.ROOT.relativize(page) + " -> " + target);
        }
      }
    }
    assertThat(broken).isEmpty();
  }

  private static List<String> links(Path page) {
    String prose = SPAN.matcher(Pages.prose(Pages.read(page))).replaceAll("");
    List<String> links = new ArrayList<>(Pages.groups(LINK, prose));
    links.addAll(Pages.groups(IMAGE, prose));
    return links;
  }

  private static boolean exists(Path page, String target) {
    String[] parts = target.split("#", 2);
    Path file = parts[0].isEmpty() ? page : page.getParent().resolve(parts[0]).normalize();
    if (!Files.exists(file)) {
      return false;
    }
    return parts.length == 1 || anchors(file).contains(parts[1]);
  }

  private static Set<String> anchors(Path page) {
    Set<String> anchors = new TreeSet<>();
    for (String heading : Pages.groups(HEADING, Pages.prose(Pages.read(page)))) {
      anchors.add(
          heading
              .strip()
              .toLowerCase(Locale.ROOT)
              .replaceAll("[^\\p{L}\\p{N} _-]", "")
              .replace(' ', '-'));
    }
    return anchors;
  }

  @Test
  void index_leadsToEveryPage() {
    Path docs = Pages.ROOT.resolve("docs");
    Set<Path> linked = new TreeSet<>();
    Path index = docs.resolve("README.md");
    links(index).stream()
        .filter(link -> !link.contains("://"))
        .forEach(link -> linked.add(docs.resolve(link.replaceAll("#.*", "")).normalize()));
    List<Path> pages =
        Pages.all().stream().filter(page -> page.startsWith(docs) && !page.equals(index)).toList();
    assertThat(linked).containsAll(pages);
  }

  /** A recipe shows its imports and dependencies. */
  @Test
  void recipes_leadToTheirSourceAndDependency() {
    List<Path> recipes =
        Pages.all().stream()
            .filter(page -> page.startsWith(Pages.ROOT.resolve("docs/recipes")))
            .toList();
    assertThat(recipes).hasSizeGreaterThan(5);
    assertThat(recipes)
        .allSatisfy(
            page ->
                assertThat(links(page))
                    .contains("../library.md#in-your-build")
                    .anyMatch(link -> link.startsWith(SOURCES) && link.endsWith(".java")));
  }

  /** People look for these by name. */
  @Test
  void contributing_namesEveryModule() throws Exception {
    String page = Pages.read("CONTRIBUTING.md");
    try (Stream<Path> files = Files.list(Pages.ROOT)) {
      List<String> modules =
          files
              .filter(each -> Files.exists(each.resolve("pom.xml")))
              .map(each -> each.getFileName().toString())
              .toList();
      assertThat(modules).hasSizeGreaterThan(10);
      assertThat(modules).allSatisfy(each -> assertThat(page).contains("| `" + each + "` |"));
    }
  }
}
