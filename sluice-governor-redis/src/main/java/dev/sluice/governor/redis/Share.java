package dev.sluice.governor.redis;

import dev.sluice.governor.Adjustment;
import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.GovernorStatus;
import dev.sluice.governor.GovernorTimer;
import dev.sluice.governor.HealthRules;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.Outcome;
import dev.sluice.governor.Settlement;
import dev.sluice.governor.StoreTerms;
import dev.sluice.governor.TokenOwner;
import dev.sluice.governor.TokenRequest;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/**
 * What this node may grant of a model by itself in one outage: its share of every limit, from
 * empty. Nobody is put in line here. For any number of threads.
 *
 * <p>That the limit holds over the return, when all nodes were cut off together, is shown at the
 * shares of {@code sluice-redis}: what the fleet owes stays at most the burst, and a charge that
 * leaves the books empty is no less than that.
 */
final class Share {
  /** So many grants and tenants in one charge: it must not hold up others for long. */
  static final int PORTION = 500;

  private final String model;
  private final int nodes;
  private final OpenGrants fromRedis;
  private final GovernorTimer timer;
  private final Hearer hearer;
  private final OpenGrants open;

  // Guarded by this.
  private ModelTerms terms;
  private @Nullable BudgetStore local;
  private long granted;
  private long givenBack;
  private long requests;
  private final Map<String, Long> classes = new HashMap<>();
  private final Map<String, Long> tenants = new HashMap<>();

  /**
   * A share that begins now.
   *
   * @param fromRedis what this node holds of what Redis granted, which needs slots as well
   * @param hearer is told what is decided here
   */
  Share(
      String model,
      ModelTerms terms,
      int nodes,
      OpenGrants fromRedis,
      GovernorTimer timer,
      Hearer hearer) {
    this.model = model;
    this.terms = terms;
    this.nodes = nodes;
    this.fromRedis = fromRedis;
    this.timer = timer;
    this.hearer = hearer;
    this.open = new OpenGrants(timer, () -> terms().rules().reservationLife().toNanos());
    this.local = begin();
  }

  private synchronized ModelTerms terms() {
    return terms;
  }

  int nodes() {
    return nodes;
  }

  private @Nullable BudgetStore begin() {
    ModelBudget share = ShareOfBudget.of(terms.budget(), nodes);
    return share == null
        ? null
        : StoreTerms.inMemoryFromEmpty(new LastingTimer(timer)).open(config(share), hearer);
  }

  private BudgetConfig config(ModelBudget share) {
    return new BudgetConfig(
        Map.of(model, share), terms.rules(), HealthRules.DEFAULTS, Map.of(), List.of());
  }

  /** It is answered at once, always. */
  private static <T> T now(CompletableFuture<T> answer) {
    try {
      return answer.join();
    } catch (CompletionException failure) {
      throw failure.getCause() instanceof RuntimeException cause ? cause : failure;
    }
  }

  // ---- asking

  /** What was granted here before to a request with the same key. */
  synchronized Optional<Outcome> find(TokenRequest request) {
    return local == null ? Optional.empty() : now(local.find(request));
  }

  /** Granted, or empty. */
  synchronized Optional<Outcome> ask(TokenRequest request) {
    Optional<Outcome> before = find(request);
    if (before.isPresent() || local == null || !mayAsk(request)) {
      return before;
    }
    Optional<Outcome> outcome = now(local.tryNow(request));
    if (outcome.orElse(null) instanceof Outcome.Granted grant) {
      note(OpenGrants.Grant.of(grant, request));
    }
    return outcome;
  }

  private boolean mayAsk(TokenRequest request) {
    int slots = terms.budget().concurrency();
    return ShareOfBudget.hasTenant(terms.budget(), request.tenant(), nodes)
        && (slots == 0 || open.size() + fromRedis.size() < slots / nodes);
  }

  private void note(OpenGrants.Grant grant) {
    open.add(grant);
    requests++;
    granted += grant.answer().tokens();
    part(grant, grant.answer().tokens());
  }

  private void part(OpenGrants.Grant grant, long tokens) {
    classes.merge(grant.answer().priority(), tokens, Long::sum);
    if (!terms.budget().tenants().isEmpty()) {
      tenants.merge(grant.tenant(), tokens, Long::sum);
    }
  }

  // ---- reservations

  /** Empty if it was not granted here, or has ended. */
  Optional<TokenOwner> owner(String id) {
    return Optional.ofNullable(open.find(id)).map(OpenGrants.Grant::owner);
  }

