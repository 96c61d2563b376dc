package dev.sluice.governor;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Type;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Holds the signatures of docs/api/governor.md to the classes. */
class ApiPageTest {
  private static final Path PAGE = Path.of("..", "docs", "api", "governor.md");
  private static final Pattern TYPE =
      Pattern.compile(
          "^(?:class|interface) (\\w+)[^\\n]*\\{\\n(.*?)^\\}", Pattern.DOTALL | Pattern.MULTILINE);
  private static final Pattern METHOD =
      Pattern.compile("^  ((?:static )?[\\w.<>, ]+ \\w+)\\(([^)]*)\\)", Pattern.MULTILINE);
  private static final Pattern BUILDER =
      Pattern.compile("Builder builder\\([^)]*\\) +(//[^\\n]*(?:\\n {10,}//[^\\n]*)*)");

  private final List<MatchResult> types = types();

  private static List<MatchResult> types() {
    try {
      return TYPE.matcher(Files.readString(PAGE)).results().toList();
    } catch (IOException missing) {
      throw new AssertionError(PAGE.toString(), missing);
    }
  }

  private static Class<?> named(String name) {
    try {
      return Class.forName("dev.sluice.governor." + name);
    } catch (ClassNotFoundException missing) {
      throw new AssertionError(name, missing);
    }
  }

  private static Stream<String> shown(String body) {
    return METHOD
        .matcher(body)
        .results()
        .filter(each -> !each.group(1).startsWith("record "))
        .map(
            each ->
                each.group(1)
                    + Arrays.stream(each.group(2).split(", "))
                        .map(parameter -> parameter.replaceAll(" \\w+$", ""))
                        .collect(Collectors.joining(", ", "(", ")")));
  }

  private static Stream<String> declared(Class<?> type) {
    return Arrays.stream(type.getDeclaredMethods())
        .filter(each -> Modifier.isPublic(each.getModifiers()) && !each.isSynthetic())
        .map(ApiPageTest::signature);
  }

  private static String signature(Method method) {
    return (Modifier.isStatic(method.getModifiers()) ? "static " : "")
        + simple(method.getGenericReturnType())
        + " "
        + method.getName()
        + Arrays.stream(method.getGenericParameterTypes())
            .map(ApiPageTest::simple)
            .collect(Collectors.joining(", ", "(", ")"));
  }

  /** As code names it: without packages, and nested types as the page has them. */
  private static String simple(Type type) {
    return type.getTypeName()
        .replaceAll("\\b[a-z]\\w*\\.", "")
        .replace('$', '.')
        .replaceAll("\\w+\\.(Builder|Blocking)\\b", "$1");
  }

  @Test
  void methodsOnThePage_exist() {
    assertThat(types).hasSizeGreaterThanOrEqualTo(5);
    List<String> missing = new ArrayList<>();
    for (MatchResult type : types) {
      List<String> present = declared(named(type.group(1))).toList();
      shown(type.group(2))
          .filter(each -> !present.contains(each))
          .forEach(each -> missing.add(type.group(1) + ": " + each));
    }
    assertThat(missing).isEmpty();
  }

  @Test
  void methodsOfGovernor_areOnThePage() {
    String body =
        types.stream()
            .filter(each -> each.group(1).equals("Governor"))
            .map(each -> each.group(2))
            .collect(Collectors.joining());
    assertThat(shown(body)).containsExactlyInAnyOrderElementsOf(declared(Governor.class).toList());
  }

  @Test
  void settingsOfBuilders_areThoseOnThePage() {
    int builders = 0;
    for (MatchResult type : types) {
      for (MatchResult found : BUILDER.matcher(type.group(2)).results().toList()) {
        builders++;
        List<String> listed =
            Arrays.stream(found.group(1).replaceAll("[/\\n]", " ").split("[,|]"))
                .map(String::strip)
                .toList();
        List<String> settings =
            Arrays.stream(named(type.group(1) + "$Builder").getDeclaredMethods())
                .filter(each -> Modifier.isPublic(each.getModifiers()))
                .map(Method::getName)
                .filter(each -> !each.equals("build"))
                .toList();
        assertThat(listed).as(type.group(1)).containsExactlyInAnyOrderElementsOf(settings);
      }
    }
    assertThat(builders).isEqualTo(3);
  }
}
