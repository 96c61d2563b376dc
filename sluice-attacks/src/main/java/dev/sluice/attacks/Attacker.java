package dev.sluice.attacks;

import dev.sluice.attacks.catalog.Attack;
import dev.sluice.attacks.catalog.Attacks;
import dev.sluice.attacks.catalog.Attempt;
import dev.sluice.attacks.catalog.Target;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Objects;

/**
 * The program of the attacking process: reads {@code GRPC_PORT HTTP_PORT POWERLESS_KEY
 * TENANT_KEY,…} and then lines {@code ATTACK MILLISECONDS}; prints {@code started} once the attack
 * is prepared, and {@code done} with the figures of its {@link Attempt.Outcome}. Ends with its
 * input.
 */
final class Attacker {
  private Attacker() {}

  public static void main(String[] args) throws IOException, InterruptedException {
    BufferedReader orders =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
    Target target = target(Objects.requireNonNull(orders.readLine(), "target").split(" ", -1));
    System.out.println("ready");
    for (String line = orders.readLine(); line != null; line = orders.readLine()) {
      String[] words = line.split(" ", -1);
      Attack attack = Attacks.named(words[0]);
      Attempt attempt = Attempt.prepare(attack, target);
      System.out.println("started");
      Attempt.Outcome outcome = attempt.run(Duration.ofMillis(Long.parseLong(words[1])));
      System.out.printf(
          "done %d %d %d %d%n",
          outcome.connections(), outcome.cutOff(), outcome.bytes(), outcome.refused());
    }
  }

  private static Target target(String[] words) {
    return Target.local(
        Integer.parseInt(words[0]),
        Integer.parseInt(words[1]),
        words[2],
        List.of(words[3].split(",", -1)));
  }
}
