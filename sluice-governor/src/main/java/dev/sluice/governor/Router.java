package dev.sluice.governor;

import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** Chooses among models that are declared equivalent: who can go now, else the shortest wait. */
final class Router {
  /** Requests with one key must not be sent to two models at the same time. */
  private static final int LOCKS = 64;

  private final BudgetStore store;
  private final List<Object> locks = Stream.generate(Object::new).limit(LOCKS).toList();

  Router(BudgetStore store) {
    this.store = store;
  }

  Outcome request(List<TokenRequest> equivalents) {
    TicketState.Key key = TicketState.keyOf(equivalents.get(0));
    if (key == null) {
      return place(equivalents);
    }
    synchronized (locks.get(Math.floorMod(key.hashCode(), LOCKS))) {
      for (TokenRequest each : equivalents) {
        Optional<Outcome> before = Waits.get(store.find(each));
        if (before.isPresent()) {
          return before.get();
        }
      }
      return place(equivalents);
    }
  }

  private Outcome place(List<TokenRequest> equivalents) {
    for (TokenRequest each : equivalents) {
      Optional<Outcome> now = Waits.get(store.tryNow(each));
      if (now.isPresent()) {
        return now.get();
      }
    }
    String best = explain(equivalents).model();
    return Waits.get(
        store.request(
            equivalents.stream().filter(each -> each.model().equals(best)).findFirst().get()));
  }

  /** Of the model that would be chosen. */
  Explanation explain(List<TokenRequest> equivalents) {
    return equivalents.stream()
        .map(each -> Waits.get(store.explain(each)))
        .min(Comparator.comparing(Explanation::verdict).thenComparingLong(Explanation::etaMs))
        .orElseThrow();
  }
}
