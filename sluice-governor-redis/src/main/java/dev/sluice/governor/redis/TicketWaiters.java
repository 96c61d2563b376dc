package dev.sluice.governor.redis;

import dev.sluice.governor.Outcome;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Who waits at this node for what comes of a model's tickets. For any number of threads. */
final class TicketWaiters {
  private final Map<String, Waiting> byId = new LinkedHashMap<>();

  /** Those who wait for one ticket, and how it stood when Redis was last asked for it. */
  static final class Waiting {
    final List<CompletableFuture<Optional<Outcome>>> futures = new ArrayList<>(1);
    volatile Outcome.@Nullable Queued standing;

    /** Done when Redis has answered the last who came. */
    volatile CompletableFuture<?> arrival = CompletableFuture.allOf();

    private Waiting() {}
  }

  synchronized Waiting add(String id, CompletableFuture<Optional<Outcome>> future) {
    Waiting waiting = byId.computeIfAbsent(id, first -> new Waiting());
    waiting.futures.add(future);
    return waiting;
  }

  /** True if nobody waits for that ticket any longer. */
  synchronized boolean remove(String id, CompletableFuture<Optional<Outcome>> future) {
    Waiting waiting = byId.get(id);
    if (waiting == null
        || !waiting.futures.removeIf(each -> each == future)
        || !waiting.futures.isEmpty()) {
      return false;
    }
    byId.remove(id);
    return true;
  }

  synchronized @Nullable Waiting find(String id) {
    return byId.get(id);
  }

  /** They are to be told. */
  synchronized @Nullable Waiting take(String id) {
    return byId.remove(id);
  }

  synchronized List<String> ids() {
    return List.copyOf(byId.keySet());
  }

  /** Done when Redis has answered all who came. */
  synchronized CompletableFuture<Void> arrivals() {
    return CompletableFuture.allOf(
        byId.values().stream().map(each -> each.arrival).toArray(CompletableFuture<?>[]::new));
  }

  synchronized int size() {
    return byId.size();
  }
}
