package dev.sluice.governor;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limit;
import dev.sluice.governor.internal.engine.Forecaster;
import dev.sluice.governor.internal.engine.ModelWaitingList;
import dev.sluice.governor.internal.engine.Reservation;
import dev.sluice.governor.internal.engine.TokenDemand;
import dev.sluice.governor.internal.engine.TokenWaiter;
import dev.sluice.governor.spi.BudgetLimits;
import dev.sluice.governor.spi.ModelLimits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A model's line at a virtual time, whose wake-ups are never missed. */
final class WaitingListFixture {
  static final long MS = 1_000_000L;
  static final long SECOND = 1_000 * MS;
  static final long MINUTE = 60 * SECOND;

  /** The seed's first model. */
  static Limit.Balanced limit(long capacity, long tokens, long periodNanos) {
    return new Limit.Balanced(capacity, tokens, Duration.ofNanos(periodNanos));
  }

  static final Limit.Balanced SONNET = limit(300_000, 240_000, MINUTE);

  ModelWaitingList waitingList;
  final Map<TokenWaiter, Reservation> granted = new LinkedHashMap<>();
  final List<Long> grantTimes = new ArrayList<>();
  long now;

  WaitingListFixture(ModelLimits limits) {
    waitingList = new ModelWaitingList(limits, 0);
  }

  /** Three classes that may use so much of the capacity, without tenants. */
  static ModelLimits limits(Limit.Balanced tokens, double... shares) {
    return new ModelLimits(
        tokens, List.of(), 0, classes(tokens, shares), Map.of(), null, tokens.capacity());
  }

  static List<ModelLimits.ClassLimit> classes(Limit.Balanced tokens, double... shares) {
    List<ModelLimits.ClassLimit> classes = new ArrayList<>();
    for (double share : shares) {
      long ceiling = BudgetLimits.part(share, tokens.capacity());
      classes.add(new ModelLimits.ClassLimit("P" + classes.size(), ceiling, null));
    }
    return classes;
  }

  TokenWaiter ask(int rank, long tokens) {
    return ask("tenant", rank, tokens);
  }

  TokenWaiter ask(String tenant, int rank, long tokens) {
    TokenDemand demand = new TokenDemand(tenant, 1, rank, tokens);
    drain();
    boolean foretold = waitingList.wouldHold(demand, now) == null;
    int position = new Forecaster(waitingList, now).imagine(demand).position();
    TokenWaiter waiting = waitingList.enter(demand, now);
    assertThat(new Forecaster(waitingList, now).of(waiting).position()).isEqualTo(position);
    drain();
    assertThat(isGranted(waiting)).as("granted at once, as foretold").isEqualTo(foretold);
    return waiting;
  }

  /** Goes by other limits; those in line come again in the same order. */
  void reload(ModelLimits limits, Map<TokenWaiter, TokenWaiter> renewed) {
    ModelWaitingList before = waitingList;
    waitingList = before.successor(limits, now);
    before.inOrder().forEach(each -> renewed.put(each, waitingList.enter(each.demand, each.since)));
    drain();
  }

  void drain() {
    waitingList.drain(
        now,
        Integer.MAX_VALUE,
        (waiting, reservation) -> {
          granted.put(waiting, reservation);
          grantTimes.add(now);
        });
  }

  /** Advances time, and grants requests at the first moment that they can go. */
  void advanceTo(long until) {
    while (waitingList.wakeAt() <= until && waitingList.waiting() > 0) {
      now = Math.max(now, waitingList.wakeAt());
      drain();
    }
    now = Math.max(now, until);
    drain();
  }

  boolean isGranted(TokenWaiter waiting) {
    return granted.containsKey(waiting);
  }

  @Nullable Reservation reservation(TokenWaiter waiting) {
    return granted.get(waiting);
  }

  long settle(TokenWaiter waiting, long actual) {
    waitingList.advance(now);
    long back = waitingList.settle(granted.get(waiting), actual);
    drain();
    return back;
  }
}
