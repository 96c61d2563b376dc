package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.attacks.RefusedCalls;
import dev.sluice.attacks.Skirmish;
import dev.sluice.attacks.catalog.Attack;
import dev.sluice.attacks.catalog.Attacks;
import dev.sluice.testkit.JavaProcess;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A server with 256 MB of heap, in a process of its own, is attacked over its sockets: it stays up,
 * and serves others meanwhile and afterwards. The cost of attacks for others is measured by {@code
 * ./bench hostile}.
 */
@Tag("any-jdk")
@Timeout(120)
final class HostileClientsTest {
  /** Until others ask to be served. */
  private static final Duration SHORT = Duration.ofMillis(200);

  /** Until a shared budget would be full. */
  private static final Duration MEDIUM = Duration.ofMillis(600);

  private static final Duration LONG = Duration.ofSeconds(5);

  @TempDir private static Path dir;
  private static int servers;
  private static Skirmish skirmish;

  /** A server that an attack has harmed is not there for the next one. */
  private static Skirmish skirmish() throws Exception {
    if (skirmish == null) {
      Path folder = Files.createDirectory(dir.resolve("server-" + servers++));
      List<String> command = JavaProcess.command(List.of(), Sluice.class, List.of());
      // The attacked server brings its own java.
      List<String> program = command.subList(1, command.size());
      skirmish = Skirmish.start(program, folder);
    }
    return skirmish;
  }

  @AfterAll
  static void end() {
    if (skirmish != null) {
      skirmish.close();
      skirmish = null;
    }
  }

  static List<Attack> attacks() {
    return Attacks.all();
  }

  private static List<String> problemsUnder(Attack attack, Duration time) throws Exception {
    List<String> problems = skirmish().problemsUnder(attack, time);
    if (!problems.isEmpty()) {
      end();
    }
    return problems;
  }

  @ParameterizedTest
  @MethodSource("attacks")
  void attackedServer_staysUpAndServesOthers(Attack attack) throws Exception {
    boolean fills =
        attack.family() == Attack.Family.BUDGETS || attack.family() == Attack.Family.MEMORY;
    assertThat(problemsUnder(attack, fills ? MEDIUM : SHORT)).as(attack.name()).isEmpty();
  }

  @ParameterizedTest
  @MethodSource("attacks")
  @Tag("long")
  void longAttackedServer_staysUpAndServesOthers(Attack attack) throws Exception {
    assertThat(problemsUnder(attack, LONG)).as(attack.name()).isEmpty();
  }

  @Test
  void refusedEnqueue_storesNothing() throws Exception {
    RefusedCalls.Result result = skirmish().refusedCalls();
    assertThat(result.refused() + result.acknowledged()).isPositive();
    assertThat(result.refusedExecuted()).as("%s", result).isZero();
    assertThat(result.lost()).as("%s", result).isZero();
  }
}
