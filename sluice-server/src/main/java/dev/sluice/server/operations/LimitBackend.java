package dev.sluice.server.operations;

import dev.sluice.Decision;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Keeps and decides limits; {@link LimitOperations} has checked the caller and its permissions. */
public sealed interface LimitBackend permits LocalLimitBackend, SharedLimitBackend {
  /**
   * Returns the state of a key.
   *
   * @param key which
   * @param rate its rate and burst
   * @param level the tokens it has; null if that would take too long to find out
   */
  record Standing(String key, LimitOperations.Rate rate, @Nullable Double level) {}

  /**
   * Returns the rate of a key that a template makes, null for a key with a limit of its own; throws
   * unless {@code key} has a limit and may be decided about.
   */
  LimitOperations.@Nullable Rate requireLimit(String key);

  /** Returns false if nothing is stored of a key that a template made. */
  boolean mayStore(String key);

  /** Takes all of {@code costs} or none. */
  CompletableFuture<Decision> consume(Map<String, Long> costs);

  /** Returns the decision of {@link #consume} without taking tokens. */
  CompletableFuture<Decision> peek(Map<String, Long> costs);

  /**
   * Returns the state of the {@code keys} after earlier calls; keys without a limit are left out.
   */
  CompletableFuture<List<Standing>> standings(Collection<String> keys);

  CompletableFuture<Void> set(String key, LimitOperations.Rate rate);

  /** False if there is no limit of that very key. */
  CompletableFuture<Boolean> remove(String key);

  /** Returns all limits, as an unmodifiable map. */
  SortedMap<String, LimitOperations.Rate> limits();

  /** Drops state that is no longer needed; called periodically. */
  void makeRoom();

  void close();
}
