package dev.sluice.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.Allocation;
import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.BudgetDimension;
import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.Governor;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenDecision.Denied;
import dev.sluice.governor.TokenExplanation;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.WaitingListConfig;
import dev.sluice.testkit.load.SeedBudget;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;

/**
 * Shared parts of the contracts of budget stores: the store under contract, and names for what is
 * asked of it.
 *
 * @since 0.1
 */
public abstract class BudgetSuite {
  static final String P0 = "P0_clinical";
  static final String P1 = "P1_user";
  static final String P2 = "P2_batch";
  static final String MODEL = "AX9F7E2B-sonnet-4-5";

  /** The shortest time that can pass everywhere. */
  static final Duration TICK = Duration.ofNanos(1_000);

  static final Duration SECOND = Duration.ofSeconds(1);
  static final Duration MINUTE = Duration.ofMinutes(1);

  /** Tickets that are not polled stay in the waiting list for an hour. */
  static final WaitingListConfig PATIENT = rules(10_000, Duration.ofHours(1));

  private final Deque<AutoCloseable> opened = new ArrayDeque<>();

  /** For the contracts of this package. */
  BudgetSuite() {}

  /**
   * Where the stores come from.
   *
   * @return the same one for the whole of a test
   */
  protected abstract BudgetFixture fixture();

  @AfterEach
  void closeAll() throws Exception {
    while (!opened.isEmpty()) {
      opened.pop().close();
    }
  }

  // ---- what is opened

  /** The seed's first model, 240,000 a minute in bursts of 300,000. */
  static ModelBudget sonnet(Allocation allocation) {
    return SeedBudget.budget(240_000, 300_000)
        .allocation(allocation)
        .priorityClasses(SeedBudget.CLASSES)
        .build();
  }

  static WaitingListConfig rules(int maxLine, Duration patience) {
    return WaitingListConfig.builder().maxWaiting(maxLine).ticketIdleTimeout(patience).build();
  }

  static BudgetConfig config(ModelBudget budget) {
    return config(Map.of(MODEL, budget), PATIENT);
  }

  static BudgetConfig config(Map<String, ModelBudget> models, WaitingListConfig rules) {
    return BudgetConfig.builder().models(models).waitingList(rules).build();
  }

  /** In that order. */
  static Map<String, ModelBudget> models(
      String one, ModelBudget ofOne, String other, ModelBudget ofOther) {
    Map<String, ModelBudget> models = new LinkedHashMap<>();
    models.put(one, ofOne);
    models.put(other, ofOther);
    return models;
  }

  BudgetHarness open(BudgetConfig config, BudgetListener listener) {
    BudgetStore store = fixture().open(config, listener);
    opened.push(store);
    return new BudgetHarness(store);
  }

  BudgetHarness open(BudgetConfig config) {
    return open(config, BudgetListener.NONE);
  }

  BudgetHarness open(ModelBudget budget) {
    return open(config(budget));
  }

  /** The seed's first model. */
  BudgetHarness open(Allocation allocation) {
    return open(sonnet(allocation));
  }

  /** As another process has it. */
  BudgetHarness join(BudgetHarness first, BudgetConfig config) {
    BudgetStore store = fixture().join(first.store, config);
    opened.push(store);
    return new BudgetHarness(store);
  }

  Governor governor(BudgetConfig config) {
    Governor governor = Governor.builder(config).store(fixture()::open).build();
    opened.push(governor);
    return governor;
  }

  // ---- time

  void advance(Duration time) {
    fixture().advance(time);
  }

  void advanceMillis(long millis) {
    advance(Duration.ofMillis(millis));
  }

  // ---- words

  static TokenRequest request(long tokens, String priority) {
    return TokenRequest.of(MODEL, tokens).withPriorityClass(priority);
  }

  static TokenExplanation.DimensionStatus part(
      BudgetDimension dimension, long capacity, long available, long needed, long waitMs) {
    return new TokenExplanation.DimensionStatus(
        dimension, capacity, available, needed, Optional.of(Duration.ofMillis(waitMs)));
  }

  static TokenDecision.Granted granted(TokenDecision outcome) {
    assertThat(outcome).isInstanceOf(TokenDecision.Granted.class);
    return (TokenDecision.Granted) outcome;
  }

  static TokenDecision.Queued queued(TokenDecision outcome) {
    assertThat(outcome).isInstanceOf(TokenDecision.Queued.class);
    return (TokenDecision.Queued) outcome;
  }

  static TokenDecision.Impossible impossible(TokenDecision outcome) {
    assertThat(outcome).isInstanceOf(TokenDecision.Impossible.class);
    return (TokenDecision.Impossible) outcome;
  }

  static Denied refused(TokenDecision outcome) {
    assertThat(outcome).isInstanceOf(Denied.class);
    return (Denied) outcome;
  }

  static long ofTenant(BudgetHarness rig, String tenant) {
    return rig.explain(request(1, P1).withTenant(tenant)).dimensions().stream()
        .filter(part -> part.dimension() == BudgetDimension.TENANT)
        .mapToLong(TokenExplanation.DimensionStatus::available)
        .findFirst()
        .orElseThrow();
  }
}
