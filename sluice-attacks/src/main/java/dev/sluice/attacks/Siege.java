package dev.sluice.attacks;

import dev.sluice.attacks.catalog.Attack;
import dev.sluice.attacks.catalog.Target;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Runs attacks against a server with good clients, and inspects the server from outside after each.
 * An attack that leaves problems behind ends its server, and the next attack gets a new one.
 */
final class Siege implements AutoCloseable {
  private static final long RECOVERY_NANOS = TimeUnit.SECONDS.toNanos(15);

  private static final long POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  /** The threads and open files that a server may have in addition after an attack. */
  private static final int MORE_HANDLES = 100;

  private static final int MAX_LOG_BYTES = 256 << 10;
  private static final String OUT_OF_MEMORY = "OutOfMemoryError";

  private final List<String> program;
  private final Path folder;
  private final Duration warmUp;
  private int servers;
  private @Nullable Camp camp;

  /** One server, its good clients and its attacker. */
  record Camp(
      AttackedServer server, Target target, GoodLoad load, AttackerProcess attacker, int handles)
      implements AutoCloseable {
    @Override
    public void close() {
      load.close();
      attacker.close();
      server.close();
    }
  }

  Siege(List<String> program, Path folder, Duration warmUp) {
    this.program = program;
    this.folder = folder;
    this.warmUp = warmUp;
  }

  /** Returns the current server, warmed up; starts one if there is none. */
  Camp camp() throws IOException, InterruptedException {
    if (camp == null) {
      Path next = Files.createDirectories(folder.resolve("server-" + servers++));
      AttackedServer server = AttackedServer.start(program, next);
      Population population = Population.settle(server);
      AttackerProcess attacker = new AttackerProcess(population.target());
      GoodLoad load = new GoodLoad(server, population.goodKey());
      Thread.sleep(warmUp.toMillis());
      load.awaitKeepingUp(RECOVERY_NANOS);
      camp = new Camp(server, population.target(), load, attacker, server.threadsAndFiles());
    }
    return camp;
  }

  /** Measures good clients for a while without an attack. */
  List<GoodLoad.Sample> rest(Duration time) throws IOException, InterruptedException {
    GoodLoad load = camp().load();
    long from = System.nanoTime();
    Thread.sleep(time.toMillis());
    long to = System.nanoTime();
    load.awaitKeepingUp(RECOVERY_NANOS);
    return load.samples(from, to);
  }

  /** Attacks for {@code time}, then waits until the server has recovered, or 15 seconds. */
  AttackResult attack(Attack attack, Duration time) throws IOException, InterruptedException {
    Camp at = camp();
    long logged = at.server().logBytes();
    at.attacker().begin(attack, time);
    long from = System.nanoTime();
    AttackResult.Builder result = new AttackResult.Builder(attack);
    result.outcome(at.attacker().awaitEnd());
    long ended = System.nanoTime();
    List<String> problems = new ArrayList<>();
    if (!isAnswering(at)) {
      problems.add("does not recover");
    }
    long to = System.nanoTime();
    result.recoveryNanos(to - ended);
    problems.addAll(look(at, logged));
    result.log(at.server().logBytes() - logged);
    result.samples(at.load().samples(from, to), at.load().operatorSamples(from, to));
    result.problems(problems);
    if (!problems.isEmpty()) {
      close();
    }
    return result.build();
  }

  private static List<String> look(Camp at, long logged) throws IOException, InterruptedException {
    List<String> problems = new ArrayList<>();
    String log = at.server().logSince(logged);
    if (log.contains(OUT_OF_MEMORY)) {
      problems.add("out of memory");
    }
    if (log.length() > MAX_LOG_BYTES) {
      problems.add("log of %d KB".formatted(log.length() >> 10));
    }
    if (!at.server().isAlive()) {
      problems.add("dead");
    } else if (!isAsBefore(at)) {
      problems.add("keeps %d threads and files".formatted(at.server().threadsAndFiles()));
    }
    return problems;
  }

  private static boolean isAnswering(Camp at) throws InterruptedException {
    long end = System.nanoTime() + RECOVERY_NANOS;
    while (at.server().isAlive() && System.nanoTime() < end) {
      if (at.load().awaitKeepingUp(POLL_NANOS)) {
        return true;
      }
    }
    return false;
  }

  private static boolean isAsBefore(Camp at) throws IOException, InterruptedException {
    long end = System.nanoTime() + RECOVERY_NANOS;
    while (at.server().threadsAndFiles() > at.handles() + MORE_HANDLES) {
      if (System.nanoTime() > end) {
        return false;
      }
      Thread.sleep(20);
    }
    return true;
  }

  /** Counts refused calls that were executed. */
  RefusedCalls.Result refusedCalls() throws IOException, InterruptedException {
    Camp at = camp();
    return new RefusedCalls(at.server(), at.target()).count();
  }

  @Override
  public void close() {
    if (camp != null) {
      camp.close();
      camp = null;
    }
  }
}
