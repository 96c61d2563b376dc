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
  private static final String ENGINE = "dev.sluice.governor.engine";
  private static final String LOCAL = "dev.sluice.governor.local";
  private static final String MONITOR = "dev.sluice.governor.monitor";

  private static final JavaClasses GOVERNOR =
      new ClassFileImporter()
          .importUrl(Governor.class.getProtectionDomain().getCodeSource().getLocation());

  @Test
  void governor_dependsOnCoreJacksonAndSlf4jAlone() {
    classes()
        .should()
        .onlyDependOnClassesThat(
            resideInAnyPackage(
                "dev.sluice..",
                "java..",
                "org.jspecify.annotations",
                "com.fasterxml.jackson..",
                "org.slf4j.."))
        .check(GOVERNOR);
    noClasses()
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("dev.sluice.broker..", "dev.sluice.redis..", "dev.sluice.server..")
        .check(GOVERNOR);
  }

  @Test
  void engine_knowsNeitherStoreNorMonitor() {
    noClasses()
        .that()
        .resideInAPackage(ENGINE)
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage(LOCAL, MONITOR)
        .check(GOVERNOR);
  }

  @Test
  void monitor_usesTheApiAndSpiAlone() {
    noClasses()
        .that()
        .resideInAPackage(MONITOR)
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage(ENGINE, LOCAL)
        .check(GOVERNOR);
  }

  @Test
  void localStore_doesNotKnowTheMonitor() {
    noClasses()
        .that()
        .resideInAPackage(LOCAL)
        .should()
        .dependOnClassesThat()
        .resideInAPackage(MONITOR)
        .check(GOVERNOR);
  }
}
