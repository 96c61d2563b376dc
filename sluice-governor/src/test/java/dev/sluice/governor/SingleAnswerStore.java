package dev.sluice.governor;

import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** A store that records its calls, and answers when the test completes them. */
final class SingleAnswerStore {
  final CompletableFuture<Optional<TokenDecision>> awaited = new CompletableFuture<>();
  private final CompletableFuture<TokenDecision> answer;
  private final List<String> calls = new ArrayList<>();

  SingleAnswerStore(CompletableFuture<TokenDecision> answer) {
    this.answer = answer;
  }

  List<String> calls() {
    return List.copyOf(calls);
  }

  BudgetStore store() {
    return (BudgetStore)
        Proxy.newProxyInstance(
            BudgetStore.class.getClassLoader(),
            new Class<?>[] {BudgetStore.class},
            (proxy, method, arguments) -> {
              StringBuilder call = new StringBuilder(method.getName());
              for (Object each : arguments) {
                call.append(' ').append(each);
              }
              calls.add(call.toString());
              return switch (method.getName()) {
                case "request" -> answer;
                case "await" -> awaited;
                case "cancel" -> CompletableFuture.completedFuture(true);
                case "settle" -> CompletableFuture.completedFuture(Optional.empty());
                default -> throw new UnsupportedOperationException(method.getName());
              };
            });
  }
}
