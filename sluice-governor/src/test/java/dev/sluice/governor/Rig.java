package dev.sluice.governor;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.Map;

/** A governor at a virtual time, with one model unless told otherwise. */
final class Rig implements AutoCloseable {
  static final String P0 = "P0_clinical";
  static final String P1 = "P1_user";
  static final String P2 = "P2_batch";
  static final String MODEL = "AX9F7E2B-sonnet-4-5";

  /** Tickets stay in the waiting list for an hour without a poll. */
  static final WaitingListConfig PATIENT = rules(10_000, Duration.ofHours(1));

  final VirtualTimer timer = new VirtualTimer();
  final Governor governor;

  Rig(BudgetConfig config) {
    governor = Governor.builder(config).clock(timer).build();
  }

  Rig(ModelBudget budget) {
    this(config(budget));
  }

  /** The seed's first model, 240,000 a minute in bursts of 300,000. */
  Rig(Allocation allocation) {
    this(sonnet(allocation));
  }

  static ModelBudget sonnet(Allocation allocation) {
    return SeedBudget.budget(240_000, 300_000)
        .allocation(allocation)
        .priorityClasses(SeedBudget.CLASSES)
        .build();
  }

  static BudgetConfig config(ModelBudget budget) {
    return config(Map.of(MODEL, budget));
  }

  static BudgetConfig config(Map<String, ModelBudget> models) {
    return config(models, PATIENT);
  }

  static BudgetConfig config(Map<String, ModelBudget> models, WaitingListConfig rules) {
    return BudgetConfig.builder().models(models).waitingList(rules).build();
  }

  static WaitingListConfig rules(int maxLine, Duration patience) {
    return WaitingListConfig.builder().maxWaiting(maxLine).ticketIdleTimeout(patience).build();
  }

  TokenDecision ask(long tokens, String priority) {
    return governor.blocking().request(TokenRequest.of(MODEL, tokens).withPriorityClass(priority));
  }

  TokenDecision.Granted granted(long tokens, String priority) {
    return granted(ask(tokens, priority));
  }

  static TokenDecision.Granted granted(TokenDecision outcome) {
    assertThat(outcome).isInstanceOf(TokenDecision.Granted.class);
    return (TokenDecision.Granted) outcome;
  }

  GovernorStatus.Model status() {
    return status(MODEL);
  }

  GovernorStatus.Model status(String model) {
    GovernorStatus.Model status = governor.blocking().status().models().get(model);
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
