package dev.sluice.client;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noCodeUnits;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noFields;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noMethods;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The dependencies of the client. */
@Tag("any-jdk")
final class ClientArchitectureTest {
  private static final String API = "dev.sluice.client";
  private static final String INTERNAL = "dev.sluice.client.internal..";

  private static final DescribedPredicate<JavaClass> PUBLISHED =
      DescribedPredicate.describe(
          "are public types of the API",
          type ->
              type.getPackageName().equals(API)
                  && type.getModifiers().contains(JavaModifier.PUBLIC));

  private static final JavaClasses CLIENT =
      new ClassFileImporter()
          .importUrl(SluiceClient.class.getProtectionDomain().getCodeSource().getLocation());

  @Test
  void client_dependsOnCoreProtoAndGrpcAlone() {
    classes()
        .should()
        .onlyDependOnClassesThat(
            resideInAnyPackage(
                "dev.sluice",
                API,
                INTERNAL,
                "dev.sluice.proto..",
                "java..",
                "javax.net.ssl",
                "org.jspecify.annotations",
                "com.google.protobuf..",
                "com.google.common..",
                "com.google.errorprone.annotations..",
                "io.grpc.."))
        .check(CLIENT);
  }

  @Test
  void api_showsNeitherInternalTypesNorTheProtocol() {
    DescribedPredicate<JavaClass> hidden =
        resideInAnyPackage(INTERNAL, "dev.sluice.proto..", "io.grpc..", "com.google..");
    noCodeUnits()
        .that()
        .arePublic()
        .and()
        .areDeclaredInClassesThat(PUBLISHED)
        .should()
        .haveRawParameterTypes(anyOf(hidden))
        .check(CLIENT);
    noFields()
        .that()
        .arePublic()
        .and()
        .areDeclaredInClassesThat(PUBLISHED)
        .should()
        .haveRawType(hidden)
        .check(CLIENT);
    noMethods()
        .that()
        .arePublic()
        .and()
        .areDeclaredInClassesThat(PUBLISHED)
        .should()
        .haveRawReturnType(hidden)
        .check(CLIENT);
  }

  private static DescribedPredicate<List<JavaClass>> anyOf(DescribedPredicate<JavaClass> hidden) {
    return DescribedPredicate.describe(
        "of which one is " + hidden.getDescription(),
        parameters -> parameters.stream().anyMatch(hidden));
  }
}
