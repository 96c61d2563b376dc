package dev.sluice.cli.simulate.scenario;

import dev.sluice.Placement;
import dev.sluice.cli.text.Durations;
import dev.sluice.cli.text.InvalidInputException;
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
 * <p>Each tenant and caller has its own random source, derived from the seed and its position in
 * the file. Adding or changing one leaves the arrivals of all others unchanged.
 */
public final class ScenarioRunner {
  /** About ten minutes of simulation. */
  private static final long MAX_ARRIVALS = 50_000_000;

  private final VirtualClock time = new VirtualClock();
  private final Scenario scenario;
  private final LongConsumer progress;
  private final List<QueueMeter> queues = new ArrayList<>();
  private final Map<Scenario.ScenarioLimit, LimitMeter> throttles = new LinkedHashMap<>();
  private final Map<String, ModelUsageMeter> models = new LinkedHashMap<>();
  private final Map<List<String>, ScenarioResult.ClassMeter> classes = new LinkedHashMap<>();
  private final List<ScenarioResult.CallerMeter> callers = new ArrayList<>();

  private ScenarioRunner(Scenario scenario, LongConsumer progress) {
    this.scenario = scenario;
    this.progress = progress;
  }

  /**
   * Runs it.
   *
   * @param progress receives the simulated time in seconds, once per step
   */
  public static ScenarioResult run(Scenario scenario, LongConsumer progress) {
    return new ScenarioRunner(scenario, progress).result();
  }

  private ScenarioResult result() {
    requireFewEnough();
    scenario.queues().forEach(each -> queues.add(new QueueMeter(each, scenario)));
    scenario
        .throttles()
        .forEach(each -> throttles.put(each, new LimitMeter(each, scenario.steps())));
    List<Runnable> ends = new ArrayList<>();
    if (!queues.isEmpty()) {
      QueueSimulator fair = new QueueSimulator(time, false, queues);
      QueueSimulator fifo = new QueueSimulator(time, true, queues);
      queues.forEach(queue -> addTenants(queue, fair, fifo));
      ends.add(fair::close);
      ends.add(fifo::close);
    }
    BudgetConfig budget = scenario.budget();
    if (budget != null) {
      budget
          .models()
          .forEach(
              (name, each) -> models.put(name, new ModelUsageMeter(name, each, scenario.steps())));
      ModelSimulator fair = new ModelSimulator(time, false, budget, models, scenario.stepNanos());
      ModelSimulator fifo = new ModelSimulator(time, true, budget, models, scenario.stepNanos());
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
    for (Scenario.ScenarioQueue queue : scenario.queues()) {
      for (Scenario.Tenant each : queue.tenants()) {
        left = less(left, each.path(), each.count(), each.arrivals());
      }
    }
    for (Scenario.Caller each : scenario.callers()) {
      left = less(left, each.path(), each.count(), each.arrivals());
    }
  }

  private long less(long left, String path, int members, ArrivalProcess arrivals) {
    long rest = left;
    for (int number = 1; number <= members; number++) {
      ArrivalProcess.Times times = arrivals.times(random(path, number));
      while (times.next() < scenario.durationNanos()) {
        if (--rest < 0) {
          throw new InvalidInputException(
              "a scenario may have at most %,d arrivals, exceeded by %s; shorten the duration, or divide"
                      .formatted(MAX_ARRIVALS, path)
                  + " rates and limits by the same factor");
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
          queues.forEach(each -> each.endStep(index, time.nanoTime()));
          throttles.values().forEach(each -> each.endStep(index));
          classes.values().forEach(each -> each.flow().endStep(index));
          callers.forEach(each -> each.flow().endStep(index));
          progress.accept(time.nanoTime() / Durations.SECOND);
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
  private void arriveLater(ArrivalProcess.Times times, Runnable arrive) {
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

  private void addTenants(QueueMeter queue, QueueSimulator fair, QueueSimulator fifo) {
    for (int i = 0; i < queue.tenants.size(); i++) {
      Scenario.Tenant tenant = queue.queue.tenants().get(i);
      TrafficMeter meter = queue.tenants.get(i);
      for (int number = 1; number <= tenant.count(); number++) {
        QueueSimulator.TenantTraffic flow = flow(queue, meter, tenant, tenant.member(number));
        SplittableRandom random = random(tenant.path(), number);
        SplittableRandom service = random.split();
        arriveLater(
            tenant.arrivals().times(random),
            () -> {
              long nanos = (long) tenant.service().draw(service);
              QueueSimulator.Work work = new QueueSimulator.Work(flow, time.nanoTime(), nanos);
              flow.meter().arrived();
              fair.arrive(work);
              fifo.arrive(work);
            });
      }
    }
  }

  private QueueSimulator.TenantTraffic flow(
      QueueMeter queue, TrafficMeter meter, Scenario.Tenant tenant, String name) {
    SortedMap<String, Long> tokens = new TreeMap<>();
    List<QueueSimulator.LimitCost> takes = new ArrayList<>();
    tenant
        .throttles()
        .forEach((key, each) -> tokens.merge(ScenarioParser.expand(key, name), each, Math::max));
    tokens.forEach(
        (key, each) -> {
          LimitMeter throttle = meter(scenario.throttle(key));
          takes.add(new QueueSimulator.LimitCost(key, each, throttle, throttle.key(key)));
        });
    Placement placement =
        Placement.of(name)
            .withWeight(tenant.weight())
            .withPriority(tenant.priority())
            .withThrottleKeys(tokens);
    return new QueueSimulator.TenantTraffic(queue, meter, placement, takes);
  }

  private LimitMeter meter(Scenario.@Nullable ScenarioLimit throttle) {
    return Objects.requireNonNull(throttles.get(Objects.requireNonNull(throttle)));
  }

  private void addCallers(Scenario.Caller caller, ModelSimulator fair, ModelSimulator fifo) {
    TrafficMeter own = new TrafficMeter(caller.name(), scenario.steps());
    callers.add(new ScenarioResult.CallerMeter(caller, own));
    TrafficMeter inClass =
        classes
            .computeIfAbsent(
                List.of(caller.model(), caller.priority()),
                absent ->
                    new ScenarioResult.ClassMeter(
                        caller.model(), new TrafficMeter(caller.priority(), scenario.steps())))
            .flow();
    List<TrafficMeter> meters = List.of(own, inClass);
    for (int number = 1; number <= caller.count(); number++) {
      String tenant = caller.member(number);
      SplittableRandom random = random(caller.path(), number);
      SplittableRandom calls = random.split();
      arriveLater(
          caller.arrivals().times(random),
          () -> {
            ModelSimulator.Call call = call(caller, tenant, meters, calls);
            meters.forEach(TrafficMeter::arrived);
            fair.arrive(call);
            fifo.arrive(call);
          });
    }
  }

  private ModelSimulator.Call call(
      Scenario.Caller caller, String tenant, List<TrafficMeter> meters, SplittableRandom random) {
    long tokens = Math.max(1, Math.round(caller.tokens().draw(random)));
    TokenRequest request =
        TokenRequest.of(caller.model(), tokens)
            .withPriorityClass(caller.priority())
            .withTenant(tenant);
    if (caller.deadline() != null) {
      request = request.withMaxWait(caller.deadline());
    }
    double used = caller.used().draw(random);
    long nanos = (long) caller.callTime().draw(random);
    return new ModelSimulator.Call(request, meters, used, nanos, time.nanoTime());
  }
}