  /** Empty if it was not granted here, or has ended. */
  synchronized Optional<Settlement> settle(String id, long actual) {
    OpenGrants.Grant grant = local == null ? null : open.remove(id);
    if (grant == null || local == null) {
      return Optional.empty();
    }
    Optional<Settlement> settled = now(local.settle(grant.answer().reservation(), actual));
    settled.ifPresent(
        each -> {
          long back = each.refundedTokens() - each.overusedTokens();
          givenBack += back;
          part(grant, -back);
        });
    return settled;
  }

  /** False if it was not granted here, or has ended. */
  synchronized boolean extend(String id) {
    OpenGrants.Grant grant = local == null ? null : open.extend(id);
    return grant != null && local != null && now(local.extend(grant.answer().reservation()));
  }

  // ---- rules

  synchronized void adjust(Adjustment adjustment) {
    Long most = adjustment.tokensAtMost();
    if (local != null) {
      now(
          local.adjust(
              model,
              new Adjustment(
                  adjustment.factor(), most == null ? null : most / nodes, adjustment.pause())));
    }
  }

  synchronized void reload(ModelTerms next) {
    terms = next;
    open.shorten();
    ModelBudget share = ShareOfBudget.of(next.budget(), nodes);
    if (share == null) {
      close();
      local = null;
    } else if (local == null) {
      local = begin();
    } else {
      now(local.reload(config(share)));
    }
  }

  // ---- how it stands, and the end

  /** With the figures of the whole budget. */
  synchronized Optional<GovernorStatus.Model> status() {
    GovernorStatus.Model here = local == null ? null : now(local.status()).buckets().get(model);
    return here == null
        ? Optional.empty()
        : Optional.of(
            new GovernorStatus.Model(
                model,
                terms.budget().burstTpm(),
                here.available(),
                terms.budget().targetTpm(),
                here.lastRefill(),
                here.queueLengths(),
                here.running(),
                here.metrics(),
                here.audit(),
                here.provider(),
                here.exhaustion(),
                here.alerts()));
  }

  synchronized long available() {
    return status().map(GovernorStatus.Model::available).orElse(0L);
  }

  /** Ends it: what Redis is to be told. What is open is held in Redis from now on. */
  synchronized List<Charge> end() {
    hearer.end();
    List<Charge> charges = new ArrayList<>();
    List<OpenGrants.Grant> left = open.all();
    List<Map.Entry<String, Long>> parts = new ArrayList<>(positive(tenants).entrySet());
    for (int from = 0; from == 0 || from < Math.max(left.size(), parts.size()); from += PORTION) {
      List<OpenGrants.Grant> some = portion(left, from);
      Map<String, Long> of = new HashMap<>();
      portion(parts, from).forEach(each -> of.put(each.getKey(), each.getValue()));
      charges.add(
          from > 0
              ? new Charge(0, 0, 0, refundable(some), Map.of(), of, some)
              : new Charge(
                  granted,
                  Math.max(0, granted - givenBack),
                  requests,
                  refundable(some),
                  positive(classes),
                  of,
                  some));
    }
    close();
    return charges;
  }

  private static <T> List<T> portion(List<T> all, int from) {
    return all.subList(Math.min(from, all.size()), Math.min(from + PORTION, all.size()));
  }

  private long refundable(List<OpenGrants.Grant> left) {
    long refundable = 0;
    for (OpenGrants.Grant each : left) {
      BudgetStore store = local;
      if (store != null) {
        refundable +=
            now(store.settle(each.answer().reservation(), 0))
                .map(Settlement::refundedTokens)
                .orElse(0L);
      }
    }
    return refundable;
  }

  private static Map<String, Long> positive(Map<String, Long> parts) {
    Map<String, Long> some = new HashMap<>(parts);
    some.values().removeIf(tokens -> tokens <= 0);
    return some;
  }

  synchronized void close() {
    if (local != null) {
      local.close();
    }
  }

  /** The timer of the desk, which outlives the share. */
  private record LastingTimer(GovernorTimer timer) implements GovernorTimer {
    @Override
    public long now() {
      return timer.now();
    }

    @Override
    public void after(long nanos, Runnable action) {
      timer.after(nanos, action);
    }

    @Override
    public void execute(Runnable action) {
      timer.execute(action);
    }

    @Override
    public void close() {}
  }
}
