package dev.sluice.governor.redis;

import dev.sluice.governor.BudgetStore;
import dev.sluice.testkit.BudgetLoad;
import dev.sluice.testkit.BudgetLog;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.awaitility.Awaitility;

/** A node of a fleet in a process of its own, under load from "go" to "stop". */
final class BudgetProcess {
  static final Duration LIFE = Duration.ofSeconds(3);

  /** Longer than a process that fights for few cores may stall. */
  static final Duration PATIENCE = Duration.ofSeconds(20);

  static final String READY = "ready";
  static final String GO = "go";
  static final String DONE = "done";

  private BudgetProcess() {}

  /** The words for {@link #main}. */
  static List<String> arguments(String url, String name, Path file, double overload, double keyed) {
    return List.of(url, name, file.toString(), Double.toString(overload), Double.toString(keyed));
  }

  /** Says when it is ready, and when all callers are done. */
  public static void main(String[] args) throws IOException {
    BufferedReader orders =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    try (BudgetLog log = new BudgetLog(Path.of(args[2]));
        BudgetStore store =
            RedisBudgets.builder()
                .url(args[0])
                .timeout(PATIENCE)
                .opener()
                .open(BudgetLoad.config(LIFE, PATIENCE), log);
        BudgetLoad load =
            new BudgetLoad(
                store, log, args[1], Double.parseDouble(args[3]), Double.parseDouble(args[4]))) {
      Awaitility.await()
          .atMost(PATIENCE)
          .until(() -> store.status().handle((status, failure) -> failure == null).join());
      System.out.println(READY);
      if (GO.equals(orders.readLine())) {
        load.start();
        if (orders.readLine() != null) {
          load.stop(PATIENCE);
          System.out.println(DONE);
          orders.readLine();
        }
      }
    }
  }
}
