package dev.sluice;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.assignableTo;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import java.lang.module.ModuleDescriptor;
import java.lang.module.ModuleFinder;
import java.lang.module.ModuleReference;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Dependencies and exports of the core. */
@Tag("any-jdk")
final class ArchitectureTest {
  private static final String API = "dev.sluice";
  private static final String INTERNAL = "dev.sluice.internal..";
  private static final Path LOCATION = location();
  private static final JavaClasses CORE = new ClassFileImporter().importPath(LOCATION);

  private static Path location() {
    try {
      return Path.of(Limit.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    } catch (URISyntaxException broken) {
      throw new IllegalStateException(broken);
    }
  }

  @Test
  void core_dependsOnTheJdkAlone() {
    classes()
        .should()
        .onlyDependOnClassesThat(
            resideInAnyPackage(API, INTERNAL, "java..", "org.jspecify.annotations"))
        .check(CORE);
  }

  @Test
  void types_areInTheExportedPackageOrInternal() {
    classes().should().resideInAnyPackage(API, INTERNAL).check(CORE);
  }

  /** Except to modules of Sluice. On the class path nothing hides them. */
  @Test
  void internalPackages_areNotExported() {
    ModuleReference core =
        ModuleFinder.of(LOCATION).find(API).orElseThrow(() -> new AssertionError(LOCATION));
    assertThat(core.descriptor().exports())
        .filteredOn(export -> !export.isQualified())
        .extracting(ModuleDescriptor.Exports::source)
        .containsExactly(API);
  }

  @Test
  void buckets_doNotDependOnLimitsSchedulerOrExecutor() {
    noClasses()
        .that()
        .resideInAPackage("dev.sluice.internal.bucket")
        .should()
        .dependOnClassesThat(
            resideInAnyPackage(
                "dev.sluice.internal.limits",
                "dev.sluice.internal.scheduler",
                "dev.sluice.internal.executor"))
        .check(CORE);
  }

  /** So the broker's engine can be simulated: a scheduler decides by the time that it is told. */
  @Test
  void scheduler_hasNoClockAndNoThread() {
    noClasses()
        .that()
        .resideInAPackage("dev.sluice.internal.scheduler")
        .should()
        .dependOnClassesThat(
            assignableTo(NanoClock.class)
                .or(assignableTo(Thread.class))
                .or(
                    resideInAnyPackage(
                        "java.util.concurrent..",
                        "dev.sluice.internal.time",
                        "dev.sluice.internal.limits",
                        "dev.sluice.internal.executor")))
        .check(CORE);
  }

  @Test
  void utilities_knowNothingOfLimits() {
    noClasses()
        .that()
        .resideInAPackage("dev.sluice.internal.util")
        .should()
        .dependOnClassesThat(
            resideInAnyPackage(API, INTERNAL)
                .and(not(resideInAPackage("dev.sluice.internal.util"))))
        .check(CORE);
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
            .filter(type -> type.getPackageName().equals(API))
            .filter(type -> type.getModifiers().contains(JavaModifier.PUBLIC))
            .toList();
    System.out.printf("exported types of sluice-core: %d of %d%n", shown.size(), topLevel.size());
    assertThat(shown.size() * 100).isLessThanOrEqualTo(topLevel.size() * 35);
  }
}
