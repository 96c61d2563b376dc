package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** docs/api/core.md: its example runs, and its signatures are those of the classes. */
final class ApiPageTest {
  private static final Pattern TYPE =
      Pattern.compile("^(?:sealed )?(?:interface|class|record) (\\w+)");
  private static final Pattern METHOD = Pattern.compile("(\\w+)\\(");
  private static final Pattern WORD = Pattern.compile("\\w+");

  private static final Set<String> OF_OBJECT = Set.of("equals", "hashCode", "toString");

  private final List<String> sent = new ArrayList<>();
  private final List<Duration> retries = new ArrayList<>();

  @Test
  void example_sendsUntilTheLimitOfATenantDenies() {
    String tenant = "acme";
    String mail = "hello";
    Limits limits = Limits.create();
    limits.set("provider:mail", Limit.perSecond(5, 10)); // 5 a second, bursts of 10
    limits.set("tenant:*", Limit.ofRate(0.5, 3)); // every tenant gets a bucket of its own

    Decision decision = limits.decide(Map.of("provider:mail", 1L, "tenant:" + tenant, 2L));
    if (decision instanceof Decision.Granted) {
      send(mail);
    } else if (decision instanceof Decision.Denied denied) {
      retryIn(denied.retryAfter()); // exact; denied.limitName() says which limit
    }
    assertThat(sent).containsExactly("hello");
    assertThat(retries).isEmpty();
    assertThat(limits.decide(Map.of("provider:mail", 1L, "tenant:" + tenant, 2L)))
        .isInstanceOfSatisfying(
            Decision.Denied.class,
            denied -> assertThat(denied.limitName()).isEqualTo("tenant:acme"));
  }

  private void send(String mail) {
    sent.add(mail);
  }

  private void retryIn(Duration delay) {
    retries.add(delay);
  }

  @Test
  void signatures_matchTheClasses() throws Exception {
    Map<String, String> sections = sections();
    assertThat(sections).hasSize(15);
    for (Map.Entry<String, String> section : sections.entrySet()) {
      Class<?> type = Class.forName("dev.sluice." + section.getKey());
      Set<String> shown = words(WORD, section.getValue());
      Set<String> methods = methods(type);
      assertThat(shown).as("methods of %s on the page", type).containsAll(methods);
      Set<String> known = new TreeSet<>(methods);
      types(type).map(Class::getSimpleName).forEach(known::add);
      assertThat(known)
          .as("methods of the page in %s", type)
          .containsAll(words(METHOD, section.getValue().replaceAll("//.*", "")));
    }
  }

  /** Where overloads matter: only few methods take explicit times. */
  @Test
  void parameters_ofBucketAndLimits_matchTheClasses() throws Exception {
    for (Class<?> type : List.of(TokenBucket.class, Limits.class, FairScheduler.class)) {
      String section = sections().get(type.getSimpleName());
      Set<String> shown = new TreeSet<>();
      for (String line : section.replaceAll("//.*", "").lines().toList()) {
        if (METHOD.matcher(line).find() && !line.contains("static")) {
          shown.add(withoutNames(line.replaceAll("^.* (\\w+\\(.*\\)).*$", "$1")));
        }
      }
      assertThat(instanceMethods(type).map(ApiPageTest::signature))
          .as(type.getSimpleName())
          .containsExactlyInAnyOrderElementsOf(shown);
    }
  }

  private static Stream<Method> instanceMethods(Class<?> type) {
    return Arrays.stream(type.getDeclaredMethods())
        .filter(each -> Modifier.isPublic(each.getModifiers()) && !each.isSynthetic())
        .filter(each -> !Modifier.isStatic(each.getModifiers()));
  }

  private static String signature(Method method) {
    return Arrays.stream(method.getGenericParameterTypes())
        .map(each -> each.getTypeName().replaceAll("[\\w.]+[.$](\\w+)", "$1"))
        .collect(Collectors.joining(", ", method.getName() + "(", ")"));
  }

  private static String withoutNames(String signature) {
    return signature.replaceAll(" \\w+([,)])", "$1");
  }

  private static Set<String> methods(Class<?> type) {
    return types(type)
        .flatMap(each -> Arrays.stream(each.getDeclaredMethods()))
        .filter(each -> Modifier.isPublic(each.getModifiers()) && !each.isSynthetic())
        .filter(each -> !each.getDeclaringClass().isEnum())
        .map(Method::getName)
        .filter(name -> !OF_OBJECT.contains(name) && !name.equals("build"))
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private static Stream<Class<?>> types(Class<?> type) {
    return Stream.concat(
        Stream.of(type),
        Arrays.stream(type.getDeclaredClasses())
            .filter(each -> Modifier.isPublic(each.getModifiers()))
            .flatMap(ApiPageTest::types));
  }

  private static Set<String> words(Pattern pattern, String text) {
    Set<String> words = new TreeSet<>();
    Matcher matcher = pattern.matcher(text);
    while (matcher.find()) {
      words.add(matcher.group(matcher.groupCount()));
    }
    return words;
  }

  /** The signatures of the page by type. */
  private static Map<String, String> sections() throws IOException {
    Map<String, String> sections = new LinkedHashMap<>();
    String type = "";
    boolean code = false;
    for (String line : Files.readAllLines(Path.of("../docs/api/core.md"))) {
      if (line.startsWith("```")) {
        code = line.equals("```text");
      } else if (code) {
        Matcher matcher = TYPE.matcher(line);
        type = matcher.find() ? matcher.group(1) : type;
        sections.merge(type, line + "\n", String::concat);
      }
    }
    return sections;
  }
}
