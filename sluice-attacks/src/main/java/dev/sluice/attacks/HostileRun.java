package dev.sluice.attacks;

import dev.sluice.attacks.catalog.Attack;
import dev.sluice.attacks.catalog.Attacks;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Measures good clients undisturbed and then under one attack after the other, and counts refused
 * calls that were carried out. An attack after which the p99 is five times the undisturbed one is
 * repeated twice, and the median counts. {@code java -jar sluice-attacks.jar CLI_JAR [--quick]
 * [ATTACK…]} prints that as a table.
 */
public final class HostileRun {
  /** A p99 beyond so many times the undisturbed one is measured again. */
  private static final int SUSPECT = 5;

  /**
   * How long each part of a run lasts.
   *
   * @param repeated attacks that are repeated at the most
   */
  public record Effort(
      Duration warmUp, Duration before, Duration attack, Duration after, int repeated) {
    public static final Effort QUICK =
        new Effort(seconds(4), seconds(4), Duration.ofMillis(900), seconds(2), 4);
    public static final Effort FULL =
        new Effort(seconds(10), seconds(10), seconds(4), seconds(10), 20);

    /** Returns the time of an attack: state takes longer to pile up. */
    Duration time(Attack attack) {
      boolean slow = attack.family() == Attack.Family.STATE && attack().toSeconds() > 1;
      return slow ? attack().multipliedBy(3) : attack();
    }

    private static Duration seconds(int count) {
      return Duration.ofSeconds(count);
    }
  }

  /**
   * The measurements of a run.
   *
   * @param undisturbed p99 of good clients in milliseconds without attacks: the smaller of those
   *     before and after
   */
  public record Findings(
      double undisturbed, List<AttackResult> results, RefusedCalls.Result refusedCalls) {
    /** p99 by family, over all calls of good clients during its attacks, in milliseconds. */
    public Map<Attack.Family, Double> families() {
      Map<Attack.Family, List<GoodLoad.Sample>> samples = new EnumMap<>(Attack.Family.class);
      for (AttackResult each : results) {
        samples
            .computeIfAbsent(each.attack().family(), unused -> new ArrayList<>())
            .addAll(each.samples());
      }
      Map<Attack.Family, Double> p99 = new EnumMap<>(Attack.Family.class);
      samples.forEach((family, all) -> p99.put(family, Percentiles.p99(all)));
      return p99;
    }

    /** The highest p99 of a family, in milliseconds. */
    public double worstFamily() {
      return families().values().stream().mapToDouble(Double::doubleValue).max().orElse(0);
    }

    /** The highest p99 of a single attack, in milliseconds. */
    public double worstAttack() {
      return results.stream().mapToDouble(AttackResult::p99).max().orElse(0);
    }
  }

  private HostileRun() {}

  /**
   * Runs these attacks.
   *
   * @param program as of {@link AttackedServer#start}
   * @param folder for data and logs of servers
   */
  public static Findings run(List<String> program, Path folder, Effort effort, List<Attack> attacks)
      throws IOException, InterruptedException {
    try (Siege siege = new Siege(program, folder, effort.warmUp())) {
      double before = Percentiles.p99(siege.rest(effort.before()));
      RefusedCalls.Result refused = siege.refusedCalls();
      siege.rest(Duration.ofMillis(200));
      List<AttackResult> results = new ArrayList<>();
      int repeated = 0;
      for (Attack attack : attacks) {
        AttackResult result = siege.attack(attack, effort.time(attack));
        if (isSuspect(result, before) && repeated < effort.repeated()) {
          repeated++;
          result = again(siege, result, effort.time(attack));
        }
        results.add(result);
      }
      double after = Percentiles.p99(siege.rest(effort.after()));
      return new Findings(Math.min(before, after), results, refused);
    }
  }

  /** One pause of a busy machine makes a p99; the effect of an attack is there each time. */
  private static boolean isSuspect(AttackResult result, double undisturbed) {
    return result.isFlawless() && result.p99() > SUSPECT * undisturbed;
  }

  /** Returns the median of {@code first} and two more, or one in which something went wrong. */
  private static AttackResult again(Siege siege, AttackResult first, Duration time)
      throws IOException, InterruptedException {
    List<AttackResult> all = new ArrayList<>(List.of(first));
    while (all.size() < 3) {
      AttackResult next = siege.attack(first.attack(), time);
      if (!next.isFlawless()) {
        return next;
      }
      all.add(next);
    }
    all.sort(Comparator.comparingDouble(AttackResult::p99));
    return all.get(1);
  }

  /** See the class; {@code --list} lists the attacks. */
  public static void main(String[] args) throws IOException, InterruptedException {
    List<String> words = new ArrayList<>(List.of(args));
    boolean quick = words.remove("--quick");
    if (words.remove("--list")) {
      Attacks.all().forEach(each -> System.out.printf("%-30s %s%n", each, each.access()));
      return;
    }
    if (words.isEmpty()) {
      System.err.println("usage: java -jar sluice-attacks.jar CLI_JAR [--quick] [ATTACK...]");
      System.err.println("       java -jar sluice-attacks.jar --list");
      System.exit(2);
    }
    List<Attack> attacks = attacks(words.subList(1, words.size()), quick);
    Path folder = Files.createTempDirectory("sluice-attacks");
    try {
      List<String> program = List.of("-jar", Path.of(words.get(0)).toAbsolutePath().toString());
      Effort effort = quick ? Effort.QUICK : Effort.FULL;
      FindingsTable.lines(run(program, folder, effort, attacks)).forEach(System.out::println);
    } finally {
      delete(folder);
    }
  }

  private static List<Attack> attacks(List<String> names, boolean quick) {
    if (names.isEmpty()) {
      return quick ? Attacks.quick() : Attacks.all();
    }
    return names.stream().map(Attacks::named).toList();
  }

  private static void delete(Path folder) throws IOException {
    try (Stream<Path> all = Files.walk(folder)) {
      for (Path each : all.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(each);
      }
    }
  }
}
