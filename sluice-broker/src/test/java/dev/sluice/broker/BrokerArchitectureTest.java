package dev.sluice.broker;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.belongToAnyOf;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import dev.sluice.broker.internal.runtime.LocalBroker;
import dev.sluice.broker.internal.store.rocks.RocksStore;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The dependencies and the public types of the broker. */
@Tag("any-jdk")
final class BrokerArchitectureTest {
  private static final String ENGINE = "dev.sluice.broker.internal.engine";

  private static final JavaClasses BROKER =
      new ClassFileImporter()
          .importUrl(Broker.class.getProtectionDomain().getCodeSource().getLocation());

  @Test
  void broker_dependsOnCoreRocksDbAndLuaAlone() {
    classes()
        .should()
        .onlyDependOnClassesThat(
            resideInAnyPackage(
                "dev.sluice",
                "dev.sluice.broker..",
                "java..",
                "com.sun.management",
                "com.sun.nio.file", // direct I/O
                "org.jspecify.annotations",
                "org.luaj..",
                "org.rocksdb"))
        .check(BROKER);
  }

  @Test
  void engine_readsNoClock_startsNoThread_andKnowsNoRocksDb() {
    noClasses()
        .that()
        .resideInAPackage(ENGINE)
        .should()
        .callMethod(System.class, "nanoTime")
        .orShould()
        .callMethod(System.class, "currentTimeMillis")
        .orShould()
        .dependOnClassesThat(resideInAnyPackage("org.rocksdb", "org.luaj..", "java.nio.file"))
        .orShould()
        .dependOnClassesThat(belongToAnyOf(Thread.class, RocksStore.class))
        .check(BROKER);
  }

  /** Only the factory in {@link Broker} refers to an implementation of the API. */
  @Test
  void packages_haveNoCycles() {
    slices()
        .matching("dev.sluice.(**)")
        .should()
        .beFreeOfCycles()
        .ignoreDependency(Broker.class, LocalBroker.class)
        .check(BROKER);
  }

  /** Rules that do not follow from the absence of cycles. */
  @Test
  void packages_knowNoMoreThanTheyNeed() {
    classes()
        .that()
        .resideInAPackage("dev.sluice.broker")
        .and()
        .doNotHaveFullyQualifiedName(Broker.class.getName()) // the factory
        .should()
        .onlyDependOnClassesThat(
            resideInAnyPackage(
                "dev.sluice",
                "dev.sluice.broker",
                "dev.sluice.broker.internal.util",
                "java..",
                "org.jspecify.annotations"))
        .check(BROKER);
    noClasses()
        .that()
        .resideInAPackage(ENGINE)
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage(
            "dev.sluice.broker.internal.lua", "dev.sluice.broker.internal.store.rocks")
        .check(BROKER);
    noClasses()
        .that()
        .resideInAnyPackage("dev.sluice.broker.internal.lua", "dev.sluice.broker.internal.hooks")
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage(
            ENGINE, "dev.sluice.broker.internal.accounting", "dev.sluice.broker.internal.store..")
        .check(BROKER);
    noClasses()
        .that()
        .doNotHaveFullyQualifiedName(Broker.class.getName())
        .and()
        .doNotHaveFullyQualifiedName(LocalBroker.class.getName())
        .should()
        .dependOnClassesThat(belongToAnyOf(LocalBroker.class))
        .check(BROKER);
  }

  @Test
  void rocksDbAndLua_areUsedByOnePackageEach() {
    noClasses()
        .that()
        .resideOutsideOfPackage("dev.sluice.broker.internal.store.rocks")
        .should()
        .dependOnClassesThat()
        .resideInAPackage("org.rocksdb")
        .check(BROKER);
    noClasses()
        .that()
        .resideOutsideOfPackage("dev.sluice.broker.internal.lua")
        .should()
        .dependOnClassesThat()
        .resideInAPackage("org.luaj..")
        .check(BROKER);
  }

  @Test
  void mostTypes_areHidden() {
    List<JavaClass> topLevel =
        BROKER.stream()
            .filter(type -> !type.isNestedClass() && !type.getSimpleName().endsWith("-info"))
            .toList();
    List<JavaClass> shown =
        topLevel.stream()
            .filter(type -> type.getPackageName().equals("dev.sluice.broker"))
            .filter(type -> type.getModifiers().contains(JavaModifier.PUBLIC))
            .toList();
    System.out.printf(
        "types of the API of sluice-broker: %d of %d%n", shown.size(), topLevel.size());
    assertThat(shown.size() * 100).isLessThanOrEqualTo(topLevel.size() * 35);
  }
}
