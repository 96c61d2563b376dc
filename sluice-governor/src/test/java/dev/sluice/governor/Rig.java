package dev.sluice.governor;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.Map;

/** A governor at a virtual time, with one model unless told otherwise. */
final class Rig implements AutoCloseable {
  static final String P0 = "P0_clinical";
  static final String P1 = "P1_user";
  static final String P2 = "P2_batch";
  static final String MODEL = "AX9F7E2B-sonnet-4-5";

  /** Tickets stay in line for an hour though nobody polls them. */
  static final DeskRules PATIENT = rules(10_000, Duration.ofHours(1));

  final VirtualTimer timer = new VirtualTimer();
  final Governor governor;

  Rig(BudgetConfig config) {
    governor = Governor.create(config, timer);
  }

  Rig(ModelBudget budget) {
    this(config(budget));
  }

  /** The seed's first model, 240,000 a minute in bursts of 300,000. */
  Rig(Allocation allocation) {
    this(sonnet(allocation));
  }

  static ModelBudget sonnet(Allocation allocation) {
    return ModelBudget.of(240_000, 300_000, allocation).withClasses(SeedBudget.CLASSES, Map.of());
  }

  static BudgetConfig config(ModelBudget budget) {
    return config(Map.of(MODEL, budget));
  }

  static BudgetConfig config(Map<String, ModelBudget> models) {
    return config(models, PATIENT);
  }

  static BudgetConfig config(Map<String, ModelBudget> models, DeskRules rules) {
    return new BudgetConfig(models, rules, HealthRules.DEFAULTS, Map.of(), List.of());
  }

  static DeskRules rules(int maxLine, Duration patience) {
    DeskRules usual = DeskRules.DEFAULTS;
    return new DeskRules(
        maxLine, patience, usual.reservationLife(), usual.drainBatch(), usual.refillInterval());
  }

  Outcome ask(long tokens, String priority) {
    return governor.request(MODEL, tokens, priority);
  }

  Outcome.Granted granted(long tokens, String priority) {
    return granted(ask(tokens, priority));
  }

  static Outcome.Granted granted(Outcome outcome) {
    assertThat(outcome).isInstanceOf(Outcome.Granted.class);
    return (Outcome.Granted) outcome;
  }

  GovernorStatus.Model status() {
    return status(MODEL);
  }

  GovernorStatus.Model status(String model) {
    GovernorStatus.Model status = governor.status().buckets().get(model);
    assertThat(status).isNotNull();
    return status;
  }

  long available() {
    return status().available();
  }

  @Override
  public void close() {
    governor.close();
  }
}
