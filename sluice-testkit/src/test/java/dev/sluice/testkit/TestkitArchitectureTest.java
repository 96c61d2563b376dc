package dev.sluice.testkit;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The direction of dependencies that the pages of the packages promise. */
@Tag("any-jdk")
final class TestkitArchitectureTest {
  private static final String ROOT = "dev.sluice.testkit";
  private static final String CONTRACT = ROOT + ".contract";
  private static final String LOAD = ROOT + ".load";
  private static final String REDIS = ROOT + ".redis";

  private static final JavaClasses TESTKIT =
      new ClassFileImporter()
          .importUrl(Await.class.getProtectionDomain().getCodeSource().getLocation());

  @Test
  void processesAndWaits_dependOnNoOtherPackage() {
    noClasses()
        .that()
        .resideInAPackage(ROOT)
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage(CONTRACT, LOAD, REDIS)
        .check(TESTKIT);
  }

  @Test
  void serversAndLoads_dependNeitherOnContractsNorOnEachOther() {
    noClasses()
        .that()
        .resideInAPackage(REDIS)
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage(CONTRACT, LOAD)
        .check(TESTKIT);
    noClasses()
        .that()
        .resideInAPackage(LOAD)
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage(CONTRACT, REDIS)
        .check(TESTKIT);
  }
}
