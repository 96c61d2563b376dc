package dev.sluice.attacks;

import dev.sluice.attacks.catalog.Attack;
import dev.sluice.attacks.catalog.Attempt;
import dev.sluice.attacks.catalog.Target;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * Attacks a server from this process without measuring latency, for tests: the server must stay up,
 * serve others during and after the attack, and log little.
 */
public final class Skirmish implements AutoCloseable {
  private static final int MAX_LOG_BYTES = 64 << 10;

  /** The longest time of an attack, even if good clients wait longer for an answer. */
  private static final Duration MOST = Duration.ofMinutes(2);

  private final AttackedServer server;
  private final Population population;

  private Skirmish(AttackedServer server) throws IOException {
    this.server = server;
    population = Population.settle(server);
  }

  /**
   * Starts a server; see {@link AttackedServer#start}.
   *
   * @param folder must be empty
   */
  public static Skirmish start(List<String> program, Path folder)
      throws IOException, InterruptedException {
    return new Skirmish(AttackedServer.start(program, folder));
  }

  private Target target() {
    return population.target();
  }

  /**
   * Attacks for {@code time}, makes the calls of good clients while the attack goes on, and again
   * after it. Returns the problems found.
   */
  public List<String> problemsUnder(Attack attack, Duration time)
      throws IOException, InterruptedException {
    long logged = server.logBytes();
    Attempt attempt = Attempt.prepare(attack, target());
    Thread attacker = new Thread(() -> run(attempt), attack.name());
    attacker.start();
    attempt.awaitPrepared();
    attacker.join(time.toMillis());
    List<String> problems = new ArrayList<>();
    problems.addAll(unanswered("during the attack"));
    attempt.end();
    attacker.join();
    problems.addAll(unanswered("after the attack"));
    String log = server.logSince(logged);
    if (log.length() > MAX_LOG_BYTES || log.contains("OutOfMemoryError")) {
      problems.add("the log says: " + log.substring(0, Math.min(2_000, log.length())));
    }
    return problems;
  }

  private static void run(Attempt attempt) {
    try {
      attempt.run(MOST);
    } catch (InterruptedException ended) {
      Thread.currentThread().interrupt();
    }
  }

  /**
   * Returns the problems of good clients on both wires and of the operator; empty if all are
   * served.
   */
  private List<String> unanswered(String when) {
    if (!server.isAlive()) {
      return List.of("the process has ended " + when);
    }
    String key = population.goodKey();
    try (GoodClient grpc = new GoodGrpcClient(server, key, Population.goodQueue(0));
        GoodClient http = new GoodHttpClient(server, key, Population.goodQueue(1))) {
      for (int turn = 0; turn < GoodClient.CALLS; turn++) {
        grpc.call(turn);
        http.call(turn);
      }
      new Operator(server).call(0);
      return List.of();
    } catch (IOException failure) {
      return List.of("others are not served %s: %s".formatted(when, failure));
    }
  }

  /** Counts refused calls that were executed. */
  public RefusedCalls.Result refusedCalls() throws IOException, InterruptedException {
    return new RefusedCalls(server, target()).count();
  }

  @Override
  public void close() {
    server.close();
  }
}
