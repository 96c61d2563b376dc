package dev.sluice.redis;

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
  private static final int FIELDS_AT = 2;
  private static final String BASE = "@base";
  private static final long UNKNOWN = -1;

  private final RedisLink link;
  private final String[] keys;
  private final Consumer<Rules> changed;

  /** Guarded by this: changes that Redis does not have yet. Empty: removed. */
  private final Map<String, Optional<String>> pending = new LinkedHashMap<>();

  private volatile Rules rules;

  /** The version that Redis was last told after it had lost the rules, as far as this node read. */
  private volatile long base = UNKNOWN;

  RuleBook(RedisLink link, String key, Rules remembered, Consumer<Rules> changed) {
    this.link = link;
    this.keys = new String[] {key};
    this.rules = remembered;
    this.changed = changed;
  }

  Rules rules() {
    return rules;
  }

  /** Sets a field, or removes it if {@code text} is null; whether something changed. */
  CompletableFuture<Boolean> put(String field, @Nullable String text) {
    boolean here;
    synchronized (this) {
      Optional<String> value = Optional.ofNullable(text);
      here = !Optional.ofNullable(rules.fields().get(field)).equals(value);
      pending.put(field, value);
      publish(rules.with(field, text));
    }
    // In an outage it is noted, which is as much as can be had.
    return store(field, text)
        .exceptionally(
            failure -> {
              if (unwrap(failure) instanceof LimitsUnavailableException) {
                return here;
              }
              throw new CompletionException(failure);
            });
  }

  private static @Nullable Throwable unwrap(Throwable failure) {
    return failure instanceof CompletionException ? failure.getCause() : failure;
  }

  private CompletableFuture<Boolean> store(String field, @Nullable String text) {
    String[] arguments =
        text == null ? new String[] {"remove", field} : new String[] {"set", field, text};
    return link.probe(Script.RULES, keys, arguments)
        .thenCompose(
            answer -> {
              long version = Call.number(answer, 0);
              boolean changes = Call.number(answer, 1) == 1;
              stored(version, changes, field, text);
              // Others have changed something as well: these are read as a whole.
              return version == rules.version()
                  ? Answers.now(changes)
                  : refresh().handle((done, failure) -> changes);
            });
  }

  private synchronized void stored(
      long version, boolean changes, String field, @Nullable String text) {
    pending.remove(field, Optional.ofNullable(text));
    if (changes && version == rules.version() + 1) {
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
    CompletableFuture<?> done = versionThere < version || toldLess ? restore() : storePending();
    return done.thenCompose(
        nothing ->
            versionThere == rules.version() && baseThere == base
                ? CompletableFuture.allOf()
                : refresh());
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
    Rules known = rules;
    List<String> arguments = new ArrayList<>();
    arguments.add("restore");
    arguments.add(Long.toString(known.version()));
    known
        .fields()
        .forEach(
            (field, text) -> {
              arguments.add(field);
              arguments.add(text);
            });
    return link.probe(Script.RULES, keys, arguments.toArray(String[]::new))
        .thenCompose(answer -> storePending());
  }

  /** Reads all of them. */
  CompletableFuture<Void> refresh() {
    return link.probe(Script.RULES, keys, new String[] {"read"}).thenAccept(this::read);
  }

  private synchronized void read(List<Object> answer) {
    long version = Call.number(answer, 0);
    Map<String, String> fields = new LinkedHashMap<>();
    for (int i = FIELDS_AT; i + 1 < answer.size(); i += 2) {
      fields.put(String.valueOf(answer.get(i)), String.valueOf(answer.get(i + 1)));
    }
    base = Long.parseLong(fields.getOrDefault(BASE, "0"));
    pending.forEach(
        (field, text) ->
            text.ifPresentOrElse(value -> fields.put(field, value), () -> fields.remove(field)));
    if (version > rules.version()) {
      publish(Rules.of(version, fields));
    }
  }

  private void publish(Rules next) {
    if (rules != next) {
      rules = next;
      changed.accept(next);
    }
  }
}
