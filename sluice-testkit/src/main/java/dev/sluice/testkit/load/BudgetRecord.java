package dev.sluice.testkit.load;

import dev.sluice.governor.GovernorStatus;
import dev.sluice.governor.TokenRequest;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.BiPredicate;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Grants of a fleet, from the {@link BudgetLog}s of its nodes, to be checked against the promise of
 * a budget: in no window more than the burst and what accrues, counted when it was granted, less
 * what came back. Tokens that may have come back count as if they had: an excess that is found is
 * one.
 *
 * @since 0.1
 */
public final class BudgetRecord {
  private static final long MINUTE_MICROS = TimeUnit.MINUTES.toMicros(1);

  /** A return takes no longer. */
  private static final long RETURN_MICROS = TimeUnit.MILLISECONDS.toMicros(700);

  /** The times of a node in an outage are this exact. */
  private static final long CLOCK_MICROS = TimeUnit.MILLISECONDS.toMicros(20);

  private final List<Grant> grants = new ArrayList<>();
  private final List<Refund> refunds = new ArrayList<>();
  private final Map<String, Long> maybe = new HashMap<>();
  private final Set<String> claimed = new HashSet<>();
  private final Map<String, Settling> settling = new HashMap<>();
  private final Map<String, Integer> failures = new TreeMap<>();
  private final Map<String, Integer> ends = new TreeMap<>();
  private final Map<String, Long> askedTokens = new HashMap<>();
  private final Map<Integer, Integer> outages = new TreeMap<>();
  private final List<String> wrongs = new ArrayList<>();
  private final Map<String, Asked> asked = new HashMap<>();
  private final Set<String> over = new HashSet<>();
  private final Set<Integer> killed = new HashSet<>();
  private final Map<String, Set<String>> told = new HashMap<>();
  private final List<SlowCall> slowCalls = new ArrayList<>();
  private final Map<Integer, List<Grant>> sinceOutage = new HashMap<>();
  private final List<List<Grant>> alone = new ArrayList<>();

  private record Grant(
      int file,
      String model,
      long micros,
      long tokens,
      long waited,
      String priority,
      String key,
      String tenant) {
    long askedMicros() {
      return micros - waited;
    }
  }

  /** A refund at the time of its grant, which a node in an outage knows less exactly. */
  private record Refund(String model, long micros, long tokens) {}

  /** A request that a node was asked to make. */
  private record Asked(int file, TokenRequest request) {}

  /** Tokens that a node was about to refund. */
  private record Settling(int file, long tokens) {}

  /**
   * A call that took long.
   *
   * @param call the method
   * @param millis how long it took
   * @param standstillMillis for how much of that some thread of its process did not run
   */
  public record SlowCall(String call, double millis, double standstillMillis) {
    /** Returns how long it took, less the time for which the process did not run. */
    public double ownMillis() {
      return millis - standstillMillis;
    }
  }

  private BudgetRecord() {}

