package dev.sluice.governor.internal.monitor;

import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.GovernorStatus;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.TokenSettlement;
import dev.sluice.governor.spi.StoreTimer;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Watches over all models: an independent count of what is granted, alerts, and log messages about
 * refills and grants. Thread-safe; logs outside the locks of models.
 */
public final class GovernorMonitor implements BudgetListener, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(GovernorMonitor.class);

  private final StoreTimer timer;
  private final StoreClock time;
  private final Map<String, ModelMonitor> watches = new ConcurrentHashMap<>();
  private volatile BudgetConfig config;
  private volatile boolean closed;

  public GovernorMonitor(BudgetConfig config, StoreTimer timer) {
    this.timer = timer;
    this.time = new StoreClock(timer);
    this.config = config;
    reload(config);
  }

  // ---- what it is told

  /** Returns the listener to be given to the store. */
  public BudgetListener listener() {
    return this;
  }

  @Override
  public void requested(TokenRequest request, TokenDecision outcome, long nanos) {
    ModelMonitor watch = watches.get(request.model());
    if (watch != null) {
      watch.asked(!(outcome instanceof TokenDecision.Granted), time.present(nanos));
    }
  }

  @Override
  public void granted(TokenRequest request, long tokens, long waitedNanos, long nanos) {
    ModelMonitor watch = watches.get(request.model());
    if (watch != null) {
      watch.granted(request.priorityClass(), tokens, waitedNanos > 0, time.present(nanos));
    }
  }

  @Override
  public void settled(TokenSettlement settled, long grantedNanos, long nanos) {
    ModelMonitor watch = watches.get(settled.model());
    if (watch != null && settled.refundedTokens() > 0) {
      long now = time.present(nanos);
      watch.refunded(settled.refundedTokens(), time.past(grantedNanos), now);
    } else if (watch != null && settled.excessTokens() > 0) {
      watch.exceeded(settled, time.present(nanos));
    }
  }

  @Override
  public void refilled(String model, long tokens, long available, long nanos) {
    ModelMonitor watch = watches.get(model);
    if (watch != null) {
      watch.refilled(tokens, available);
    }
  }

  /** Goes by another configuration from now on, to be called before the store does. */
  public void reload(BudgetConfig changed) {
    long now = timer.nanoTime();
    changed
        .models()
        .forEach(
            (model, budget) -> {
              ModelMonitor watch = watches.get(model);
              if (watch == null) {
                watches.put(model, new ModelMonitor(model, budget, changed.alerts(), now));
              } else {
                watch.reload(budget, changed.alerts(), now);
              }
            });
    watches.keySet().retainAll(changed.models().keySet());
    config = changed;
  }

  // ---- what it says

  /** Returns the status with audit and alerts. */
  public GovernorStatus watched(GovernorStatus status) {
    long now = timer.nanoTime();
    Map<String, GovernorStatus.Model> buckets = new LinkedHashMap<>();
    status
        .models()
        .forEach(
            (name, model) -> {
              ModelMonitor watch = watches.get(name);
              buckets.put(name, watch == null ? model : watch.watched(model, now));
            });
    return new GovernorStatus(buckets, status.closed(), status.timestamp());
  }

  /** Starts to check the models, and to log, as often as the configuration says. */
  public void start(Supplier<CompletableFuture<GovernorStatus>> status) {
    every(() -> config.alerts().interval(), () -> checkAll(status));
    every(() -> config.waitingList().refillInterval(), this::logRefills);
  }

  private void every(Supplier<Duration> interval, Runnable action) {
    timer.schedule(
        interval.get().toNanos(),
        () -> {
          if (!closed) {
            action.run();
            every(interval, action);
          }
        });
  }

  @SuppressWarnings("FutureReturnValueIgnored") // whatever it is, it is logged
  private void checkAll(Supplier<CompletableFuture<GovernorStatus>> status) {
    try {
      status.get().whenComplete(this::check);
    } catch (RuntimeException failure) {
      check(null, failure);
    }
  }

  private void check(@Nullable GovernorStatus status, @Nullable Throwable failure) {
    if (status != null) {
      check(status);
    } else if (!closed) {
      LOG.warn("The health of the models is unknown", failure);
    }
  }

  /** Raises and clears alerts by how the models stand. */
  public void check(GovernorStatus status) {
    long now = timer.nanoTime();
    for (GovernorStatus.Model model : status.models().values()) {
      ModelMonitor watch = watches.get(model.model());
      if (watch != null) {
        watch.check(model, now, status.timestamp()).forEach(this::log);
      }
    }
  }

  private void log(AlertMonitor.Change change) {
    if (change.raised()) {
      LOG.warn(change.line());
    } else {
      LOG.info(change.line());
    }
  }

  private void logRefills() {
    watches.forEach(
        (model, watch) ->
            watch.lines().forEach(line -> LOG.atInfo().addKeyValue("model", model).log(line)));
  }

  /** Looks no more. */
  @Override
  public void close() {
    closed = true;
  }
}
