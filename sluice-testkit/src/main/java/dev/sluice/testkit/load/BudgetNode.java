package dev.sluice.testkit.load;

import dev.sluice.governor.BudgetStore;
import dev.sluice.testkit.Await;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * The program of a node of a {@link BudgetFleet}: under load from the first order to the second.
 *
 * @since 0.1
 */
public final class BudgetNode {
  /** How long a reservation lives. */
  public static final Duration LIFE = Duration.ofSeconds(3);

  /** Longer than a process that fights for few cores may stall. */
  public static final Duration PATIENCE = Duration.ofSeconds(20);

  static final String READY = "ready";
  static final String DONE = "done";

  private BudgetNode() {}

  static List<String> arguments(String url, String name, Path file, double overload, double keyed) {
    return List.of(url, name, file.toString(), Double.toString(overload), Double.toString(keyed));
  }

  /**
   * Opens a store of {@link BudgetLoad#config} whose calls may take as long as {@link #PATIENCE}.
   */
  @FunctionalInterface
  public interface Stores {
    /** Opens it, at a URL. */
    BudgetStore open(String url, BudgetLog log);
  }

  /** Says when it is ready, and when all callers are done; ends with its input. */
  public static void run(Stores stores, List<String> arguments) throws IOException {
    BufferedReader orders =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    double overload = Double.parseDouble(arguments.get(3));
    double keyed = Double.parseDouble(arguments.get(4));
    try (BudgetLog log = new BudgetLog(Path.of(arguments.get(2)));
        BudgetStore store = stores.open(arguments.get(0), log);
        BudgetLoad load = new BudgetLoad(store, log, arguments.get(1), overload, keyed)) {
      Await.until(() -> "a store that answers", PATIENCE, () -> answers(store));
      System.out.println(READY);
      if (orders.readLine() != null) {
        load.start();
      }
      if (orders.readLine() != null) {
        load.stop(PATIENCE);
        System.out.println(DONE);
        orders.readLine();
      }
    }
  }

  /** Asks for the waiting list, because a node answers {@code status} in an outage, too. */
  private static boolean answers(BudgetStore store) {
    return store
        .waitingList(BudgetLoad.PLAIN, 0, 1)
        .handle((line, failure) -> failure == null)
        .join();
  }
}
