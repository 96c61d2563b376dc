package dev.sluice.cli;

import dev.sluice.Placement;
import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.TokenRequest;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SortedMap;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.function.LongConsumer;
import java.util.zip.CRC32;
import org.jspecify.annotations.Nullable;

/**
 * Runs a scenario at a virtual time, with Sluice and, on the same arrivals, by FIFO.
 *
 * <p>Everybody has a source of chance of its own, by the seed and the place in the file: who is
 * added or changed leaves the arrivals of the others as they are.
 */
final class ScenarioRun {
  /** Some ten minutes of work. */
  private static final long MAX_ARRIVALS = 50_000_000;

  private final VirtualTime time = new VirtualTime();
  private final Scenario scenario;
  private final LongConsumer progress;
  private final List<QueueMeter> queues = new ArrayList<>();
  private final Map<Scenario.Throttle, ThrottleMeter> throttles = new LinkedHashMap<>();
  private final Map<String, ModelMeter> models = new LinkedHashMap<>();
  private final Map<List<String>, ScenarioResult.ClassMeter> classes = new LinkedHashMap<>();
  private final List<ScenarioResult.CallerMeter> callers = new ArrayList<>();

  private ScenarioRun(Scenario scenario, LongConsumer progress) {
    this.scenario = scenario;
    this.progress = progress;
  }

  /**
   * Runs it.
   *
   * @param progress is told how much time has gone by, in seconds, once a step
   */
  static ScenarioResult run(Scenario scenario, LongConsumer progress) {
    return new ScenarioRun(scenario, progress).result();
  }

  private ScenarioResult result() {
    requireFewEnough();
    scenario.queues().forEach(each -> queues.add(new QueueMeter(each, scenario)));
    scenario
        .throttles()
        .forEach(each -> throttles.put(each, new ThrottleMeter(each, scenario.steps())));
    List<Runnable> ends = new ArrayList<>();
    if (!queues.isEmpty()) {
      QueueEngine fair = new QueueEngine(time, false, queues);
      QueueEngine fifo = new QueueEngine(time, true, queues);
      queues.forEach(queue -> addTenants(queue, fair, fifo));
      ends.add(fair::close);
      ends.add(fifo::close);
    }
    BudgetConfig budget = scenario.budget();
    if (budget != null) {
      budget
          .models()
          .forEach((name, each) -> models.put(name, new ModelMeter(name, each, scenario.steps())));
      ModelEngine fair = new ModelEngine(time, false, budget, models, scenario.stepNanos());
      ModelEngine fifo = new ModelEngine(time, true, budget, models, scenario.stepNanos());
      scenario.callers().forEach(caller -> addCallers(caller, fair, fifo));
      ends.add(fair::close);
      ends.add(fifo::close);
    }
    stepLater(0);
    time.runUntil(scenario.durationNanos());
    ends.forEach(Runnable::run);
    return new ScenarioResult(
        scenario,
        queues,
        List.copyOf(throttles.values()),
        List.copyOf(models.values()),
        List.copyOf(classes.values()),
        callers);
  }

  /** Counted before anything is simulated: hours of work are refused at once. */
  private void requireFewEnough() {
    long left = MAX_ARRIVALS;
    for (Scenario.Queue queue : scenario.queues()) {
      for (Scenario.Tenant each : queue.tenants()) {
        left = less(left, each.path(), each.count(), each.arrivals());
      }
    }
    for (Scenario.Caller each : scenario.callers()) {
      left = less(left, each.path(), each.count(), each.arrivals());
    }
  }

  private long less(long left, String path, int members, Arrivals arrivals) {
    long rest = left;
    for (int number = 1; number <= members; number++) {
      Arrivals.Times times = arrivals.times(random(path, number));
      while (times.next() < scenario.durationNanos()) {
        if (--rest < 0) {
          throw new InvalidInputException(
              "at most %,d may come in all, which is exceeded with %s: shorten the duration, or divide"
                      .formatted(MAX_ARRIVALS, path)
                  + " rates and limits alike");
        }
      }
    }
    return rest;
  }

  private void stepLater(int index) {
    long end =
        index == scenario.steps() - 1
            ? scenario.durationNanos()
            : (index + 1) * scenario.stepNanos();
    time.at(
        end,
        () -> {
          queues.forEach(each -> each.endStep(index, time.now()));
          throttles.values().forEach(each -> each.endStep(index));
          classes.values().forEach(each -> each.flow().endStep(index));
          callers.forEach(each -> each.flow().endStep(index));
          progress.accept(time.now() / Durations.SECOND);
          if (index + 1 < scenario.steps()) {
            stepLater(index + 1);
          }
        });
  }

