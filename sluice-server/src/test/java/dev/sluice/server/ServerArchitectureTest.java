package dev.sluice.server;

import static com.tngtech.archunit.base.DescribedPredicate.alwaysTrue;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.belongToAnyOf;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaAccess;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaField;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.domain.JavaParameterizedType;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import dev.sluice.FairScheduler;
import dev.sluice.broker.Broker;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.redis.RedisBudgets;
import dev.sluice.redis.RedisUnavailableException;
import dev.sluice.server.auth.QueueAuthorization;
import dev.sluice.server.config.Setting;
import dev.sluice.server.http.HttpRoute;
import dev.sluice.server.operations.QueueOperations;
import java.net.URL;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Rules for code that handles what clients send. */
@Tag("any-jdk")
final class ServerArchitectureTest {
  private static final JavaClasses CLASSES =
      new ClassFileImporter()
          .importUrls(List.of(locationOf(SluiceServer.class), locationOf(Broker.class)));

  private static URL locationOf(Class<?> type) {
    return type.getProtectionDomain().getCodeSource().getLocation();
  }

  /**
   * Immutable sets and maps of the JDK take quadratic time for names whose hashes collide. Clients
   * choose the names of queues, headers, keys and ids.
   */
  @Test
  void immutableHashTables_areNotFilledAtRunTime() {
    noClasses().should().accessTargetWhere(isQuadratic()).check(CLASSES);
  }

  /**
   * A hash map orders keys whose hashes collide if they are comparable, and compares them one by
   * one otherwise. Callers choose tenants, idempotency keys, throttle keys and the like.
   */
  @Test
  void recordsOfStringsThatAreKeysOfHashTables_areComparable() {
    JavaClasses all =
        new ClassFileImporter()
            .importUrls(
                List.of(
                    locationOf(FairScheduler.class),
                    locationOf(Broker.class),
                    locationOf(TokenRequest.class),
                    locationOf(RedisUnavailableException.class),
                    locationOf(RedisBudgets.class),
                    locationOf(SluiceServer.class)));
    List<String> slow =
        all.stream()
            .flatMap(type -> type.getFields().stream())
            .filter(field -> keyOf(field).filter(ServerArchitectureTest::isSlow).isPresent())
            .map(JavaField::getFullName)
            .toList();
    assertThat(slow).isEmpty();
  }

  /** The keys of a map or set. */
  private static Optional<JavaClass> keyOf(JavaField field) {
    boolean isTable =
        field.getRawType().isAssignableTo(Map.class)
            || field.getRawType().isAssignableTo(Set.class);
    return isTable
            && field.getType() instanceof JavaParameterizedType table
            && !field.getRawType().isAssignableTo(SortedMap.class)
            && !field.getRawType().isAssignableTo(SortedSet.class)
        ? Optional.of(table.getActualTypeArguments().get(0).toErasure())
        : Optional.empty();
  }

  /** The settings and routes of a server are fixed; callers choose none. */
  private static boolean isSlow(JavaClass key) {
    return hasString(key)
        && !key.isAssignableTo(Comparable.class)
        && !key.isEquivalentTo(Setting.class)
        && !key.isEquivalentTo(HttpRoute.class);
  }

  private static boolean hasString(JavaClass type) {
    return type.isRecord()
        && type.getFields().stream()
            .filter(field -> !field.getModifiers().contains(JavaModifier.STATIC))
            .map(JavaField::getRawType)
            .anyMatch(part -> part.isEquivalentTo(String.class) || hasString(part));
  }

  /**
   * A client decides how long a blocking write of Undertow takes. A few clients that do not read
   * would take all threads of HTTP.
   */
  @Test
  void blockingCallsOfUndertow_areNotMade() {
    noClasses().should().accessTargetWhere(isBlocking()).check(CLASSES);
  }

  /**
   * The root package has the configuration, which every other package may use, and the entry
   * points, which put all of them together.
   */
  @Test
  void packages_haveNoCycles() {
    DescribedPredicate<JavaClass> entryPoints =
        belongToAnyOf(SluiceServer.class, ServerConfigLoader.class, ServerHealth.class);
    slices()
        .matching("dev.sluice.(**)")
        .should()
        .beFreeOfCycles()
        .ignoreDependency(entryPoints, alwaysTrue())
        .check(new ClassFileImporter().importUrl(locationOf(SluiceServer.class)));
    noClasses()
        .that()
        .resideOutsideOfPackage("dev.sluice.server")
        .should()
        .dependOnClassesThat(entryPoints)
        .check(CLASSES);
  }

  @Test
  void serversOfBothProtocols_doNotDependOnEachOther() {
    noClasses()
        .that()
        .resideInAPackage("dev.sluice.server.http..")
        .should()
        .dependOnClassesThat()
        .resideInAPackage("dev.sluice.server.grpc..")
        .check(CLASSES);
    noClasses()
        .that()
        .resideInAPackage("dev.sluice.server.grpc..")
        .should()
        .dependOnClassesThat()
        .resideInAPackage("dev.sluice.server.http..")
        .check(CLASSES);
  }

  /** Elsewhere a hook would keep the default of the broker: it may name every throttle key. */
  @Test
  void queues_areConfiguredWhereTheThrottleKeysOfHooksAreSet() {
    noClasses()
        .that()
        .resideInAPackage("dev.sluice.server..")
        .and()
        .doNotBelongToAnyOf(QueueOperations.class, QueueAuthorization.class)
        .should()
        .accessTargetWhere(configuresQueues())
        .check(CLASSES);
    noClasses()
        .that()
        .doNotBelongToAnyOf(QueueOperations.class)
        .should()
        .callMethodWhere(
            DescribedPredicate.describe(
                "creates a queue as it is given",
                call ->
                    call.getTargetOwner().isEquivalentTo(QueueAuthorization.class)
                        && call.getTarget().getName().equals("create")))
        .check(CLASSES);
  }

  private static DescribedPredicate<JavaAccess<?>> configuresQueues() {
    return DescribedPredicate.describe(
        "creates or updates a queue",
        access ->
            access.getTargetOwner().isAssignableTo(Broker.class)
                && List.of("createQueue", "updateQueue").contains(access.getTarget().getName()));
  }

  private static DescribedPredicate<JavaAccess<?>> isBlocking() {
    return DescribedPredicate.describe(
        "blocks until a client has sent or read",
        access -> {
          String owner = access.getTargetOwner().getFullName();
          String name = access.getTarget().getName();
          boolean ofHttp = owner.startsWith("io.undertow.") || owner.startsWith("org.xnio.");
          return ofHttp && (name.endsWith("Blocking") || name.startsWith("awaitWritable"));
        });
  }

  private static DescribedPredicate<JavaAccess<?>> isQuadratic() {
    return DescribedPredicate.describe(
        "copies into an immutable set or map",
        access -> {
          String owner = access.getTargetOwner().getFullName();
          String name = access.getTarget().getName();
          boolean copies =
              List.of(Set.class.getName(), Map.class.getName()).contains(owner)
                  && List.of("copyOf", "ofEntries").contains(name);
          boolean collects =
              owner.equals(Collectors.class.getName())
                  && List.of("toUnmodifiableSet", "toUnmodifiableMap").contains(name);
          // Constants are ours; clients choose nothing of them.
          boolean constant = access.getOrigin().getName().equals("<clinit>");
          return (copies || collects) && !constant;
        });
  }
}
