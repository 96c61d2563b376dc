package dev.sluice.governor;

import dev.sluice.governor.engine.Ticket;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Stream;

/** Chooses among models that are declared equivalent: who can go now, else the shortest wait. */
final class ModelRouter {
  /** Requests with one key must not be sent to two models at the same time. */
  private static final int LOCKS = 64;

  private final BudgetStore store;
  private final List<Object> locks = Stream.generate(Object::new).limit(LOCKS).toList();

  ModelRouter(BudgetStore store) {
    this.store = store;
  }

  TokenDecision request(List<TokenRequest> equivalents) {
    Ticket.Key key = Ticket.keyOf(equivalents.get(0));
    if (key == null) {
      return place(equivalents);
    }
    synchronized (locks.get(Math.floorMod(key.hashCode(), LOCKS))) {
      for (TokenRequest each : equivalents) {
        Optional<TokenDecision> before =
            ifOpen(() -> Waits.get(store.find(each))).flatMap(found -> found);
        if (before.isPresent()) {
          return before.get();
        }
      }
      return place(equivalents);
    }
  }

  private TokenDecision place(List<TokenRequest> equivalents) {
    TokenDecision unavailable = null;
    for (TokenRequest each : equivalents) {
      TokenDecision now =
          ifOpen(() -> Waits.get(store.tryNow(each))).flatMap(found -> found).orElse(null);
      if (now instanceof TokenDecision.Denied) {
        unavailable = now;
      } else if (now != null) {
        return now;
      }
    }
    if (unavailable != null) {
      // Nobody can say how long it would take.
      return unavailable;
    }
    String best = explain(equivalents).model();
    // Each has its own estimate.
    TokenRequest chosen =
        equivalents.stream().filter(each -> each.model().equals(best)).findFirst().orElseThrow();
    return Waits.get(store.request(chosen));
  }

  /** Of the model that would be chosen. */
  TokenExplanation explain(List<TokenRequest> equivalents) {
    return equivalents.stream()
        .flatMap(each -> ifOpen(() -> Waits.get(store.explain(each))).stream())
        .min(
            Comparator.comparing(TokenExplanation::verdict)
                // A model without a forecast comes last.
                .thenComparingLong(each -> each.etaMs().orElse(Long.MAX_VALUE)))
        .orElseThrow(() -> new IllegalStateException("all models of the route are closed"));
  }

  /** A model that is closed is not chosen. */
  private static <T> Optional<T> ifOpen(Supplier<T> question) {
    try {
      return Optional.of(question.get());
    } catch (IllegalStateException closed) {
      return Optional.empty();
    }
  }
}
