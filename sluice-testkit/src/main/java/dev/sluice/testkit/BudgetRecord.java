package dev.sluice.testkit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/**
 * What a fleet was granted, from the {@link BudgetLog}s of its nodes, to be held against the
 * promise of a budget: in no window more than the burst and what accrues, counted when it was
 * granted, less what came back. What only may have come back counts as if it had: an excess that is
 * found is one.
 *
 * @since 0.1
 */
public final class BudgetRecord {
  private static final long MINUTE_MICROS = TimeUnit.MINUTES.toMicros(1);

  private final List<Grant> grants = new ArrayList<>();
  private final Map<String, Long> refunded = new HashMap<>();
  private final Map<String, Long> maybe = new HashMap<>();
  private final Set<String> claimed = new HashSet<>();
  private final Map<String, Settling> settling = new HashMap<>();
  private final Map<String, Integer> failures = new TreeMap<>();
  private final Map<String, Integer> ends = new TreeMap<>();
  private final Map<String, Long> askedTokens = new HashMap<>();
  private final List<String> wrongs = new ArrayList<>();

  private record Grant(
      int file, String model, long micros, long tokens, long waited, String priority, String key) {}

  /** Tokens that a node was about to refund. */
  private record Settling(int file, long tokens) {}

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
      case "granted" ->
          grants.add(
              new Grant(
                  file,
                  words[1],
                  Long.parseLong(words[2]),
                  Long.parseLong(words[3]),
                  Long.parseLong(words[4]),
                  words[5],
                  words[6]));
      case "refunded" ->
          refunded.merge(words[1] + ' ' + words[2], Long.parseLong(words[3]), Long::sum);
      case "claimed" -> claimed.add(words[1]);
      case "maybe" -> maybe.merge(words[1], Long.parseLong(words[2]), Long::sum);
      case "settling" -> settling.put(words[1], new Settling(file, Long.parseLong(words[2])));
      case "settled" -> settling.remove(words[1]);
      case "asked" -> askedTokens.merge(words[1], Long.parseLong(words[2]), Long::sum);
      case "failed" -> failures.merge(words[1] + ' ' + words[2], 1, Integer::sum);
      case "ended" -> ends.merge(words[1], 1, Integer::sum);
      default -> wrongs.add(String.join(" ", words));
    }
  }

  /**
   * Notes that a node was killed: tokens of these keys that it had not claimed yet, or was about to
   * refund, may have been returned.
   */
  public void mayReturn(int file, Predicate<String> keys) {
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
    Map<Long, Long> net = new TreeMap<>();
    for (Grant grant : grants) {
      if (grant.model().equals(model)) {
        long back = Math.min(grant.tokens(), maybe.getOrDefault(grant.key(), 0L));
        net.merge(grant.micros(), grant.tokens() - back, Long::sum);
      }
    }
    GrantLog log = new GrantLog();
    net.forEach(
        (micros, tokens) ->
            log.record(
                micros, Math.max(0, tokens - refunded.getOrDefault(model + ' ' + micros, 0L))));
    return log.maxExcess(burst, perMinute, MINUTE_MICROS);
  }

  /** When the first grant of a model was, in microseconds of the store. */
  public long firstMicros(String model) {
    return grants.stream()
        .filter(grant -> grant.model().equals(model))
        .mapToLong(Grant::micros)
        .min()
        .orElse(0);
  }

  /** What was asked for of a model, in tokens. */
  public long askedTokens(String model) {
    return askedTokens.getOrDefault(model, 0L);
  }

  /** What was granted of a model between two microseconds of the store, whatever came back. */
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

  /** Calls that failed, by kind and failure. */
  public Map<String, Integer> failures() {
    return failures;
  }

  /** How tickets without a grant ended. */
  public Map<String, Integer> ends() {
    return ends;
  }

  /** What was not as it must be. */
  public List<String> wrongs() {
    return wrongs;
  }
}
