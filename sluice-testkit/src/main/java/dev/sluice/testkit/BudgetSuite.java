package dev.sluice.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.Allocation;
import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.DeskRules;
import dev.sluice.governor.Dimension;
import dev.sluice.governor.Explanation;
import dev.sluice.governor.Governor;
import dev.sluice.governor.HealthRules;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.Outcome;
import dev.sluice.governor.TokenRequest;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.junit.jupiter.api.AfterEach;

/**
 * What the contracts of stores of budgets have in common: the store under contract, and words for
 * what is asked of it.
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

  /** Tickets stay in line for an hour though nobody polls them. */
  static final DeskRules PATIENT = rules(10_000, Duration.ofHours(1));

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
    return ModelBudget.of(240_000, 300_000, allocation).withClasses(SeedBudget.CLASSES, Map.of());
  }

  static DeskRules rules(int maxLine, Duration patience) {
    DeskRules usual = DeskRules.DEFAULTS;
    return new DeskRules(
        maxLine, patience, usual.reservationLife(), usual.drainBatch(), usual.refillInterval());
  }

  static BudgetConfig config(ModelBudget budget) {
    return config(Map.of(MODEL, budget), PATIENT);
  }

  static BudgetConfig config(Map<String, ModelBudget> models, DeskRules rules) {
    return new BudgetConfig(models, rules, HealthRules.DEFAULTS, Map.of(), List.of());
  }

  /** In that order. */
  static Map<String, ModelBudget> models(
      String one, ModelBudget ofOne, String other, ModelBudget ofOther) {
    Map<String, ModelBudget> models = new LinkedHashMap<>();
    models.put(one, ofOne);
    models.put(other, ofOther);
    return models;
  }

  BudgetRig open(BudgetConfig config, BudgetListener listener) {
    BudgetStore store = fixture().open(config, listener);
    opened.push(store);
    return new BudgetRig(store);
  }

  BudgetRig open(BudgetConfig config) {
    return open(config, BudgetListener.NONE);
  }

  BudgetRig open(ModelBudget budget) {
    return open(config(budget));
  }

  /** The seed's first model. */
  BudgetRig open(Allocation allocation) {
    return open(sonnet(allocation));
  }

  /** As another process has it. */
  BudgetRig join(BudgetRig first, BudgetConfig config) {
    BudgetStore store = fixture().join(first.store, config);
    opened.push(store);
    return new BudgetRig(store);
  }

  Governor governor(BudgetConfig config) {
    Governor governor = Governor.over(config, fixture()::open);
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
    return TokenRequest.of(MODEL, tokens, priority);
  }

  static Explanation.Part part(
      Dimension dimension, long capacity, long available, long needed, long waitMs) {
    return new Explanation.Part(dimension, capacity, available, needed, OptionalLong.of(waitMs));
  }

  static Outcome.Granted granted(Outcome outcome) {
    assertThat(outcome).isInstanceOf(Outcome.Granted.class);
    return (Outcome.Granted) outcome;
  }

  static Outcome.Queued queued(Outcome outcome) {
    assertThat(outcome).isInstanceOf(Outcome.Queued.class);
    return (Outcome.Queued) outcome;
  }

  static Outcome.Refused refused(Outcome outcome) {
    assertThat(outcome).isInstanceOf(Outcome.Refused.class);
    return (Outcome.Refused) outcome;
  }
}
