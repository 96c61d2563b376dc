package dev.sluice.internal.scheduler;

import dev.sluice.Limit;
import dev.sluice.Placement;
import dev.sluice.internal.bucket.UnitScale;
import dev.sluice.internal.scheduler.QueueWaiters.KeyWaiters;
import dev.sluice.internal.util.IndexedHeap;
import dev.sluice.internal.util.IntrusiveList;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A queue of a scheduler: its priorities, its credit and its concurrency limits. */
final class QueueState extends IndexedHeap.Node<QueueState> {
  /** The most urgent priority; priorities are bits of an int. */
  static final int MAX_PRIORITY = Placement.MAX_PRIORITY;

  static final int UNLIMITED_SLOTS = Integer.MAX_VALUE;

  final SchedulerCore core;
  final String name;
  private final @Nullable PriorityLevel[] levels = new PriorityLevel[MAX_PRIORITY + 1];

  /** Bit n is set while a flow of priority n is in a ring. */
  private int priorities;

  /** Bit n is set while priority n has a minimum rate. */
  private int minimumRates;

  private long credit = Long.MAX_VALUE;

  /** True if a key keeps the order of all its items, and not only of those with equal sets. */
  private boolean strictOrder;

  private final Map<String, Integer> weights = new HashMap<>();

  /** The slots of keys that occupy some: no other key can be full. */
  private final Map<String, ConcurrencySlots> slots = new HashMap<>();

  private final Map<String, Integer> slotLimits = new HashMap<>();
  private int slotLimit = UNLIMITED_SLOTS;

  /** Armed gates at which no other queue has waiters. */
  final IndexedHeap<LimitGate> wakeUps = new IndexedHeap<>();

  /** Waiters that gates found without credit; they take turns again when there is some. */
  final IntrusiveList<QueueWaiters> withoutCredit = new IntrusiveList<>();

  /** Waiters whose gates have something for others, should this queue run out of credit. */
  final Set<QueueWaiters> contested = new LinkedHashSet<>();

  QueueState(SchedulerCore core, String name) {
    this.core = core;
    this.name = name;
    this.strictOrder = core.strictOrder;
  }

  void setStrictOrder(boolean strict) {
    strictOrder = strict;
  }

  boolean hasCredit() {
    return credit > 0;
  }

  long credit() {
    return credit;
  }

  void credit(long items) {
    boolean had = hasCredit();
    credit = items;
    if (had != hasCredit()) {
      core.updateWakeUps(this);
    }
    if (had && items == 0) {
      unlink();
      core.reservation.release(this);
      touchContested();
    } else if (!had && items > 0) {
      if (priorities != 0) {
        core.queues.addLast(this);
      }
      QueueWaiters waiters;
      while ((waiters = withoutCredit.first()) != null) {
        waiters.resume();
      }
    }
  }

  /** Lets other queues take the tokens that this queue was promised. */
  private void touchContested() {
    for (QueueWaiters waiters : contested) {
      waiters.touchGate();
    }
  }

  /** Lets others take the tokens that lower priorities were promised. */
  private void touchPromised() {
    for (QueueWaiters waiters : contested) {
      if (waiters.hasPromises()) {
        waiters.touchGate();
      }
    }
  }

  /** Returns the most urgent priority with a flow in a ring. */
  int topPriority() {
    return priorities == 0 ? 0 : MAX_PRIORITY - Integer.numberOfLeadingZeros(priorities);
  }

  void enqueue(QueuedItem<?> item, int weight, int priority) {
    PriorityLevel level = level(priority);
    KeyFlow flow = level.flow(item.fairnessKey());
    if (flow == null) {
      flow =
          new KeyFlow(this, level, item.fairnessKey(), weights.getOrDefault(item.fairnessKey(), 1));
      flow.setSlots(slots.get(item.fairnessKey()));
      level.add(flow);
    }
    if (weight > 0) {
      flow.setWeight(weight);
    }
    SubQueue sub = flow.subQueue(strictOrder ? ThrottleKeySet.EMPTY : item.set);
    boolean goesFirst = sub.items.isEmpty() || item.sequence < sub.head().sequence;
    if (goesFirst && !sub.items.isEmpty()) {
      core.reservation.release(sub);
      sub.withdraw();
      sub.unpark();
    }
    boolean wasIdle = flow.isIdle();
    flow.add(sub, item);
    if (wasIdle && !flow.isLinked() && flow.hasSlot()) {
      level.turns.addFresh(flow);
      entered(flow);
    }
    if (goesFirst) {
      flow.ready(sub);
    }
  }

  private PriorityLevel level(int priority) {
    PriorityLevel level = levels[priority];
    if (level == null) {
      level = new PriorityLevel(priority);
      levels[priority] = level;
    }
    return level;
  }

