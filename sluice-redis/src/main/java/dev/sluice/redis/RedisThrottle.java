package dev.sluice.redis;

import dev.sluice.Limit;
import dev.sluice.Throttle;
import dev.sluice.ThrottleDecision;
import io.lettuce.core.cluster.SlotHash;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A throttle in Redis. */
final class RedisThrottle implements SharedThrottle {
  private final Fleet fleet;
  private final Decider decider;
  private final OutagePolicy policy;
  private final boolean acrossSlots;
  private final @Nullable Leaseholders leases;

  RedisThrottle(
      Fleet fleet, OutagePolicy policy, boolean acrossSlots, @Nullable Leaseholders leases) {
    this.fleet = fleet;
    this.decider = new Decider(fleet);
    this.policy = policy;
    this.acrossSlots = acrossSlots;
    this.leases = leases;
  }

  @Override
  public CompletableFuture<Void> setRate(String key, double ratePerSecond, double burst) {
    Limit limit = new Limit.Rate(ratePerSecond, burst);
    Quota to = Quota.of(limit);
    @Nullable Quota from = fleet.book().rules().ofKeyAlone(Rule.requireKey(key));
    return put(key, limit).thenCompose(changed -> decider.move(fleet.space().key(key), from, to));
  }

  /** Buckets of a template cannot be listed: each goes over to it when it is used next. */
  @Override
  public CompletableFuture<Void> setTemplate(String pattern, double ratePerSecond, double burst) {
    Rule.requirePattern(pattern);
    Limit limit = new Limit.Rate(ratePerSecond, burst);
    Quota.of(limit);
    return put(pattern, limit).thenAccept(changed -> {});
  }

  private CompletableFuture<Boolean> put(String key, Limit limit) {
    return fleet.book().put(Rules.fieldOfKey(key), LimitText.write(limit));
  }

  @Override
  public CompletableFuture<Boolean> removeRate(String key) {
    @Nullable Quota from = fleet.book().rules().ofKeyAlone(Rule.requireKey(key));
    CompletableFuture<Boolean> removed = remove(key);
    return from == null
        ? removed
        : removed.thenCompose(was -> leave(key, from).thenApply(left -> was));
  }

  /** Goes over to the template of the key, or forgets. */
  private CompletableFuture<Void> leave(String key, Quota from) {
    @Nullable Quota to = fleet.book().rules().ofKey(key);
    String place = fleet.space().key(key);
    return to == null ? decider.forget(place, from) : decider.move(place, from, to);
  }

  @Override
  public CompletableFuture<Boolean> removeTemplate(String pattern) {
    return remove(Rule.requirePattern(pattern));
  }

  private CompletableFuture<Boolean> remove(String key) {
    return fleet.book().put(Rules.fieldOfKey(key), null);
  }

  @Override
  public List<Rule> rules() {
    return fleet.book().rules().list();
  }

  @Override
  public CompletableFuture<Boolean> tryConsume(String key) {
    return isLeased(key) ? Answers.now(true) : tryConsume(Map.of(key, 1L));
  }

  @Override
  public CompletableFuture<ThrottleDecision> consume(String key) {
    return isLeased(key) ? Answers.now(ThrottleDecision.granted()) : consume(Map.of(key, 1L));
  }

  /** Whether a token could be taken from a block. */
  private boolean isLeased(String key) {
    return leases != null
        && leases.take(fleet.space().key(key), fleet.book().rules(), 1) != Block.NOTHING;
  }

  @Override
  public CompletableFuture<Boolean> tryConsume(Map<String, Long> costs) {
    return consume(costs).thenApply(ThrottleDecision::isGranted);
  }

  @Override
  public CompletableFuture<ThrottleDecision> consume(Map<String, Long> costs) {
    return ask(costs, true);
  }

  @Override
  public CompletableFuture<ThrottleDecision> peek(Map<String, Long> costs) {
    return ask(costs, false);
  }

