package dev.sluice;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What the core may know and show. */
@Tag("any-jdk")
final class ArchitectureTest {
  private static final JavaClasses CORE =
      new ClassFileImporter()
          .importUrl(Limit.class.getProtectionDomain().getCodeSource().getLocation());

  @Test
  void core_dependsOnTheJdkAlone() {
    classes()
        .should()
        .onlyDependOnClassesThat(
            resideInAnyPackage("dev.sluice", "java..", "org.jspecify.annotations"))
        .check(CORE);
  }

  @Test
  void core_isOnePackage() {
    classes().should().resideInAPackage("dev.sluice").check(CORE);
  }

  @Test
  void onlyClocks_readTheTime() {
    noClasses()
        .that()
        .doNotHaveSimpleName("SystemClock")
        .and()
        .doNotHaveSimpleName("CoarseClock")
        .should()
        .callMethod(System.class, "nanoTime")
        .orShould()
        .callMethod(System.class, "currentTimeMillis")
        .check(CORE);
  }

  @Test
  void mostTypes_areHidden() {
    List<JavaClass> topLevel =
        CORE.stream()
            .filter(type -> !type.isNestedClass() && !type.getSimpleName().endsWith("-info"))
            .toList();
    List<JavaClass> shown =
        topLevel.stream()
            .filter(type -> type.getModifiers().contains(JavaModifier.PUBLIC))
            .toList();
    System.out.printf("public types of sluice-core: %d of %d%n", shown.size(), topLevel.size());
    assertThat(shown.size() * 100).isLessThanOrEqualTo(topLevel.size() * 35);
  }
}
