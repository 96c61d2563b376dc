package dev.sluice.redis.internal.limits;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.LimitStats;
import dev.sluice.redis.OutageMode;
import io.lettuce.core.cluster.SlotHash;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** The named limits of a fleet in Redis. Thread-safe. */
public final class RedisKeyedLimits {
  private final LimitsFleetMember fleet;
  private final RedisDecider decider;
  private final OutageMode outageMode;
  private final boolean crossSlotRequests;
  private final @Nullable TokenBlockDecider blocks;

  public RedisKeyedLimits(
      LimitsFleetMember fleet,
      OutageMode outageMode,
      boolean crossSlotRequests,
      @Nullable TokenBlockDecider blocks) {
    this.fleet = fleet;
    this.decider = new RedisDecider(fleet);
    this.outageMode = outageMode;
    this.crossSlotRequests = crossSlotRequests;
    this.blocks = blocks;
  }

  /**
   * Sets a limit. The buckets of a template cannot be listed: each changes when it is used next.
   */
  public CompletableFuture<Void> set(String name, Limit limit) {
    LimitNames.require(name);
    ScriptLimit to = ScriptLimit.of(NamedLimit.require(limit));
    @Nullable ScriptLimit from = definitions().ofNameAlone(name);
    CompletableFuture<Boolean> stored =
        fleet.book().put(LimitTable.fieldOfName(name), LimitCodec.write(limit));
    return LimitNames.isTemplate(name)
        ? stored.thenAccept(changed -> {})
        : stored.thenCompose(changed -> decider.move(fleet.space().key(name), from, to));
  }

  /** Removes a limit; the bucket of a name changes to the limit of its template, if it has one. */
  public CompletableFuture<Boolean> remove(String name) {
    LimitNames.require(name);
    @Nullable ScriptLimit from = definitions().ofNameAlone(name);
    CompletableFuture<Boolean> removed = fleet.book().put(LimitTable.fieldOfName(name), null);
    return from == null || LimitNames.isTemplate(name)
        ? removed
        : removed.thenCompose(was -> useTemplate(name, from).thenApply(changed -> was));
  }

  private CompletableFuture<Void> useTemplate(String name, ScriptLimit from) {
    @Nullable ScriptLimit to = definitions().ofName(name);
    String place = fleet.space().key(name);
    return to == null ? decider.forget(place, from) : decider.move(place, from, to);
  }

  private LimitTable definitions() {
    return fleet.book().rules();
  }

  public SortedMap<String, Limit> limits() {
    return definitions().limits();
  }

  public CompletableFuture<Boolean> tryAcquire(String name) {
    return takeFromBlock(name, 1) == TokenBlock.NOTHING
        ? tryAcquire(Map.of(name, 1L))
        : Futures.now(true);
  }

  public CompletableFuture<Boolean> tryAcquire(Map<String, Long> costs) {
    return decide(costs).thenApply(Decision::isGranted);
  }

  public CompletableFuture<Decision> decide(String name, long tokens) {
    long left = tokens > 0 ? takeFromBlock(name, tokens) : TokenBlock.NOTHING;
    return left == TokenBlock.NOTHING
        ? decide(Map.of(name, tokens))
        : Futures.now(new Decision.Granted(left));
  }

  /** Takes tokens from a block; returns what is left of it, or {@link TokenBlock#NOTHING}. */
  private long takeFromBlock(String name, long tokens) {
    return blocks == null
        ? TokenBlock.NOTHING
        : blocks.take(fleet.space().key(name), definitions(), tokens);
  }

  public CompletableFuture<Decision> decide(Map<String, Long> costs) {
    return ask(costs, true);
  }

  public CompletableFuture<Decision> peek(Map<String, Long> costs) {
    return ask(costs, false);
  }

  private CompletableFuture<Decision> ask(Map<String, Long> costs, boolean take) {
    CostChecks.require(costs);
    LimitTable rules = definitions();
    List<BucketDemand> demands = demands(costs, rules);
    if (demands.size() < costs.size() && outageMode != OutageMode.OPEN && !fleet.book().isKnown()) {
      // Whether the other names have limits is not known yet.
      fleet.counts().closed.increment();
      return Futures.now(OutageDecisions.denied(costs.keySet().iterator().next()));
    }
    if (demands.isEmpty()) {
      return Futures.now(new Decision.Granted(Long.MAX_VALUE));
    }
    if (blocks != null && take && demands.size() == 1) {
      return blocks.answer(new Ask(demands, true, outageMode), rules, rules.version());
    }
    if (fleet.isCluster() && demands.size() > 1) {
      Map<Integer, List<BucketDemand>> bySlot = bySlot(demands);
      if (bySlot.size() > 1) {
        return askAcross(demands, List.copyOf(bySlot.values()), take);
      }
    }
    return decider.answer(new Ask(demands, take, outageMode));
  }

