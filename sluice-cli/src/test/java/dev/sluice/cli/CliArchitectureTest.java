package dev.sluice.cli;

import static com.tngtech.archunit.library.Architectures.layeredArchitecture;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The dependencies between the packages of the command line point one way. */
@Tag("any-jdk")
final class CliArchitectureTest {
  private static final JavaClasses CLASSES =
      new ClassFileImporter()
          .importUrl(Sluice.class.getProtectionDomain().getCodeSource().getLocation());

  /** Demo and simulate know neither each other nor the other commands. */
  @Test
  void packages_dependOnLowerOnesOnly() {
    layeredArchitecture()
        .consideringOnlyDependenciesInLayers()
        .layer("entry point")
        .definedBy("dev.sluice.cli")
        .layer("commands")
        .definedBy("dev.sluice.cli.commands")
        .layer("demo")
        .definedBy("dev.sluice.cli.demo")
        .layer("simulate")
        .definedBy("dev.sluice.cli.simulate")
        .layer("scenarios")
        .definedBy("dev.sluice.cli.simulate.scenario")
        .layer("runtime")
        .definedBy("dev.sluice.cli.runtime")
        .layer("text")
        .definedBy("dev.sluice.cli.text")
        .whereLayer("entry point")
        .mayNotBeAccessedByAnyLayer()
        .whereLayer("commands")
        .mayOnlyBeAccessedByLayers("entry point")
        .whereLayer("demo")
        .mayOnlyBeAccessedByLayers("entry point")
        .whereLayer("simulate")
        .mayOnlyBeAccessedByLayers("entry point")
        .whereLayer("scenarios")
        .mayOnlyBeAccessedByLayers("entry point", "simulate")
        .whereLayer("runtime")
        .mayOnlyBeAccessedByLayers("entry point", "commands", "demo", "simulate", "scenarios")
        .check(CLASSES);
  }

  /** Holds for packages that are not a layer yet, too. */
  @Test
  void packages_haveNoCycles() {
    slices().matching("dev.sluice.(**)").should().beFreeOfCycles().check(CLASSES);
  }
}