  /** Adds a flow to the rounds again, among those that had their turn. */
  void enter(KeyFlow flow) {
    SubQueue next = flow.oldestReady();
    if (next != null && !flow.isLinked() && flow.hasSlot()) {
      flow.level.turns.add(flow, next.head().cost);
      entered(flow);
    }
  }

  private void entered(KeyFlow flow) {
    int before = topPriority();
    priorities |= 1 << flow.level.priority;
    if (topPriority() > before) {
      touchPromised();
    }
    if (!isLinked() && hasCredit()) {
      core.queues.addLast(this);
    }
  }

  /** Removes a flow from the rounds: nothing of it is ready, or it has no slot. */
  private void leave(KeyFlow flow) {
    flow.unlink();
    if (flow.level.turns.isEmpty()) {
      priorities &= ~(1 << flow.level.priority);
      if (priorities == 0) {
        unlink();
      }
    }
    if (flow.isIdle()) {
      flow.level.remove(flow);
    }
  }

  /**
   * Returns the priority to serve: one whose minimum rate is due, else the most urgent candidate.
   */
  int priorityToServe(int candidates, long nowNanos) {
    for (int due = candidates & minimumRates; due != 0; due &= due - 1) {
      int priority = Integer.numberOfTrailingZeros(due);
      if (level(priority).isMinimumRateDue(nowNanos)) {
        return priority;
      }
    }
    return MAX_PRIORITY - Integer.numberOfLeadingZeros(candidates);
  }

  /** Returns the sub-queue whose head goes next; parks sub-queues that cannot go. */
  @Nullable SubQueue pick(long nowNanos) {
    while (priorities != 0) {
      PriorityLevel level = level(priorityToServe(priorities, nowNanos));
      SubQueue sub = firstThatCanGo(level, nowNanos);
      if (sub != null && level.turns.spendOrEndRound(sub.flow, sub.head().cost)) {
        return sub;
      }
    }
    return null;
  }

  /**
   * Returns the next sub-queue of {@code level}, null if none is left; parks sub-queues that cannot
   * go.
   */
  private @Nullable SubQueue firstThatCanGo(PriorityLevel level, long nowNanos) {
    KeyFlow flow;
    while ((flow = level.turns.first()) != null) {
      SubQueue sub = flow.oldestReady();
      LimitGate gate = sub == null ? null : core.blocker(sub, null, nowNanos);
      if (sub == null || !flow.hasSlot()) {
        leave(flow);
      } else if (gate != null) {
        flow.unready(sub);
        gate.park(sub, nowNanos);
      } else {
        return sub;
      }
    }
    return null;
  }

  /**
   * Lets keys whose minimum rate is due wait at their gates, before the gates give their tokens to
   * more urgent ones.
   */
  void visitDueMinimumRates(long nowNanos) {
    for (int due = priorities & minimumRates; due != 0; due &= due - 1) {
      PriorityLevel level = level(Integer.numberOfTrailingZeros(due));
      if (level.isMinimumRateDue(nowNanos)) {
        firstThatCanGo(level, nowNanos);
      }
    }
  }

  /** Delivers the head of {@code sub}: takes its tokens and its slot. */
  QueuedItem<?> confirm(SubQueue sub, long nowNanos) {
    QueuedItem<?> item = sub.head();
    KeyFlow flow = sub.flow;
    item.takeTokens(core, nowNanos);
    if (sub.isPromised()) {
      sub.keepPromise();
    } else {
      sub.leavePlace();
    }
    flow.level.chargeMinimumRate(core.lastCharge(), nowNanos);
    flow.level.turns.spent(flow, item.cost);
    detach(sub, item);
    flow.unlink();
    if (flow.isIdle()) {
      rest(flow);
    } else {
      comeBack(flow);
    }
    if (isLinked()) {
      core.queues.rotate();
    }
    occupySlot(item);
    if (credit != Long.MAX_VALUE) {
      credit(credit - 1);
    }
    return item;
  }

  /* Does not leave in between: the queue would lose its own turn. */
  private void comeBack(KeyFlow flow) {
    SubQueue next = flow.oldestReady();
    if (next == null) {
      leave(flow);
    } else {
      flow.level.turns.add(flow, next.head().cost);
    }
  }

  /** Removes an item that waits. */
  void remove(SubQueue sub, QueuedItem<?> item) {
    core.requireNoOffer();
    KeyFlow flow = sub.flow;
    boolean wasHead = sub.items.first() == item;
    if (wasHead) {
      core.reservation.release(sub);
      sub.withdraw();
    }
    detach(sub, item);
    if (wasHead && sub.parkedAt() != null) {
      // Its new head may need something else.
      sub.unpark();
      flow.ready(sub);
    }
    if (flow.isIdle()) {
      flow.unlink();
      rest(flow);
    }
  }

  private void detach(SubQueue sub, QueuedItem<?> item) {
    KeyFlow flow = sub.flow;
    flow.remove(sub, item);
    if (sub.items.isEmpty()) {
      flow.unready(sub);
      sub.unpark();
      flow.drop(sub);
    } else if (flow.isReady(sub)) {
      flow.ready(sub);
    }
    core.leave(item.set);
  }

