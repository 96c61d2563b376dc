package dev.sluice.redis;

import dev.sluice.redis.link.Call;
import dev.sluice.redis.link.RedisLink;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * This node's copy of the rules of the fleet.
 *
 * <p>A change holds here at once and goes to Redis; one that does not get there waits until Redis
 * is back. If Redis has lost the rules, the nodes that know them tell it.
 */
final class RuleBook {
  /** Every node reads all of them at once; templates are for many keys. */
  private static final int MAX_RULES = 10_000;

  private static final int BEFORE_AT = 2;
  private static final int FIELDS_AT = 3;
  private static final String BASE = "@base";
  private static final long UNKNOWN = -1;

  private final RedisLink link;
  private final String[] keys;
  private final Consumer<Rules> changed;

  /** Guarded by this: changes that Redis does not have yet. Empty: removed. */
  private final Map<String, Optional<String>> pending = new LinkedHashMap<>();

  /** What holds here: {@link #confirmed} and what is pending. */
  private volatile Rules rules;

  /** What Redis has, as far as this node knows. */
  private volatile Rules confirmed;

  /** Whether Redis, or who opened these limits, has told the rules. */
  private volatile boolean known;

  /** The version that Redis was last told after it had lost the rules, as far as this node read. */
  private volatile long base = UNKNOWN;

  RuleBook(RedisLink link, String key, Rules remembered, Consumer<Rules> changed) {
    this.link = link;
    this.keys = new String[] {key};
    this.rules = remembered;
    this.confirmed = remembered;
    this.known = remembered.version() > 0;
    this.changed = changed;
  }

  Rules rules() {
    return rules;
  }

  /** Without what Redis has not confirmed. */
  Rules confirmed() {
    return confirmed;
  }

  /** Whether a key without a rule is known to have none. */
  boolean isKnown() {
    return known;
  }

  /**
   * Sets a field, or removes it if {@code text} is null; whether something changed.
   *
   * <p>In an outage it is noted. If Redis was asked and did not confirm it, the future fails; it is
   * noted all the same.
   */
  CompletableFuture<Boolean> put(String field, @Nullable String text) {
    boolean here;
    synchronized (this) {
      Optional<String> value = Optional.ofNullable(text);
      @Nullable String present = rules.fields().get(field);
      if (text != null && present == null && rules.fields().size() >= MAX_RULES) {
        throw new IllegalStateException(
            "a fleet must have at most %d rules: %s".formatted(MAX_RULES, field.substring(1)));
      }
      here = !Optional.ofNullable(present).equals(value);
      pending.put(field, value);
      publish(rules.with(field, text));
    }
    if (!link.isAvailable()) {
      return Answers.now(here);
    }
    return store(field, text);
  }

  private CompletableFuture<Boolean> store(String field, @Nullable String text) {
    String[] arguments =
        text == null ? new String[] {"remove", field} : new String[] {"set", field, text};
    return link.probe(Script.RULES, keys, arguments)
        .thenCompose(
            answer -> {
              boolean changes = Call.number(answer, 1) == 1;
              stored(Call.number(answer, BEFORE_AT), Call.number(answer, 0), field, text);
              // Others have changed something as well: these are read as a whole.
              return Call.number(answer, 0) == rules.version()
                  ? Answers.now(changes)
                  : refresh().handle((done, failure) -> changes);
            });
  }

  private synchronized void stored(long before, long version, String field, @Nullable String text) {
    pending.remove(field, Optional.ofNullable(text));
    if (before == rules.version()) {
      confirmed = confirmed.with(field, text).at(version);
      publish(rules.at(version));
    }
  }

  /**
   * Brings this copy and Redis together, if they differ.
   *
   * @param baseThere the version that Redis was told after it had lost the rules; 0 if it never did
   */
  CompletableFuture<Void> sync(long versionThere, long baseThere) {
    long version = rules.version();
    boolean told = base != UNKNOWN && base != baseThere && versionThere == baseThere + 1;
    boolean toldLess = told && baseThere < version;
    CompletableFuture<Void> done = versionThere < version || toldLess ? restore() : storePending();
    return done.exceptionally(RuleBook::unlessRefused)
        .thenCompose(
            nothing -> versionThere == rules.version() && baseThere == base ? agreed() : refresh());
  }

  /** Rules that Redis refuses, for want of a permission, must not keep this node from it. */
  private static @Nullable Void unlessRefused(Throwable failure) {
    if (!RedisLink.isRefusal(failure)) {
      throw new CompletionException(failure);
    }
    return null;
  }

  private CompletableFuture<Void> agreed() {
    known = true;
    return CompletableFuture.allOf();
  }

  private CompletableFuture<Void> storePending() {
    List<CompletableFuture<?>> stores = new ArrayList<>();
    Map<String, Optional<String>> open;
    synchronized (this) {
      open = new LinkedHashMap<>(pending);
    }
    open.forEach((field, text) -> stores.add(store(field, text.orElse(null))));
    return CompletableFuture.allOf(stores.toArray(CompletableFuture[]::new));
  }

  private CompletableFuture<Void> restore() {
    Rules last = confirmed;
    List<String> arguments = new ArrayList<>();
    arguments.add("restore");
    arguments.add(Long.toString(last.version()));
    last.fields()
        .forEach(
            (field, text) -> {
              arguments.add(field);
              arguments.add(text);
            });
    return link.slow(Script.RULES, keys, arguments.toArray(String[]::new))
        .thenCompose(answer -> storePending());
  }

  /** Reads all of them. */
  CompletableFuture<Void> refresh() {
    return link.slow(Script.RULES, keys, new String[] {"read"}).thenAccept(this::read);
  }

  private synchronized void read(List<Object> answer) {
    long version = Call.number(answer, 0);
    Map<String, String> fields = new LinkedHashMap<>();
    for (int i = FIELDS_AT; i + 1 < answer.size(); i += 2) {
      fields.put(String.valueOf(answer.get(i)), String.valueOf(answer.get(i + 1)));
    }
    base = number(fields.getOrDefault(BASE, "0"));
    if (version > rules.version()) {
      confirmed = Rules.of(version, fields);
      Rules next = confirmed;
      for (Map.Entry<String, Optional<String>> change : pending.entrySet()) {
        next = next.with(change.getKey(), change.getValue().orElse(null));
      }
      publish(next);
    }
    known = true;
  }

  private static long number(String text) {
    return text.matches("\\d{1,18}") ? Long.parseLong(text) : 0;
  }

  private void publish(Rules next) {
    if (rules != next) {
      rules = next;
      changed.accept(next);
    }
  }
}