  /** Those that have a rate; the others pass. */
  private List<BucketDemand> demands(Map<String, Long> costs, LimitTable rules) {
    List<BucketDemand> demands = new ArrayList<>(costs.size());
    for (Map.Entry<String, Long> cost : costs.entrySet()) {
      String key = cost.getKey();
      ScriptLimit quota = rules.ofName(key);
      if (quota != null) {
        demands.add(
            new BucketDemand(key, fleet.space().key(key), quota, rules.version(), cost.getValue()));
      }
    }
    return demands;
  }

  private static Map<Integer, List<BucketDemand>> bySlot(List<BucketDemand> demands) {
    Map<Integer, List<BucketDemand>> slots = new TreeMap<>();
    for (BucketDemand demand : demands) {
      slots
          .computeIfAbsent(SlotHash.getSlot(demand.place()), slot -> new ArrayList<>())
          .add(demand);
    }
    return slots;
  }

  private CompletableFuture<Decision> askAcross(
      List<BucketDemand> demands, List<List<BucketDemand>> groups, boolean take) {
    if (!crossSlotRequests) {
      throw new IllegalArgumentException(
          "in a cluster, the limits of one request must lie in one slot: use a common hash tag such"
              + " as {acme}, or SharedLimitOptions.withCrossSlotRequests(): "
              + demands.stream().map(BucketDemand::key).toList());
    }
    return askFrom(groups, 0, take, Long.MAX_VALUE);
  }

  /** Reserves the groups one by one; what was taken is given back if one refuses. */
  private CompletableFuture<Decision> askFrom(
      List<List<BucketDemand>> groups, int index, boolean take, long remaining) {
    return decider
        .answer(new Ask(groups.get(index), take, outageMode))
        .thenCompose(
            decision -> {
              if (decision instanceof Decision.Granted granted) {
                long least = Math.min(remaining, granted.remaining());
                return index + 1 == groups.size()
                    ? Futures.now(new Decision.Granted(least))
                    : askFrom(groups, index + 1, take, least);
              }
              return take
                  ? giveBack(groups.subList(0, index)).thenApply(done -> decision)
                  : Futures.now(decision);
            });
  }

  private CompletableFuture<Void> giveBack(List<List<BucketDemand>> groups) {
    List<CompletableFuture<?>> refunds = new ArrayList<>();
    for (List<BucketDemand> group : groups) {
      for (BucketDemand demand : group) {
        // Tokens that cannot be returned stay charged, so the limit is not exceeded.
        refunds.add(
            decider
                .adjust("give", demand.tokens(), demand.place(), demand.quota())
                .exceptionally(lost -> null));
      }
    }
    return CompletableFuture.allOf(refunds.toArray(CompletableFuture[]::new));
  }

  public CompletableFuture<Optional<LimitStats>> stats(String name) {
    @Nullable ScriptLimit quota = definitions().ofName(CostChecks.requireName(name));
    if (quota == null) {
      return Futures.now(Optional.empty());
    }
    Limit limit = quota.limit();
    return decider
        .adjust("look", 0, fleet.space().key(name), quota)
        .thenApply(
            level ->
                Optional.of(
                    new LimitStats(
                        name,
                        limit,
                        (double) level.units() / level.unitsPerToken(),
                        0,
                        0,
                        Optional.empty(),
                        OptionalLong.empty())));
  }

  /** A request for some names. */
  private record Ask(List<BucketDemand> demands, boolean take, OutageMode policy)
      implements RedisDecider.BucketRequest<Decision> {
    @Override
    public Decision read(RedisDecider.ScriptDecision verdict) {
      if (verdict.outcome() == RedisDecider.ScriptOutcome.GRANTED) {
        return new Decision.Granted(verdict.figure());
      }
      BucketDemand binding = demands.get(verdict.binding());
      return switch (verdict.outcome()) {
        case DENIED -> new Decision.Denied(binding.key(), verdict.retryAfterNanos());
        case DEPLETED -> new Decision.Depleted(binding.key(), verdict.figure());
        default -> new Decision.Impossible(binding.key(), binding.quota().limit().capacity());
      };
    }

    @Override
    public Decision local(OutageLimits limits) {
      return limits.decide(demands, take);
    }

    @Override
    public Decision granted() {
      return OutageDecisions.GRANTED;
    }

    @Override
    public Decision denied() {
      return OutageDecisions.denied(demands.get(0).key());
    }
  }
}
