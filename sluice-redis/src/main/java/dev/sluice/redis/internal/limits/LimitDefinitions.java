package dev.sluice.redis.internal.limits;

import dev.sluice.redis.RedisUnavailableException;
import dev.sluice.redis.internal.connection.FleetConnection;
import dev.sluice.redis.internal.connection.RedisFailure;
import dev.sluice.redis.internal.connection.ScriptCall;
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
 * is back. If Redis has lost the rules, they begin a new life there, and every node that knew
 * another one joins it with what it knows before it takes Redis's word.
 */
public final class LimitDefinitions {
  /** Every node reads all of them at once; templates are for many keys. */
  private static final int MAX_RULES = 10_000;

  private static final int BEFORE_AT = 2;
  private static final int LIFE_AT = 3;
  private static final int FIELDS_AT = 4;
  private static final long NOT_JOINED = -1;

  private final FleetConnection link;
  private final String[] keys;
  private final Consumer<LimitTable> changed;

  /** Guarded by this: changes that Redis does not have yet. Empty: removed. */
  private final Map<String, Optional<String>> pending = new LinkedHashMap<>();

  /** The limits in force on this node: {@link #confirmed} with the pending changes. */
  private volatile LimitTable rules;

  /** The limits that Redis has, as far as this node knows. */
  private volatile LimitTable confirmed;

  /** Whether Redis, or who opened these limits, has told the rules. */
  private volatile boolean known;

  /** The life that this copy belongs to; 0 if none is known. */
  private volatile long life;

  public LimitDefinitions(
      FleetConnection link, RedisKeys space, LimitTable remembered, Consumer<LimitTable> changed) {
    this.link = link;
    this.keys = new String[] {space.rules(), space.told()};
    this.rules = remembered;
    this.confirmed = remembered;
    this.known = remembered.version() > 0;
    this.changed = changed;
  }

  public LimitTable rules() {
    return rules;
  }

  /** Without what Redis has not confirmed. */
  LimitTable confirmed() {
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
  public CompletableFuture<Boolean> put(String field, @Nullable String text) {
    boolean here;
    synchronized (this) {
      Optional<String> value = Optional.ofNullable(text);
      @Nullable String present = rules.fields().get(field);
      if (text != null && present == null && rules.fields().size() >= MAX_RULES) {
        throw new IllegalStateException(
            "a fleet must have at most %d limits: cannot add %s"
                .formatted(MAX_RULES, field.substring(1)));
      }
      here = !Optional.ofNullable(present).equals(value);
      pending.put(field, value);
      publish(rules.with(field, text));
    }
    if (!link.state().asksRedis()) {
      return Futures.now(here);
    }
    return store(field, text);
  }

  private CompletableFuture<Boolean> store(String field, @Nullable String text) {
    return send(field, text)
        .thenCompose(
            answer ->
                ScriptCall.number(answer, 1) == NOT_JOINED
                    ? join().thenCompose(joined -> send(field, text))
                    : Futures.now(answer))
        .thenCompose(
            answer -> {
              if (ScriptCall.number(answer, 1) == NOT_JOINED) {
                throw new RedisUnavailableException(
                    "Redis keeps losing its data; limits cannot be restored", null);
              }
              boolean changes = ScriptCall.number(answer, 1) == 1;
              stored(answer, field, text);
              // Others have changed something as well: these are read as a whole.
              return ScriptCall.number(answer, 0) == rules.version()
                  ? Futures.now(changes)
                  : refresh().handle((done, failure) -> changes);
            });
  }

  private CompletableFuture<List<Object>> send(String field, @Nullable String text) {
    String known = Long.toString(life);
    return link.probe(
        LimitScript.LIMITS,
        keys,
        text == null
            ? new String[] {"remove", known, field}
            : new String[] {"set", known, field, text});
  }

  private synchronized void stored(List<Object> answer, String field, @Nullable String text) {
    pending.remove(field, Optional.ofNullable(text));
    if (isOfOtherLife(answer) && !isBlank()) {
      return;
    }
    if (ScriptCall.number(answer, BEFORE_AT) == rules.version()) {
      long version = ScriptCall.number(answer, 0);
      life = ScriptCall.number(answer, LIFE_AT);
      confirmed = confirmed.with(field, text).at(version);
      publish(rules.at(version));
    }
  }

  private boolean isOfOtherLife(List<Object> answer) {
    return ScriptCall.number(answer, LIFE_AT) != life;
  }

  /** Whether this node knows nothing that Redis could have lost. */
  private boolean isBlank() {
    return life == 0 && confirmed.version() == 0;
  }

  /**
   * Brings this copy and Redis together, if they differ.
   *
   * @param lifeThere of the rules in Redis; 0 if there are none
   */
  public CompletableFuture<Void> sync(long versionThere, long lifeThere) {
    boolean lost = lifeThere != life || versionThere < rules.version();
    CompletableFuture<Void> done = lost ? join() : CompletableFuture.allOf();
    return done.thenCompose(joined -> storePending())
        .exceptionally(LimitDefinitions::unlessRefused)
        .thenCompose(
            nothing -> versionThere == rules.version() && lifeThere == life ? agreed() : refresh());
  }

  /** Rules that Redis refuses, for want of a permission, must not keep this node from it. */
  private static @Nullable Void unlessRefused(Throwable failure) {
    if (RedisFailure.of(failure) != RedisFailure.REFUSED) {
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

  /** Tells Redis what this node knows, if that may have lost it. */
  private CompletableFuture<Void> join() {
    if (isBlank()) {
      return CompletableFuture.allOf();
    }
    LimitTable last = confirmed;
    List<String> arguments = new ArrayList<>();
    arguments.add("join");
    arguments.add(Long.toString(life));
    arguments.add(Long.toString(last.version()));
    last.fields()
        .forEach(
            (field, text) -> {
              arguments.add(field);
              arguments.add(text);
            });
    return link.slow(LimitScript.LIMITS, keys, arguments.toArray(String[]::new))
        .thenAccept(answer -> life = ScriptCall.number(answer, LIFE_AT));
  }

  /** Reads all of them; if they have been lost, after this node has told what it knows. */
  CompletableFuture<Void> refresh() {
    return readAll()
        .thenCompose(
            mine ->
                mine
                    ? CompletableFuture.allOf()
                    : join().thenCompose(joined -> readAll()).thenAccept(again -> {}));
  }

  private CompletableFuture<Boolean> readAll() {
    return link.slow(LimitScript.LIMITS, keys, new String[] {"read"}).thenApply(this::read);
  }

  /** False if they are of a life that this node has not joined: they are not all there is then. */
  private synchronized boolean read(List<Object> answer) {
    if (isOfOtherLife(answer) && !isBlank()) {
      return false;
    }
    life = ScriptCall.number(answer, LIFE_AT);
    long version = ScriptCall.number(answer, 0);
    Map<String, String> fields = new LinkedHashMap<>();
    for (int i = FIELDS_AT; i + 1 < answer.size(); i += 2) {
      fields.put(String.valueOf(answer.get(i)), String.valueOf(answer.get(i + 1)));
    }
    if (version > rules.version()) {
      confirmed = LimitTable.of(version, fields);
      LimitTable next = confirmed;
      for (Map.Entry<String, Optional<String>> change : pending.entrySet()) {
        next = next.with(change.getKey(), change.getValue().orElse(null));
      }
      publish(next);
    }
    known = true;
    return true;
  }

  private void publish(LimitTable next) {
    if (rules != next) {
      rules = next;
      changed.accept(next);
    }
  }
}
