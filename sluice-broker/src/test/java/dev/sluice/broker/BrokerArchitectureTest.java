package dev.sluice.broker;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.belongToAnyOf;
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

/** What the broker may know and show. */
@Tag("any-jdk")
final class BrokerArchitectureTest {
  private static final JavaClasses BROKER =
      new ClassFileImporter()
          .importUrl(Broker.class.getProtectionDomain().getCodeSource().getLocation());

  /** The state machine, and what it is made of. */
  private static final Class<?>[] MACHINE = {
    Engine.class,
    BrokerState.class,
    Intake.class,
    Dispatch.class,
    Failures.class,
    Admin.class,
    Recovery.class,
    Line.class,
    Entry.class,
    Timers.class,
    MessageIndex.class,
    Batch.class,
  };

  @Test
  void broker_isOnePackage_onCoreRocksDbAndLua() {
    classes().should().resideInAPackage("dev.sluice.broker").check(BROKER);
    classes()
        .should()
        .onlyDependOnClassesThat(
            resideInAnyPackage(
                "dev.sluice",
                "dev.sluice.broker",
                "java..",
                "com.sun.management",
                "com.sun.nio.file", // direct I/O
                "org.jspecify.annotations",
                "org.luaj..",
                "org.rocksdb"))
        .check(BROKER);
  }

  @Test
  void theStateMachine_readsNoClock_startsNoThread_andKnowsNoRocksDb() {
    noClasses()
        .that(belongToAnyOf(MACHINE))
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

  @Test
  void mostTypes_areHidden() {
    List<JavaClass> topLevel =
        BROKER.stream()
            .filter(type -> !type.isNestedClass() && !type.getSimpleName().endsWith("-info"))
            .toList();
    List<JavaClass> shown =
        topLevel.stream()
            .filter(type -> type.getModifiers().contains(JavaModifier.PUBLIC))
            .toList();
    System.out.printf("public types of sluice-broker: %d of %d%n", shown.size(), topLevel.size());
    assertThat(shown.size() * 100).isLessThanOrEqualTo(topLevel.size() * 35);
  }
}
