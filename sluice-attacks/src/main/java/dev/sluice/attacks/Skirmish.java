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
 * A server that is attacked from within this process and measured by nobody, for tests: it stays
 * up, answers others, and says little of it in its log.
 */
public final class Skirmish implements AutoCloseable {
  private static final int MAX_LOG_BYTES = 64 << 10;

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

  /** Attacks for so long and returns what is wrong with the server since. */
  public List<String> problemsAfter(Attack attack, Duration time)
      throws IOException, InterruptedException {
    long logged = server.logBytes();
    Attempt.prepare(attack, target()).run(time);
    List<String> problems = new ArrayList<>();
    if (!server.isAlive()) {
      problems.add("the process has ended");
    } else {
      problems.addAll(unanswered());
    }
    String log = server.logSince(logged);
    if (log.length() > MAX_LOG_BYTES || log.contains("OutOfMemoryError")) {
      problems.add("the log says: " + log.substring(0, Math.min(2_000, log.length())));
    }
    return problems;
  }

  /** Whether good clients of both wires and the operator are served. */
  private List<String> unanswered() {
    List<String> problems = new ArrayList<>();
    String key = population.goodKey();
    try (GoodClient grpc = new GoodGrpcClient(server, key, Population.goodQueue(0));
        GoodClient http = new GoodHttpClient(server, key, Population.goodQueue(1))) {
      for (int turn = 0; turn < GoodClient.CALLS; turn++) {
        grpc.call(turn);
        http.call(turn);
      }
      new Operator(server).call(0);
    } catch (IOException failure) {
      problems.add("others are not served: " + failure);
    }
    return problems;
  }

  /** Counts the calls that were refused and carried out. */
  public RefusedCalls.Result refusedCalls() throws IOException, InterruptedException {
    return new RefusedCalls(server, target()).count();
  }

  @Override
  public void close() {
    server.close();
  }
}
