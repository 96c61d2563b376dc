package dev.sluice.redis.limits;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.Limits;
import dev.sluice.redis.OutageMode;
import dev.sluice.redis.Rule;
import dev.sluice.redis.SharedThrottle;
import io.lettuce.core.cluster.SlotHash;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A throttle in Redis. */
public final class RedisKeyedLimits implements SharedThrottle {
  private final LimitsFleetMember fleet;
  private final RedisDecider decider;
  private final OutageMode policy;
  private final boolean acrossSlots;
  private final @Nullable TokenBlockDecider leases;

  public RedisKeyedLimits(
      LimitsFleetMember fleet,
      OutageMode policy,
      boolean acrossSlots,
      @Nullable TokenBlockDecider leases) {
    this.fleet = fleet;
    this.decider = new RedisDecider(fleet);
    this.policy = policy;
    this.acrossSlots = acrossSlots;
    this.leases = leases;
  }

  @Override
  public CompletableFuture<Void> setRate(String key, double ratePerSecond, double burst) {
    Limit limit = new Limit.Rate(ratePerSecond, burst);
    ScriptLimit to = ScriptLimit.of(limit);
    @Nullable ScriptLimit from = fleet.book().rules().ofKeyAlone(Rule.requireKey(key));
    return put(key, limit).thenCompose(changed -> decider.move(fleet.space().key(key), from, to));
  }

  /** Buckets of a template cannot be listed: each goes over to it when it is used next. */
  @Override
  public CompletableFuture<Void> setTemplate(String pattern, double ratePerSecond, double burst) {
    Rule.requirePattern(pattern);
    Limit limit = new Limit.Rate(ratePerSecond, burst);
    ScriptLimit.of(limit);
    return put(pattern, limit).thenAccept(changed -> {});
  }

  private CompletableFuture<Boolean> put(String key, Limit limit) {
    return fleet.book().put(LimitTable.fieldOfKey(key), LimitCodec.write(limit));
  }

  @Override
  public CompletableFuture<Boolean> removeRate(String key) {
    @Nullable ScriptLimit from = fleet.book().rules().ofKeyAlone(Rule.requireKey(key));
    CompletableFuture<Boolean> removed = remove(key);
    return from == null
        ? removed
        : removed.thenCompose(was -> leave(key, from).thenApply(left -> was));
  }

  /** Goes over to the template of the key, or forgets. */
  private CompletableFuture<Void> leave(String key, ScriptLimit from) {
    @Nullable ScriptLimit to = fleet.book().rules().ofKey(key);
    String place = fleet.space().key(key);
    return to == null ? decider.forget(place, from) : decider.move(place, from, to);
  }

  @Override
  public CompletableFuture<Boolean> removeTemplate(String pattern) {
    return remove(Rule.requirePattern(pattern));
  }

  private CompletableFuture<Boolean> remove(String key) {
    return fleet.book().put(LimitTable.fieldOfKey(key), null);
  }

  @Override
  public List<Rule> rules() {
    return fleet.book().rules().list();
  }

  @Override
  public CompletableFuture<Boolean> tryConsume(String key) {
    return takeFromBlock(key) == TokenBlock.NOTHING
        ? tryConsume(Map.of(key, 1L))
        : Futures.now(true);
  }

  @Override
  public CompletableFuture<Decision> consume(String key) {
    long left = takeFromBlock(key);
    return left == TokenBlock.NOTHING
        ? consume(Map.of(key, 1L))
        : Futures.now(new Decision.Granted(left));
  }

  /** Takes a token from a block; returns what is left of it, or {@link TokenBlock#NOTHING}. */
  private long takeFromBlock(String key) {
    return leases == null
        ? TokenBlock.NOTHING
        : leases.take(fleet.space().key(key), fleet.book().rules(), 1);
  }

  @Override
  public CompletableFuture<Boolean> tryConsume(Map<String, Long> costs) {
    return consume(costs).thenApply(Decision::isGranted);
  }

  @Override
  public CompletableFuture<Decision> consume(Map<String, Long> costs) {
    return ask(costs, true);
  }

  @Override
  public CompletableFuture<Decision> peek(Map<String, Long> costs) {
    return ask(costs, false);
  }

  private CompletableFuture<Decision> ask(Map<String, Long> costs, boolean take) {
    CostChecks.require(costs);
    LimitTable rules = fleet.book().rules();
    List<BucketDemand> demands = demands(costs, rules);
    if (demands.size() < costs.size() && policy != OutageMode.OPEN && !fleet.book().isKnown()) {
      // Nobody has told whether the other keys have rates.
      fleet.counts().closed.increment();
      return Futures.now(OutageDecisions.denied(costs.keySet().iterator().next()));
    }
    if (demands.isEmpty()) {
      return Futures.now(new Decision.Granted(Long.MAX_VALUE));
    }
    if (leases != null && take && demands.size() == 1) {
      return leases.answer(new Ask(demands, true, policy), rules, rules.version());
    }
    if (fleet.isCluster() && demands.size() > 1) {
      Map<Integer, List<BucketDemand>> bySlot = bySlot(demands);
      if (bySlot.size() > 1) {
        return askAcross(demands, List.copyOf(bySlot.values()), take);
      }
    }
    return decider.answer(new Ask(demands, take, policy));
  }

  /** Those that have a rate; the others pass. */
  private List<BucketDemand> demands(Map<String, Long> costs, LimitTable rules) {
    List<BucketDemand> demands = new ArrayList<>(costs.size());
    for (Map.Entry<String, Long> cost : costs.entrySet()) {
      String key = cost.getKey();
      ScriptLimit quota = rules.ofKey(key);
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
    if (!acrossSlots) {
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
        .answer(new Ask(groups.get(index), take, policy))
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
        // What cannot be given back stays charged: never more than the limit.
        refunds.add(
            decider
                .adjust("give", demand.tokens(), demand.place(), demand.quota())
                .exceptionally(lost -> null));
      }
    }
    return CompletableFuture.allOf(refunds.toArray(CompletableFuture[]::new));
  }

  @Override
  public CompletableFuture<Optional<Limits.Snapshot>> snapshot(String key) {
    @Nullable ScriptLimit quota = fleet.book().rules().ofKey(CostChecks.requireKey(key));
    if (quota == null || !(quota.limit() instanceof Limit.Rate rate)) {
      return Futures.now(Optional.empty());
    }
    return decider
        .adjust("look", 0, fleet.space().key(key), quota)
        .thenApply(
            level ->
                Optional.of(
                    new Limits.Snapshot(
                        key,
                        (double) level.units() / level.unitsPerToken(),
                        rate.perSecond(),
                        rate.burst())));
  }

  /** A question about some keys. */
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
