package dev.sluice.testkit.load;

import dev.sluice.governor.BudgetStore;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Logs the calls of a store that take long, and for how long threads of this process did not run
 * meanwhile. Waits for a ticket have no timeout and are not logged.
 *
 * @since 0.1
 */
public final class SlowCalls {
  private static final Set<String> BOUNDED = Set.of("request", "settle", "extend", "cancel");
  private static final long SLOW_NANOS = TimeUnit.MILLISECONDS.toNanos(90);

  private final BudgetStore store;
  private final BudgetLog log;
  private final Hiccups hiccups = new Hiccups();

  private SlowCalls(BudgetStore store, BudgetLog log) {
    this.store = store;
    this.log = log;
  }

  /** Returns the same store, whose slow calls are logged until it is closed. */
  public static BudgetStore logged(BudgetStore store, BudgetLog log) {
    SlowCalls calls = new SlowCalls(store, log);
    return (BudgetStore)
        Proxy.newProxyInstance(
            BudgetStore.class.getClassLoader(),
            new Class<?>[] {BudgetStore.class},
            (proxy, method, arguments) -> calls.invoke(method, arguments));
  }

  private @Nullable Object invoke(Method method, Object @Nullable [] arguments) throws Throwable {
    long from = System.nanoTime();
    Object answer;
    try {
      answer = method.invoke(store, arguments);
    } catch (InvocationTargetException failure) {
      throw failure.getCause();
    }
    if (answer instanceof CompletableFuture<?> future && BOUNDED.contains(method.getName())) {
      var unused =
          future.whenComplete((done, failure) -> ended(method.getName(), from, System.nanoTime()));
    } else if (method.getName().equals("close")) {
      hiccups.close();
    }
    return answer;
  }

  private void ended(String call, long from, long to) {
    if (to - from >= SLOW_NANOS) {
      log.slow(call, to - from, hiccups.nanosIn(from, to));
    }
  }
}
