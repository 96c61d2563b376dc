package dev.sluice.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The artifacts that the documentation names are those that this build makes. */
final class ArtefactsTest {
  private static final Pattern PARENT_VERSION =
      Pattern.compile("<artifactId>sluice-parent</artifactId>\\s*<version>([^<]+)</version>");
  private static final Pattern MAVEN =
      Pattern.compile(
          "<groupId>dev\\.sluice</groupId>\\s*<artifactId>([^<]+</artifactId>\\s*<version>[^<]+)<");
  private static final Pattern GRADLE = Pattern.compile("\"dev\\.sluice:([^\"]+)\"");

  @Test
  void dependencies_areOfThisVersion() {
    String version = Pages.groups(PARENT_VERSION, Pages.read("sluice-core/pom.xml")).get(0);
    int found = 0;
    for (Path page : Pages.all()) {
      for (String each : coordinates(Pages.read(page))) {
        String artifact = each.substring(0, each.indexOf(':'));
        assertThat(each).as("in %s", page.getFileName()).isEqualTo(artifact + ":" + version);
        assertThat(Pages.ROOT.resolve(artifact).resolve("pom.xml")).exists();
        found++;
      }
    }
    assertThat(found).isGreaterThanOrEqualTo(2);
  }

  private static List<String> coordinates(String page) {
    List<String> maven =
        Pages.groups(MAVEN, page).stream()
            .map(each -> each.replaceAll("</artifactId>\\s*<version>", ":"))
            .toList();
    List<String> gradle = Pages.groups(GRADLE, page);
    return Stream.concat(maven.stream(), gradle.stream()).toList();
  }
}
