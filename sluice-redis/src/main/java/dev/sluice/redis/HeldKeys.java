package dev.sluice.redis;

import dev.sluice.redis.link.Pulse;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Keys that Redis is not asked about although it answers: the part of a cluster where they are does
 * not, or it was not told yet what this node has granted of them.
 *
 * <p>This node's share decides about them. Each is charged again and again until Redis confirms it;
 * then it is released, and for a while Redis gives only what the share has as well, as after any
 * outage.
 */
final class HeldKeys {
  /** More are not held for want of an answer: each costs memory here and a call. */
  private static final int MOST = 100_000;

  private static final long AGAIN_MILLIS = 200;

  private final Pulse pulse;
  private final Charges charges;
  private final Supplier<@Nullable Shares> shares;
  private final Runnable released;
  private final Map<String, Hold> holds = new ConcurrentHashMap<>();
  private final AtomicBoolean tending = new AtomicBoolean();

  /**
   * How one key is held.
   *
   * @param gate what has to agree with Redis now that it is released; null while it is held
   */
  private record Hold(Quota quota, @Nullable Shares gate, long untilNanos) {
    boolean isHeld() {
      return gate == null;
    }

    boolean isOver(long nowNanos) {
      return gate != null && nowNanos - untilNanos >= 0;
    }
  }

  /**
   * None at first.
   *
   * @param shares what decides meanwhile
   * @param released is run when no key is held any more
   */
  HeldKeys(Pulse pulse, Charges charges, Supplier<@Nullable Shares> shares, Runnable released) {
    this.pulse = pulse;
    this.charges = charges;
    this.shares = shares;
    this.released = released;
  }

  /** Whether Redis alone decides about every key. */
  boolean isEmpty() {
    return holds.isEmpty();
  }

  /** Whether none is held; some may be released and still have a gate. */
  boolean isFree() {
    return holds.values().stream().noneMatch(Hold::isHeld);
  }

  /** Whether one of them is held; then all are, for they are decided together. */
  boolean holdsAny(List<Demand> demands) {
    if (holds.isEmpty() || demands.stream().noneMatch(this::isHeld)) {
      return false;
    }
    if (demands.size() > 1) {
      demands.forEach(demand -> hold(demand.place(), demand.quota()));
    }
    return true;
  }

  boolean holdsAll(List<Demand> demands) {
    return demands.stream().allMatch(this::isHeld);
  }

  private boolean isHeld(Demand demand) {
    Hold hold = holds.get(demand.place());
    return hold != null && hold.isHeld();
  }

  /** What has to agree with Redis about these; null if nothing has to. */
  @Nullable Shares gateOf(List<Demand> demands) {
    if (holds.isEmpty()) {
      return null;
    }
    long now = System.nanoTime();
    for (Demand demand : demands) {
      Hold hold = holds.get(demand.place());
      if (hold != null && !hold.isOver(now) && hold.gate() != null) {
        return hold.gate();
      }
    }
    return null;
  }

  /** Redis did not answer for them. */
  void unanswered(List<Demand> demands) {
    if (holds.size() < MOST) {
      demands.forEach(demand -> hold(demand.place(), demand.quota()));
    }
  }

  /** Redis is not asked about a key until it has confirmed what that owes. */
  void hold(String place, Quota quota) {
    Hold next = new Hold(quota, null, 0);
    holds.merge(place, next, (known, mine) -> known.isHeld() ? known : mine);
    if (tending.compareAndSet(false, true)) {
      pulse.execute(this::tend);
    }
  }

  /** Goes over all of them once. */
  private void tend() {
    long now = System.nanoTime();
    holds.values().removeIf(hold -> hold.isOver(now));
    if (isFree()) {
      released.run();
    }
    if (holds.isEmpty()) {
      tending.set(false);
      if (!holds.isEmpty() && tending.compareAndSet(false, true)) {
        pulse.execute(this::tend);
      }
    } else if (pulse.link().isAvailable()) {
      List<Map.Entry<String, Hold>> all = new ArrayList<>(holds.entrySet());
      all.removeIf(entry -> !entry.getValue().isHeld());
      settle(all, 0, !all.isEmpty());
    } else {
      pulse.executeAfter(AGAIN_MILLIS, this::tend);
    }
  }

  /** Some at a time; if one was not confirmed, all that are left wait a moment. */
  @SuppressWarnings("FutureReturnValueIgnored") // it goes on with the next ones
  private void settle(List<Map.Entry<String, Hold>> all, int from, boolean confirmed) {
    if (from >= all.size()) {
      pulse.executeAfter(confirmed ? 0 : AGAIN_MILLIS, this::tend);
      return;
    }
    int to = Math.min(all.size(), from + Charges.AT_ONCE);
    List<CompletableFuture<Boolean>> some = new ArrayList<>();
    all.subList(from, to).forEach(entry -> some.add(settle(entry.getKey(), entry.getValue())));
    CompletableFuture.allOf(some.toArray(CompletableFuture[]::new))
        .whenCompleteAsync(
            (done, failure) ->
                settle(all, to, confirmed && some.stream().allMatch(each -> each.getNow(false))),
            pulse);
  }

  private CompletableFuture<Boolean> settle(String place, Hold hold) {
    CompletableFuture<Void> charged =
        charges.owes(place)
            ? charges.sendAgain(place)
            : charges.send(List.of(due(place, hold.quota())));
    return charged.handleAsync(
        (done, failure) -> {
          if (failure == null) {
            release(place);
          }
          return failure == null;
        },
        pulse);
  }

  /** Of a key of which nothing was granted: whether its part of Redis answers. */
  private Shares.Charge due(String place, Quota quota) {
    Shares local = shares.get();
    Shares.@Nullable Charge granted = local == null ? null : local.drain(place);
    return granted == null ? new Shares.Charge(place, quota, 0, 0) : granted;
  }

  /** What was granted since goes first over the connection that decisions take then. */
  private void release(String place) {
    Shares local = shares.get();
    if (local == null) {
      holds.remove(place);
      return;
    }
    local.exclusively(
        () -> {
          Shares.@Nullable Charge rest = local.drain(place);
          if (rest != null) {
            charges.sendLast(List.of(rest));
          }
          if (local.nodes() > 1) {
            long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(Fleet.SETTLE_MILLIS);
            holds.computeIfPresent(
                place, (same, hold) -> new Hold(hold.quota(), local.gate(), until));
          } else {
            holds.remove(place);
          }
        });
  }
}
