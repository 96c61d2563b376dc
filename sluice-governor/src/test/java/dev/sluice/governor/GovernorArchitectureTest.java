package dev.sluice.governor;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The dependencies of the governor. */
@Tag("any-jdk")
final class GovernorArchitectureTest {
  private static final String API = "dev.sluice.governor";
  private static final String ENGINE = "dev.sluice.governor.internal.engine";
  private static final String LOCAL = "dev.sluice.governor.internal.local";
  private static final String MONITOR = "dev.sluice.governor.internal.monitor";
  private static final String SPI = "dev.sluice.governor.spi";

  private static final JavaClasses GOVERNOR =
      new ClassFileImporter()
          .importUrl(Governor.class.getProtectionDomain().getCodeSource().getLocation());

  @Test
  void governor_dependsOnCoreJacksonAndSlf4jAlone() {
    classes()
        .should()
        .onlyDependOnClassesThat(
            resideInAnyPackage(
                "dev.sluice",
                "dev.sluice.internal.bucket",
                "dev.sluice.internal.time",
                "dev.sluice.internal.util",
                "dev.sluice.governor..",
                "java..",
                "org.jspecify.annotations",
                "com.fasterxml.jackson..",
                "org.slf4j.."))
        .check(GOVERNOR);
  }

  /** The API is below all, and creates the store and the monitor at the top. */
  @Test
  void packages_dependInOneDirection() {
    requireNoUse(SPI, ENGINE, LOCAL, MONITOR);
    requireNoUse(ENGINE, LOCAL, MONITOR);
    requireNoUse(LOCAL, MONITOR);
    requireNoUse(MONITOR, ENGINE, LOCAL);
    requireNoUse(API, ENGINE);
  }

  @Test
  void onlyEntryPoints_createStoreAndMonitor() {
    noClasses()
        .that()
        .resideInAPackage(API)
        .and()
        .doNotBelongToAnyOf(Governor.class, BudgetStore.class, ProviderResponses.class)
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage(LOCAL, MONITOR)
        .check(GOVERNOR);
  }

  private static void requireNoUse(String name, String... others) {
    noClasses()
        .that()
        .resideInAPackage(name)
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage(others)
        .check(GOVERNOR);
  }
}
