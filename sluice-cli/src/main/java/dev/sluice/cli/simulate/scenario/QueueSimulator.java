package dev.sluice.cli.simulate.scenario;

import dev.sluice.FairQueue;
import dev.sluice.FairScheduler;
import dev.sluice.Limit;
import dev.sluice.Next;
import dev.sluice.Placement;
import dev.sluice.ScheduledItem;
import dev.sluice.cli.text.Durations;
import dev.sluice.cli.text.InvalidInputException;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/**
 * All queues on one scheduler, with their workers, at a virtual time. By FIFO it is the same
 * scheduler, in which all tenants of a queue have one key that keeps its order.
 */
final class QueueSimulator {
  private static final String EVERYBODY = "everybody";
  private static final long NEVER = Long.MAX_VALUE;

  /** Beyond that a simulation is about memory, and not about fairness. */
  private static final long MOST_WAITING = 1_000_000;

  private final FairScheduler<Work> scheduler = FairScheduler.create();
  private final VirtualClock time;
  private final boolean byFifo;
  private final Map<String, QueueSimulator.SimulatedQueue> simulatedQueues = new LinkedHashMap<>();
  private final Set<String> rates = new LinkedHashSet<>();
  private long wakeAt = NEVER;

  /** The traffic of one tenant in one queue. */
  static final class TenantTraffic {
    private final QueueMeter queue;
    private final TrafficMeter meter;
    private final Placement placement;
    private final Placement inFifo;
    private final List<QueueSimulator.LimitCost> takes;

    /** With what each item takes of throttle keys. */
    TenantTraffic(
        QueueMeter queue,
        TrafficMeter meter,
        Placement placement,
        List<QueueSimulator.LimitCost> takes) {
      this.queue = queue;
      this.meter = meter;
      this.placement = placement;
      this.inFifo = Placement.of(EVERYBODY).withThrottleKeys(placement.throttleKeys());
      this.takes = List.copyOf(takes);
    }

    TrafficMeter meter() {
      return meter;
    }
  }

  /** Tokens of one throttle key. */
  record LimitCost(String key, long tokens, LimitMeter throttle, GrantedTokenMeter meter) {}

  /** An item. */
  record Work(QueueSimulator.TenantTraffic flow, long arrivedAt, long serviceNanos) {}

  /** A simulated queue. */
  private static final class SimulatedQueue {
    final FairQueue<Work> queue;
    final QueueMeter meter;
    int busy;
    long waiting;

    SimulatedQueue(FairQueue<Work> queue, QueueMeter meter) {
      this.queue = queue;
      this.meter = meter;
    }

    boolean hasWorkers() {
      return meter.queue.workers() > 0;
    }
  }

  QueueSimulator(VirtualClock time, boolean byFifo, List<QueueMeter> queues) {
    this.time = time;
    this.byFifo = byFifo;
    for (QueueMeter meter : queues) {
      Scenario.ScenarioQueue spec = meter.queue;
      QueueSimulator.SimulatedQueue simulated =
          new QueueSimulator.SimulatedQueue(scheduler.queue(spec.name()), meter);
      simulated.queue.setStrictOrder(byFifo || spec.strictOrder());
      if (simulated.hasWorkers()) {
        simulated.queue.setCredit(spec.workers());
      }
      if (!byFifo && spec.maxInFlightPerKey() > 0) {
        simulated.queue.setMaxInFlightPerKey(spec.maxInFlightPerKey());
      }
      simulatedQueues.put(spec.name(), simulated);
    }
  }

  private QueueSimulator.SimulatedQueue simulated(String queue) {
    return Objects.requireNonNull(simulatedQueues.get(queue));
  }

  void arrive(Work work) {
    QueueSimulator.SimulatedQueue simulated = simulated(work.flow().queue.queue.name());
    TrafficResult passage = passage(work);
    passage.entered();
    long depth = simulated.meter.queue.maxDepth();
    if (depth > 0 && simulated.waiting >= depth) {
      passage.refused("max_depth");
      return;
    }
    if (simulated.waiting >= MOST_WAITING) {
      throw new InvalidInputException(
          "queue %s: more than %d messages wait%s after %s; set max_depth, or simulate a shorter time"
              .formatted(
                  simulated.queue.name(),
                  MOST_WAITING,
                  byFifo ? " in the FIFO for comparison" : "",
                  Durations.format(time.nanoTime())));
    }
    simulated.waiting++;
    setRates(work.flow());
    simulated.queue.enqueue(work, byFifo ? work.flow().inFifo : work.flow().placement);
    serve();
  }

  private TrafficResult passage(Work work) {
    return work.flow().meter.passage(byFifo);
  }

  /** A key of a template gets its rate when it is first used, and is full then. */
  private void setRates(QueueSimulator.TenantTraffic flow) {
    for (QueueSimulator.LimitCost take : flow.takes) {
      if (rates.add(take.key())) {
        Scenario.ScenarioLimit throttle = take.throttle().throttle;
        scheduler.advanceTo(time.nanoTime());
        scheduler.setLimit(take.key(), Limit.ofRate(throttle.rate(), throttle.burst()));
      }
    }
  }

  /** Everything that can go now goes. */
  private void serve() {
    while (true) {
      Next<Work> next = scheduler.next(time.nanoTime());
      if (next instanceof Next.Offer<Work> offer) {
        begin(simulated(offer.queue()), offer.confirm());
      } else {
        if (next instanceof Next.Wait<Work> wait) {
          wake(wait.untilNanos());
        }
        return;
      }
    }
  }

  private void wake(long at) {
    if (at < wakeAt) {
      wakeAt = at;
      time.at(
          at,
          () -> {
            // Unless an earlier one took its place.
            if (wakeAt == at) {
              wakeAt = NEVER;
              serve();
            }
          });
    }
  }

  private void begin(QueueSimulator.SimulatedQueue simulated, ScheduledItem<Work> item) {
    Work work = item.item();
    long now = time.nanoTime();
    simulated.waiting--;
    simulated.busy++;
    passage(work).served(now - work.arrivedAt());
    if (!byFifo) {
      simulated.meter.workers.change(1, now);
      for (QueueSimulator.LimitCost take : work.flow().takes) {
        take.meter().take(take.tokens(), now);
        take.throttle().taken(take.tokens());
      }
    }
    if (work.serviceNanos() == 0) {
      finish(simulated, item);
    } else {
      time.schedule(
          work.serviceNanos(),
          () -> {
            finish(simulated, item);
            serve();
          });
    }
  }

  private void finish(QueueSimulator.SimulatedQueue simulated, ScheduledItem<Work> item) {
    item.complete();
    simulated.busy--;
    if (!byFifo) {
      simulated.meter.workers.change(-1, time.nanoTime());
    }
    if (simulated.hasWorkers()) {
      simulated.queue.setCredit(simulated.meter.queue.workers() - simulated.busy);
    }
  }

  /** Ends the simulation; items that still wait count with their wait so far. */
  void close() {
    rates.forEach(scheduler::removeLimit);
    simulatedQueues
        .values()
        .forEach(
            simulated -> {
              simulated.queue.setMaxInFlightPerKey(Integer.MAX_VALUE);
              simulated.queue.setCredit(FairQueue.UNLIMITED_CREDIT);
            });
    while (scheduler.next(time.nanoTime()) instanceof Next.Offer<Work> offer) {
      Work work = offer.confirm().item();
      passage(work).leftWaiting(time.nanoTime() - work.arrivedAt());
    }
  }
}