  /** Reads what the nodes wrote; a line that is not whole, of one that was killed, is left out. */
  public static BudgetRecord read(List<Path> files) {
    BudgetRecord record = new BudgetRecord();
    try {
      for (int i = 0; i < files.size(); i++) {
        String text = Files.readString(files.get(i));
        int file = i;
        text.substring(0, text.lastIndexOf('\n') + 1)
            .lines()
            .forEach(line -> record.add(file, line.split(" ", -1)));
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return record;
  }

  private void add(int file, String[] words) {
    switch (words[0]) {
      case "granted" -> {
        Grant grant =
            new Grant(
                file,
                words[1],
                Long.parseLong(words[2]),
                Long.parseLong(words[3]),
                Long.parseLong(words[4]),
                words[5],
                words[6],
                words[7]);
        grants.add(grant);
        if (sinceOutage.containsKey(file)) {
          sinceOutage.get(file).add(grant);
        }
      }
      case "asking" ->
          asked.put(
              words[5],
              new Asked(
                  file,
                  TokenRequest.of(words[1], Long.parseLong(words[2]))
                      .withPriorityClass(words[3])
                      .withTenant(words[4])
                      .withIdempotencyKey(words[5])));
      case "over" -> over.add(words[1]);
      case "told" -> told.computeIfAbsent(words[1], key -> new HashSet<>()).add(words[2]);
      case "returned" -> endOutage(file, Long.parseLong(words[1]));
      case "refunded" ->
          refunds.add(new Refund(words[1], Long.parseLong(words[2]), Long.parseLong(words[3])));
      case "claimed" -> claimed.add(words[1]);
      case "maybe" -> maybe.merge(words[1], Long.parseLong(words[2]), Long::sum);
      case "settling" -> settling.put(words[1], new Settling(file, Long.parseLong(words[2])));
      case "settled" -> settling.remove(words[1]);
      case "asked" -> askedTokens.merge(words[1], Long.parseLong(words[2]), Long::sum);
      case "failed" -> failures.merge(words[1] + ' ' + words[2], 1, Integer::sum);
      case "outage" -> {
        outages.merge(file, 1, Integer::sum);
        sinceOutage.put(file, new ArrayList<>());
      }
      case "slow" ->
          slowCalls.add(
              new SlowCall(
                  words[1], Long.parseLong(words[2]) / 1e3, Long.parseLong(words[3]) / 1e3));
      case "ended" -> ends.merge(words[1], 1, Integer::sum);
      default -> wrongs.add(String.join(" ", words));
    }
  }

  /**
   * Keeps the grants of a node in an outage, except the last ones, which the store may have made.
   */
  private void endOutage(int file, long micros) {
    List<Grant> own = sinceOutage.remove(file);
    if (own != null) {
      alone.add(own.stream().filter(each -> each.micros() < micros - RETURN_MICROS).toList());
    }
  }

  /**
   * Returns the requests for which something may be held though their callers are done: those that
   * were never answered, and all of killed nodes.
   */
  public List<TokenRequest> unsure() {
    return asked.entrySet().stream()
        .filter(each -> !over.contains(each.getKey()) || killed.contains(each.getValue().file()))
        .map(each -> each.getValue().request())
        .toList();
  }

  /** Returns the keys under which callers were told of more than one grant. */
  public List<String> keysWithSeveralGrants() {
    return told.entrySet().stream()
        .filter(each -> each.getValue().size() > 1)
        .map(each -> each.getKey() + ' ' + each.getValue())
        .toList();
  }

  /** Returns how many grants nodes made by themselves in outages, as far as that is certain. */
  public int grantsAlone() {
    return alone.stream().mapToInt(List::size).sum();
  }

  /**
   * Returns pairs of grants that a node made by itself in an outage though the later one was asked
   * for before the other, of the same model, priority class and tenant.
   */
  public List<String> overtakenAlone() {
    return pairsAlone(
        (first, later) ->
            first.model().equals(later.model())
                && first.priority().equals(later.priority())
                && first.tenant().equals(later.tenant())
                && first.waited() > 0
                && later.askedMicros() < first.askedMicros() - CLOCK_MICROS);
  }

  /**
   * Returns pairs of grants of a model that a node made by itself in an outage, the first one of
   * the lower class, while the other one waited.
   */
  public List<String> invertedAlone(String model, String lower, String higher) {
    return pairsAlone(
        (first, later) ->
            first.model().equals(model)
                && later.model().equals(model)
                && first.priority().equals(lower)
                && later.priority().equals(higher)
                && later.askedMicros() < first.micros() - CLOCK_MICROS);
  }

  private List<String> pairsAlone(BiPredicate<Grant, Grant> wrong) {
    List<String> pairs = new ArrayList<>();
    for (List<Grant> outage : alone) {
      for (int i = 0; i < outage.size(); i++) {
        for (Grant later : outage.subList(i + 1, outage.size())) {
          if (wrong.test(outage.get(i), later)) {
            pairs.add(outage.get(i) + " before " + later);
          }
        }
      }
    }
    return pairs;
  }

  /**
   * Notes that a node was killed: tokens of these keys that it had not claimed yet, or was about to
   * refund, may have been returned.
   */
  public void mayReturn(int file, Predicate<String> keys) {
    killed.add(file);
    settling.forEach(
        (key, unheard) -> {
          if (unheard.file() == file) {
            maybe.merge(key, unheard.tokens(), Long::sum);
          }
        });
    for (Grant grant : grants) {
      String key = grant.key();
      boolean toldAtOnce = grant.file() == file && grant.waited() == 0;
      if (keys.test(key) && !toldAtOnce && !claimed.contains(key)) {
        maybe.merge(key, grant.tokens(), Long::sum);
      }
    }
  }

  /** By how many tokens the worst window of a model breaks the promise; kept if 0 or less. */
  public long excess(String model, long burst, long perMinute) {
    // By the moment: several may be granted in the same, and a refund only names it.
    NavigableMap<Long, Long> net = new TreeMap<>();
    for (Grant grant : grants) {
      if (grant.model().equals(model)) {
        long back = Math.min(grant.tokens(), maybe.getOrDefault(grant.key(), 0L));
        net.merge(grant.micros(), grant.tokens() - back, Long::sum);
      }
    }
    for (Refund refund : refunds) {
      Long at = refund.model().equals(model) ? nearest(net, refund.micros()) : null;
      if (at != null) {
        net.merge(at, -refund.tokens(), Long::sum);
      }
    }
    GrantLog log = new GrantLog();
    net.forEach((micros, tokens) -> log.record(micros, Math.max(0, tokens)));
    return log.maxExcess(burst, perMinute, MINUTE_MICROS);
  }

  private static @Nullable Long nearest(NavigableMap<Long, Long> moments, long micros) {
    Long before = moments.floorKey(micros);
    Long after = moments.ceilingKey(micros);
    Long closest =
        before == null || (after != null && after - micros < micros - before) ? after : before;
    return closest != null && Math.abs(closest - micros) <= CLOCK_MICROS ? closest : null;
  }

  /** When the first grant of a model was, in microseconds of the store. */
  public long firstMicros(String model) {
    return grants.stream()
        .filter(grant -> grant.model().equals(model))
        .mapToLong(Grant::micros)
        .min()
        .orElse(0);
  }

  /**
   * Returns the part of what the budget allowed that was used, from the first grant until {@code
   * endMicros}. Overuse that is still to be paid off does not count.
   *
   * @param status of the model at that end
   */
  public double utilization(
      String model, GovernorStatus.Model status, long burst, long perMinute, long endMicros) {
    double minutes = (double) (endMicros - firstMicros(model)) / MINUTE_MICROS;
    double used = status.counts().tokensConsumed() + Math.min(0, status.available());
    return used / (burst + perMinute * minutes);
  }

  /** Returns the tokens that were requested of a model. */
  public long askedTokens(String model) {
    return askedTokens.getOrDefault(model, 0L);
  }

  /**
   * Returns the tokens granted of a model between two microseconds of the store, refunds included.
   */
  public long grantedTokens(String model, long from, long until) {
    return grants.stream()
        .filter(grant -> grant.model().equals(model))
        .filter(grant -> grant.micros() >= from && grant.micros() <= until)
        .mapToLong(Grant::tokens)
        .sum();
  }

  /** How long a part of the grants of a class waited at the most, in milliseconds. */
  public double waitMillis(String model, String priority, double part) {
    long[] waits =
        grants.stream()
            .filter(grant -> grant.model().equals(model) && grant.priority().equals(priority))
            .mapToLong(Grant::waited)
            .sorted()
            .toArray();
    return waits.length == 0 ? 0 : waits[(int) ((waits.length - 1) * part)] / 1e3;
  }

  /** How many grants there were. */
  public int grants() {
    return grants.size();
  }

  /** Returns the calls that took long, where {@link SlowCalls} logged them. */
  public List<SlowCall> slowCalls() {
    return slowCalls;
  }

  /** Calls that failed, by kind and failure. */
  public Map<String, Integer> failures() {
    return failures;
  }

  /** Returns how many outages each node declared; nodes without one are absent. */
  public Map<Integer, Integer> outages() {
    return outages;
  }

  /** How tickets without a grant ended. */
  public Map<String, Integer> ends() {
    return ends;
  }

  /** Returns the violations that were found. */
  public List<String> wrongs() {
    return wrongs;
  }
}