  private SplittableRandom random(String path, int member) {
    CRC32 place = new CRC32();
    place.update((path + "#" + member).getBytes(StandardCharsets.UTF_8));
    return new SplittableRandom(scenario.seed() ^ (place.getValue() << 31));
  }

  /** The next arrival is thought of when the one before has come. */
  private void arriveLater(Arrivals.Times times, Runnable arrive) {
    long at = times.next();
    if (at < scenario.durationNanos()) {
      time.at(
          at,
          () -> {
            arrive.run();
            arriveLater(times, arrive);
          });
    }
  }

  private void addTenants(QueueMeter queue, QueueEngine fair, QueueEngine fifo) {
    for (int i = 0; i < queue.tenants.size(); i++) {
      Scenario.Tenant tenant = queue.queue.tenants().get(i);
      FlowMeter meter = queue.tenants.get(i);
      for (int number = 1; number <= tenant.count(); number++) {
        QueueEngine.Flow flow = flow(queue, meter, tenant, tenant.member(number));
        SplittableRandom random = random(tenant.path(), number);
        SplittableRandom service = random.split();
        arriveLater(
            tenant.arrivals().times(random),
            () -> {
              long nanos = (long) tenant.service().draw(service);
              QueueEngine.Work work = new QueueEngine.Work(flow, time.now(), nanos);
              flow.meter().arrived();
              fair.arrive(work);
              fifo.arrive(work);
            });
      }
    }
  }

  private QueueEngine.Flow flow(
      QueueMeter queue, FlowMeter meter, Scenario.Tenant tenant, String name) {
    SortedMap<String, Long> tokens = new TreeMap<>();
    List<QueueEngine.Take> takes = new ArrayList<>();
    tenant
        .throttles()
        .forEach((key, each) -> tokens.merge(ScenarioReader.expand(key, name), each, Math::max));
    tokens.forEach(
        (key, each) -> {
          ThrottleMeter throttle = meter(scenario.throttle(key));
          takes.add(new QueueEngine.Take(key, each, throttle, throttle.key(key)));
        });
    Placement placement = new Placement(name, tenant.weight(), tenant.priority(), 1, tokens);
    return new QueueEngine.Flow(queue, meter, placement, takes);
  }

  private ThrottleMeter meter(Scenario.@Nullable Throttle throttle) {
    return Objects.requireNonNull(throttles.get(Objects.requireNonNull(throttle)));
  }

  private void addCallers(Scenario.Caller caller, ModelEngine fair, ModelEngine fifo) {
    FlowMeter own = new FlowMeter(caller.name(), scenario.steps());
    callers.add(new ScenarioResult.CallerMeter(caller, own));
    FlowMeter inClass =
        classes
            .computeIfAbsent(
                List.of(caller.model(), caller.priority()),
                absent ->
                    new ScenarioResult.ClassMeter(
                        caller.model(), new FlowMeter(caller.priority(), scenario.steps())))
            .flow();
    List<FlowMeter> meters = List.of(own, inClass);
    for (int number = 1; number <= caller.count(); number++) {
      String tenant = caller.member(number);
      SplittableRandom random = random(caller.path(), number);
      SplittableRandom calls = random.split();
      arriveLater(
          caller.arrivals().times(random),
          () -> {
            ModelEngine.Call call = call(caller, tenant, meters, calls);
            meters.forEach(FlowMeter::arrived);
            fair.arrive(call);
            fifo.arrive(call);
          });
    }
  }

  private ModelEngine.Call call(
      Scenario.Caller caller, String tenant, List<FlowMeter> meters, SplittableRandom random) {
    long tokens = Math.max(1, Math.round(caller.tokens().draw(random)));
    TokenRequest request =
        TokenRequest.of(caller.model(), tokens, caller.priority()).withTenant(tenant);
    if (caller.deadline() != null) {
      request = request.withDeadline(caller.deadline());
    }
    double used = caller.used().draw(random);
    long nanos = (long) caller.callTime().draw(random);
    return new ModelEngine.Call(request, meters, used, nanos, time.now());
  }
}