  /* An empty flow stays until its turn would come, unless it is alone: see PriorityLevel. */
  private void rest(KeyFlow flow) {
    flow.forfeit();
    if (flow.level.turns.isEmpty()) {
      leave(flow);
    } else {
      flow.level.turns.addLater(flow);
    }
  }

  /** Counts a delivered item, if its key has a limit. */
  void occupySlot(QueuedItem<?> item) {
    ConcurrencySlots held = slotsToOccupy(item.fairnessKey());
    if (held != null) {
      item.occupy(held);
      if (held.isFull()) {
        forEachFlow(held.key, this::suspend);
      }
    }
  }

  /** Withdraws the waiters of a flow without a slot; their tokens go to others. */
  private void suspend(KeyFlow flow) {
    if (flow.isLinked() && !flow.isIdle()) {
      leave(flow);
    }
    for (SubQueue sub : List.copyOf(flow.subQueues())) {
      core.reservation.release(sub);
      sub.withdraw();
    }
    List.copyOf(flow.waiters()).forEach(KeyWaiters::suspend);
  }

  private void resume(KeyFlow flow) {
    enter(flow);
    List.copyOf(flow.waiters()).forEach(KeyWaiters::resume);
  }

  void release(ConcurrencySlots held) {
    core.requireNoOffer();
    held.release();
    if (held.used() == 0) {
      slots.remove(held.key);
      forEachFlow(held.key, flow -> flow.setSlots(null));
    }
    if (!held.isFull()) {
      forEachFlow(held.key, this::resume);
    }
  }

  private @Nullable ConcurrencySlots slotsToOccupy(String key) {
    ConcurrencySlots known = slots.get(key);
    int limit = slotLimits.getOrDefault(key, slotLimit);
    if (known != null || limit == UNLIMITED_SLOTS) {
      return known;
    }
    ConcurrencySlots added = new ConcurrencySlots(this, key, limit);
    slots.put(key, added);
    forEachFlow(key, flow -> flow.setSlots(added));
    return added;
  }

  /**
   * Sets the limit of a key or, if {@code key} is null, of all keys without a limit of their own.
   * Visits the keys that occupy slots, and no others.
   */
  void limitSlots(@Nullable String key, int limit) {
    if (key == null) {
      if (limit != slotLimit) {
        slotLimit = limit;
        slots.values().forEach(this::updateLimit);
      }
      return;
    }
    if (limit == UNLIMITED_SLOTS && slotLimit == UNLIMITED_SLOTS) {
      slotLimits.remove(key);
    } else {
      slotLimits.put(key, limit);
    }
    ConcurrencySlots held = slots.get(key);
    if (held != null) {
      updateLimit(held);
    }
  }

  private void updateLimit(ConcurrencySlots held) {
    boolean wasFull = held.isFull();
    held.setLimit(slotLimits.getOrDefault(held.key, slotLimit));
    if (held.isFull() != wasFull) {
      forEachFlow(held.key, wasFull ? this::resume : this::suspend);
    }
  }

  void weigh(String key, int weight) {
    if (weight == 1) {
      weights.remove(key);
    } else {
      weights.put(key, weight);
    }
    forEachFlow(key, flow -> flow.setWeight(weight));
  }

  void setMinimumRate(int priority, Limit rate) {
    PriorityLevel level = level(priority);
    if (level.setMinimumRate(UnitScale.ofNamed(rate), core)) {
      minimumRates |= 1 << priority;
      core.withMinimumRates.add(this);
    }
  }

  void removeMinimumRate(int priority) {
    level(priority).removeMinimumRate();
    minimumRates &= ~(1 << priority);
    if (minimumRates == 0) {
      core.withMinimumRates.remove(this);
    }
  }

  private void forEachFlow(String key, Consumer<KeyFlow> action) {
    flowsOf(key).forEach(action);
  }

  List<KeyFlow> flowsOf(String key) {
    List<KeyFlow> found = new ArrayList<>(1);
    for (PriorityLevel level : levels) {
      KeyFlow flow = level == null ? null : level.flow(key);
      if (flow != null) {
        found.add(flow);
      }
    }
    return found;
  }

  List<KeyFlow> flows() {
    List<KeyFlow> found = new ArrayList<>();
    for (PriorityLevel level : levels) {
      if (level != null) {
        found.addAll(level.flows());
      }
    }
    return found;
  }

  int inFlight(String key) {
    ConcurrencySlots held = slots.get(key);
    return held == null ? 0 : held.used();
  }

  @Override
  public long rank() {
    LimitGate first = wakeUps.first();
    return first == null ? Long.MAX_VALUE : first.rank();
  }

  @Override
  public String toString() {
    return name;
  }
}
