package dev.sluice.cli.simulate.scenario;

import java.util.List;

/**
 * The result of a scenario.
 *
 * @param classes priority classes of each model or route, by its requested name
 */
public record ScenarioResult(
    Scenario scenario,
    List<QueueMeter> queues,
    List<LimitMeter> throttles,
    List<ModelUsageMeter> models,
    List<ClassMeter> classes,
    List<CallerMeter> callers) {

  /** A class of a model. */
  public record ClassMeter(String model, TrafficMeter flow) {}

  /** A caller, or several alike. */
  public record CallerMeter(Scenario.Caller caller, TrafficMeter flow) {}
}
