package dev.sluice.redis;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.type;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import io.lettuce.core.cluster.SlotHash;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The dependencies of the limits in Redis. */
@Tag("any-jdk")
final class RedisArchitectureTest {
  private static final String CONNECTION = "dev.sluice.redis.internal.connection";

  private static final JavaClasses REDIS =
      new ClassFileImporter()
          .importUrl(SharedLimits.class.getProtectionDomain().getCodeSource().getLocation());

  @Test
  void redis_dependsOnCoreAndLettuceAlone() {
    classes()
        .should()
        .onlyDependOnClassesThat(
            resideInAnyPackage(
                "dev.sluice",
                "dev.sluice.internal..",
                "dev.sluice.redis..",
                "java..",
                "org.jspecify.annotations",
                "io.lettuce..",
                "io.netty..",
                "reactor.core.publisher",
                "org.slf4j.."))
        .check(REDIS);
  }

  @Test
  void connection_doesNotDependOnTheScripts() {
    noClasses()
        .that()
        .resideInAPackage(CONNECTION)
        .should()
        .dependOnClassesThat()
        .resideInAPackage("dev.sluice.redis.internal.limits")
        .check(REDIS);
  }

  @Test
  void lettuce_isUsedByTheConnectionAlone_butForTheSlotsOfACluster() {
    noClasses()
        .that()
        .resideOutsideOfPackage(CONNECTION)
        .should()
        .dependOnClassesThat(resideInAPackage("io.lettuce..").and(not(type(SlotHash.class))))
        .check(REDIS);
  }
}
