package dev.sluice.cli;

import java.util.List;

/**
 * What came of a scenario.
 *
 * @param classes of each model or route, by the name under which it was asked for
 */
record ScenarioResult(
    Scenario scenario,
    List<QueueMeter> queues,
    List<ThrottleMeter> throttles,
    List<ModelMeter> models,
    List<ClassMeter> classes,
    List<CallerMeter> callers) {

  /** A class of a model. */
  record ClassMeter(String model, FlowMeter flow) {}

  /** A caller, or several alike. */
  record CallerMeter(Scenario.Caller caller, FlowMeter flow) {}
}
