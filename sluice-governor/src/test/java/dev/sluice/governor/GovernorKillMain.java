package dev.sluice.governor;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import java.util.Random;

/**
 * Takes what it can get of one model until it is killed, and writes that into a file: {@code got ID
 * TOKENS BEFORE AFTER}, {@code settling ID} and {@code settled ID REFUND}. First it asks for all
 * reservations that those before it had, by another file: {@code lost ID} for one that is not
 * there. Arguments: directory, ledger, reservations.
 */
final class GovernorKillMain {
  static final long BURST = 10_000;
  static final long TARGET = 600_000;

  private GovernorKillMain() {}

  public static void main(String[] arguments) throws Exception {
    BudgetConfig config =
        BudgetConfig.builder()
            .models(Map.of("m", SeedBudget.budget(TARGET, BURST).build()))
            .build();
    Governor governor = Governor.open(config, Path.of(arguments[0]));
    Path ledger = Path.of(arguments[1]);
    for (String id : Files.readAllLines(Path.of(arguments[2]))) {
      if (!governor.blocking().extend(id)) {
        say(ledger, "lost " + id);
      }
    }
    Random random = new Random();
    while (true) {
      long before = System.nanoTime();
      TokenDecision outcome =
          governor
              .blocking()
              .request(
                  TokenRequest.of("m", 1 + random.nextInt(500)).withPriorityClass("P0_clinical"));
      long after = System.nanoTime();
      if (outcome instanceof TokenDecision.Granted granted) {
        say(
            ledger,
            "got %s %d %d %d".formatted(granted.reservation(), granted.tokens(), before, after));
        if (random.nextInt(3) > 0) {
          say(ledger, "settling " + granted.reservation());
          long actual = random.nextInt((int) granted.tokens() + 1);
          TokenSettlement settled =
              governor.blocking().settle(granted.reservation(), actual).orElseThrow();
          say(ledger, "settled %s %d".formatted(granted.reservation(), settled.refundedTokens()));
        }
      } else if (outcome instanceof TokenDecision.Queued queued) {
        governor.blocking().cancel(queued.ticket());
      }
    }
  }

  /** Prints a line; written lines survive the end of the process. */
  private static void say(Path ledger, String line) throws IOException {
    Files.writeString(ledger, line + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
  }
}
