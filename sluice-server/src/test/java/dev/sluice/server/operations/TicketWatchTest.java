package dev.sluice.server.operations;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.Governor;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import dev.sluice.server.auth.ApiKey;
import dev.sluice.server.auth.Caller;
import dev.sluice.server.support.ApiException;
import dev.sluice.testkit.load.SeedBudget;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Looks at a watched ticket that fail: the watch goes on unless the ticket is gone. */
final class TicketWatchTest {
  private final Caller caller = new Caller("tenant", false, List.of(), ApiKey.NEVER);
  private final GovernorCalls calls = new GovernorCalls(Runnable::run);
  private final List<Runnable> looks = new ArrayList<>();
  private final List<ApiException> failures = new ArrayList<>();
  private Governor governor;
  private boolean hidden;

  @BeforeEach
  void watch() {
    ModelBudget one = SeedBudget.budget(60_000, 60_000).maxConcurrentRequests(1).build();
    BudgetConfig config = BudgetConfig.builder().models(Map.of("one", one)).build();
    governor =
        Governor.builder(config)
            .store((budgets, listener) -> hiding(BudgetStore.inMemory().open(budgets, listener)))
            .build();
    TokenRequest request = TokenRequest.of("one", 1).withPriorityClass("P1_user");
    assertThat(governor.blocking().request(request)).isInstanceOf(TokenDecision.Granted.class);
    String ticket = ((TokenDecision.Queued) governor.blocking().request(request)).ticket();
    new TicketWaiters(governor, proxy(ScheduledExecutorService.class, this::schedule), calls)
        .watch(caller, ticket)
        .join()
        .begin(new Follower());
    assertThat(looks).hasSize(1);
  }

  @AfterEach
  void close() {
    governor.close();
  }

  private static <T> T proxy(Class<T> type, InvocationHandler handler) {
    return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
  }

  /** Does not find tickets that are {@link #hidden}. */
  private BudgetStore hiding(BudgetStore store) {
    return proxy(
        BudgetStore.class,
        (proxy, method, arguments) ->
            hidden && method.getName().equals("poll")
                ? CompletableFuture.completedFuture(Optional.empty())
                : method.invoke(store, arguments));
  }

  @SuppressWarnings("FutureReturnValueIgnored") // the watch gets it
  private Object schedule(Object proxy, Method method, Object[] arguments) {
    looks.add((Runnable) arguments[0]);
    return proxy(ScheduledFuture.class, (future, called, none) -> false);
  }

  /** A client that stays, and notes when it is told that there is no such ticket. */
  private final class Follower implements TicketWatch.TicketListener {
    @Override
    public boolean isThere() {
      return true;
    }

    @Override
    public boolean isReady() {
      return true;
    }

    @Override
    public void standing(TokenDecision.Queued standing) {}

    @Override
    public void decided(TokenDecision outcome) {}

    @Override
    public void failed(ApiException why) {
      failures.add(why);
    }
  }

  private void look() {
    looks.get(0).run();
  }

  @Test
  void ticketThatIsGone_endsTheWatchAtTheSecondLook() {
    hidden = true;
    look();
    assertThat(failures).isEmpty();
    look();
    assertThat(failures).hasSize(1);
  }

  @Test
  void ticketThatIsMissedAtTimes_isWatched() {
    for (int i = 0; i < 5; i++) {
      hidden = true;
      look();
      hidden = false;
      look();
    }
    assertThat(failures).isEmpty();
  }

  @Test
  void accountWithoutPlacesForCalls_keepsItsTicket() {
    CompletableFuture<String> slow = new CompletableFuture<>();
    for (int i = 0; i < GovernorCalls.MAX_PENDING_OF_ACCOUNT; i++) {
      assertThat(calls.call(caller, () -> slow)).isNotDone();
    }
    look();
    look();
    look();
    assertThat(failures).isEmpty();
  }
}
