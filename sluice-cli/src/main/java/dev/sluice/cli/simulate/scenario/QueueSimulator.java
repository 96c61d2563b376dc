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
  private final Map<String, QueueSimulator.SimulatedQueue> desks = new LinkedHashMap<>();
  private final Set<String> rates = new LinkedHashSet<>();
  private long wakeAt = NEVER;

  /** Somebody's, over many items. */
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
      this.inFifo = new Placement(EVERYBODY, 0, 0, 1, placement.throttleKeys());
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

  /** One queue here. */
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
      QueueSimulator.SimulatedQueue desk =
          new QueueSimulator.SimulatedQueue(scheduler.queue(spec.name()), meter);
      desk.queue.setStrictOrder(byFifo || spec.strictOrder());
      if (desk.hasWorkers()) {
        desk.queue.setCredit(spec.workers());
      }
      if (!byFifo && spec.maxInFlightPerKey() > 0) {
        desk.queue.setMaxInFlightPerKey(spec.maxInFlightPerKey());
      }
      desks.put(spec.name(), desk);
    }
  }

  private QueueSimulator.SimulatedQueue desk(String queue) {
    return Objects.requireNonNull(desks.get(queue));
  }

  void arrive(Work work) {
    QueueSimulator.SimulatedQueue desk = desk(work.flow().queue.queue.name());
    TrafficResult passage = passage(work);
    passage.entered();
    long depth = desk.meter.queue.maxDepth();
    if (depth > 0 && desk.waiting >= depth) {
      passage.refused("max_depth");
      return;
    }
    if (desk.waiting >= MOST_WAITING) {
      throw new InvalidInputException(
          "queue %s: more than %d wait%s after %s; give it max_depth, or simulate a shorter time"
              .formatted(
                  desk.queue.name(),
                  MOST_WAITING,
                  byFifo ? " in the FIFO that it is compared with" : "",
                  Durations.format(time.now())));
    }
    desk.waiting++;
    setRates(work.flow());
    desk.queue.enqueue(work, byFifo ? work.flow().inFifo : work.flow().placement);
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
        scheduler.advanceTo(time.now());
        scheduler.setLimit(take.key(), Limit.ofRate(throttle.rate(), throttle.burst()));
      }
    }
  }

  /** Everything that can go now goes. */
  private void serve() {
    while (true) {
      Next<Work> next = scheduler.next(time.now());
      if (next instanceof Next.Offer<Work> offer) {
        begin(desk(offer.queue()), offer.confirm());
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

  private void begin(QueueSimulator.SimulatedQueue desk, ScheduledItem<Work> item) {
    Work work = item.item();
    long now = time.now();
    desk.waiting--;
    desk.busy++;
    passage(work).served(now - work.arrivedAt());
    if (!byFifo) {
      desk.meter.workers.change(1, now);
      for (QueueSimulator.LimitCost take : work.flow().takes) {
        take.meter().take(take.tokens(), now);
        take.throttle().taken(take.tokens());
      }
    }
    if (work.serviceNanos() == 0) {
      finish(desk, item);
    } else {
      time.after(
          work.serviceNanos(),
          () -> {
            finish(desk, item);
            serve();
          });
    }
  }

  private void finish(QueueSimulator.SimulatedQueue desk, ScheduledItem<Work> item) {
    item.complete();
    desk.busy--;
    if (!byFifo) {
      desk.meter.workers.change(-1, time.now());
    }
    if (desk.hasWorkers()) {
      desk.queue.setCredit(desk.meter.queue.workers() - desk.busy);
    }
  }

  /** At the end: whoever still waits is counted with the time it has waited so far. */
  void close() {
    rates.forEach(scheduler::removeLimit);
    desks
        .values()
        .forEach(
            desk -> {
              desk.queue.setMaxInFlightPerKey(Integer.MAX_VALUE);
              desk.queue.setCredit(FairQueue.UNLIMITED_CREDIT);
            });
    while (scheduler.next(time.now()) instanceof Next.Offer<Work> offer) {
      Work work = offer.confirm().item();
      passage(work).leftWaiting(time.now() - work.arrivedAt());
    }
  }
}