  private CompletableFuture<ThrottleDecision> ask(Map<String, Long> costs, boolean take) {
    Costs.require(costs);
    Rules rules = fleet.book().rules();
    List<Demand> demands = demands(costs, rules);
    if (demands.size() < costs.size() && policy != OutagePolicy.OPEN && !fleet.book().isKnown()) {
      // Nobody has told whether the other keys have rates.
      fleet.counts().closed.increment();
      return Answers.now(Outage.denied(costs.keySet().iterator().next()));
    }
    if (demands.isEmpty()) {
      return Answers.now(ThrottleDecision.granted());
    }
    if (leases != null && take && demands.size() == 1) {
      return leases.answer(new Ask(demands, true, policy), rules, rules.version());
    }
    if (fleet.isCluster() && demands.size() > 1) {
      Map<Integer, List<Demand>> bySlot = bySlot(demands);
      if (bySlot.size() > 1) {
        return askAcross(demands, List.copyOf(bySlot.values()), take);
      }
    }
    return decider.answer(new Ask(demands, take, policy));
  }

  /** Those that have a rate; the others pass. */
  private List<Demand> demands(Map<String, Long> costs, Rules rules) {
    List<Demand> demands = new ArrayList<>(costs.size());
    for (Map.Entry<String, Long> cost : costs.entrySet()) {
      String key = cost.getKey();
      Quota quota = rules.ofKey(key);
      if (quota != null) {
        demands.add(
            new Demand(key, fleet.space().key(key), quota, rules.version(), cost.getValue()));
      }
    }
    return demands;
  }

  private static Map<Integer, List<Demand>> bySlot(List<Demand> demands) {
    Map<Integer, List<Demand>> slots = new TreeMap<>();
    for (Demand demand : demands) {
      slots
          .computeIfAbsent(SlotHash.getSlot(demand.place()), slot -> new ArrayList<>())
          .add(demand);
    }
    return slots;
  }

  private CompletableFuture<ThrottleDecision> askAcross(
      List<Demand> demands, List<List<Demand>> groups, boolean take) {
    if (!acrossSlots) {
      throw new IllegalArgumentException(
          "in a cluster the keys of one request must lie in one slot, which a common hash tag such"
              + " as {acme} brings about, unless the options say reserveAcrossSlots: "
              + demands.stream().map(Demand::key).toList());
    }
    return askFrom(groups, 0, take);
  }

  /** Reserves the groups one by one; what was taken is given back if one refuses. */
  private CompletableFuture<ThrottleDecision> askFrom(
      List<List<Demand>> groups, int index, boolean take) {
    return decider
        .answer(new Ask(groups.get(index), take, policy))
        .thenCompose(
            decision -> {
              if (decision.isGranted()) {
                return index + 1 == groups.size()
                    ? Answers.now(decision)
                    : askFrom(groups, index + 1, take);
              }
              return take
                  ? giveBack(groups.subList(0, index)).thenApply(done -> decision)
                  : Answers.now(decision);
            });
  }

  private CompletableFuture<Void> giveBack(List<List<Demand>> groups) {
    List<CompletableFuture<?>> refunds = new ArrayList<>();
    for (List<Demand> group : groups) {
      for (Demand demand : group) {
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
  public CompletableFuture<Optional<Throttle.Snapshot>> snapshot(String key) {
    @Nullable Quota quota = fleet.book().rules().ofKey(Costs.requireKey(key));
    if (quota == null || !(quota.limit() instanceof Limit.Rate rate)) {
      return Answers.now(Optional.empty());
    }
    return decider
        .adjust("look", 0, fleet.space().key(key), quota)
        .thenApply(
            level ->
                Optional.of(
                    new Throttle.Snapshot(
                        key,
                        (double) level.units() / level.unitsPerToken(),
                        rate.perSecond(),
                        rate.burst())));
  }

  /** A question about some keys. */
  private record Ask(List<Demand> demands, boolean take, OutagePolicy policy)
      implements Decider.Question<ThrottleDecision> {
    @Override
    public ThrottleDecision read(Decider.Verdict verdict) {
      if (verdict.outcome() == Decider.Outcome.GRANTED) {
        return ThrottleDecision.granted();
      }
      Demand binding = demands.get(verdict.binding());
      return switch (verdict.outcome()) {
        case DENIED -> ThrottleDecision.denied(binding.key(), verdict.retryAfterNanos());
        case DEPLETED -> ThrottleDecision.depleted(binding.key());
        default -> ThrottleDecision.impossible(binding.key(), binding.quota().burst());
      };
    }

    @Override
    public ThrottleDecision local(LocalLimits limits) {
      return limits.decide(demands, take);
    }

    @Override
    public ThrottleDecision granted() {
      return ThrottleDecision.granted();
    }

    @Override
    public ThrottleDecision denied() {
      return Outage.denied(demands.get(0).key());
    }
  }
}
