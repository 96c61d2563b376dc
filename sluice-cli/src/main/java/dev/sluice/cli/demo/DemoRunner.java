package dev.sluice.cli.demo;

import dev.sluice.cli.runtime.CommandFailedException;
import dev.sluice.cli.runtime.CommandTimer;
import dev.sluice.cli.runtime.ExitCodes;
import dev.sluice.client.SluiceClient;
import dev.sluice.client.SluiceClientException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The scenario of the demo: a noisy and a quiet tenant under a provider's limit, a model's budget
 * under pressure, and a server that is killed in the middle and started again.
 */
public final class DemoRunner {
  private static final Duration TICK = Duration.ofMillis(100);

  /** The timeout of calls, long enough for a busy server. */
  private static final Duration CALL_TIMEOUT = Duration.ofSeconds(20);

  /**
   * The pause between messages of the second flood, so that it continues when the server is killed.
   */
  private static final Duration BETWEEN = Duration.ofMillis(1);

  /** After this time without a grant, the remaining messages are not expected. */
  private static final long PATIENCE_MILLIS = 30_000;

  private final DemoScenario scenario;
  private final DemoServer server;
  private final CommandTimer timer;
  private final DemoView view;
  private final long startNanos;
  private final MessageLog log = new MessageLog();
  private final ModelCallLog calls = new ModelCallLog();
  private final Queue<Runnable> news = new ConcurrentLinkedQueue<>();
  private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();

  // Written by the thread that kills and starts the server.
  private volatile String state = "up";
  private volatile long restartWallMillis;
  private volatile long restartMillis;
  private volatile DemoResult.@Nullable CrashStats crash;

  // Of the main thread.
  private Step step = Step.FLOOD;
  private long progressMillis;
  private long progressGrants;

  /** The steps of a demo. */
  private enum Step {
    FLOOD,
    WORK,
    CRASH,
    END
  }

  DemoRunner(DemoScenario scenario, DemoServer server, CommandTimer timer, DemoView view) {
    this.scenario = scenario;
    this.server = server;
    this.timer = timer;
    this.view = view;
    this.startNanos = timer.clock().nanoTime();
  }

  public static SluiceClient connect(DemoServer server) {
    return SluiceClient.builder(server.host(), server.grpcPort()).callTimeout(CALL_TIMEOUT).build();
  }

  private long millis() {
    return TimeUnit.NANOSECONDS.toMillis(timer.clock().nanoTime() - startNanos);
  }

  /** Plays on a server that runs; empty if the user wants no more. */
  Optional<DemoResult> play() {
    try (SluiceClient client = connect(server);
        DemoTenants tenants = new DemoTenants(client, log, this::failed);
        DemoModelCallers callers =
            new DemoModelCallers(client.governor(), calls, this::millis, this::failed)) {
      begin(tenants, callers);
      if (!watch(client, tenants, callers)) {
        // Interrupted close() calls do not wait for a dead server.
        Thread.currentThread().interrupt();
        return Optional.empty();
      }
      return Optional.of(figures(client.queue(DemoScenario.QUEUE).depth()));
    } catch (SluiceClientException refused) {
      throw new CommandFailedException(
          ExitCodes.FAILED, "the demo's server failed: " + refused.getMessage());
    } finally {
      boolean unused = Thread.interrupted();
    }
  }

  private void failed(Throwable why) {
    failure.compareAndSet(null, why);
  }

  private void begin(DemoTenants tenants, DemoModelCallers callers) {
    view.event(millis(), "noisy sends %,d messages at once".formatted(scenario.flood()));
    tenants.flood("first-", scenario.flood(), Duration.ZERO);
    view.event(
        millis(),
        DemoModelCallers.MODEL + " gets requests for 5 times its budget, in three classes");
    callers.begin(DemoModelCallers.DEMANDS);
  }

  /** False if the user wants no more. */
  private boolean watch(SluiceClient client, DemoTenants tenants, DemoModelCallers callers) {
    for (long tick = 1; timer.sleepUntil(startNanos + tick * TICK.toNanos()); tick++) {
      check();
      for (Runnable each = news.poll(); each != null; each = news.poll()) {
        each.run();
      }
      view.tick(status());
      goOn(tenants, callers);
      if (crash != null && (isStuck() || isDrained(client, tenants))) {
        return true;
      }
    }
    return false;
  }

  private void goOn(DemoTenants tenants, DemoModelCallers callers) {
    MessageLog.Count noisy = log.count(DemoScenario.NOISY);
    if (step == Step.FLOOD && noisy.accepted() == scenario.flood()) {
      step = Step.WORK;
      view.event(millis(), "all stored; workers start, and quiet sends one at a time");
      tenants.beginWork();
      tenants.beginQuiet();
    } else if (step == Step.WORK && noisy.delivered() >= scenario.crashAfter()) {
      step = Step.CRASH;
      crash(tenants);
    } else if (step == Step.CRASH && crash != null && noisy.delivered() >= scenario.endAfter()) {
      step = Step.END;
      view.event(millis(), "load stopped");
      tenants.endQuiet();
      callers.end();
    }
  }

  private void check() {
    Throwable why = failure.get();
    if (why instanceof CommandFailedException known) {
      throw known;
    }
    if (why != null) {
      throw new CommandFailedException(
          ExitCodes.FAILED, "the demo's server refused a call: " + why.getMessage());
    }
    if (step != Step.CRASH && !server.isWell()) {
      throw new CommandFailedException(
          ExitCodes.FAILED, "the demo's server exited: " + server.lastWords());
    }
  }

  private DemoStatus status() {
    return new DemoStatus(
        millis(),
        state,
        log.granted(),
        log.count(DemoScenario.NOISY),
        log.count(DemoScenario.QUIET),
        classes(Downtime.NONE));
  }

  private List<ModelCallLog.PriorityClassStats> classes(Downtime outage) {
    return DemoModelCallers.DEMANDS.stream()
        .map(demand -> calls.of(demand.priority(), outage, millis()))
        .toList();
  }

  /** Kills the server while it stores the second flood, so that much is under way. */
  private void crash(DemoTenants tenants) {
    long enough = log.count(DemoScenario.NOISY).accepted() + scenario.secondFlood() / 3;
    view.event(millis(), "noisy sends %,d more; meanwhile:".formatted(scenario.secondFlood()));
    tenants.flood("second-", scenario.secondFlood(), BETWEEN);
    Thread thread = new Thread(() -> killAndRestart(enough), "sluice-demo-crash");
    thread.setDaemon(true);
    thread.start();
  }

  private void killAndRestart(long accepted) {
    try {
      while (log.count(DemoScenario.NOISY).accepted() < accepted && failure.get() == null) {
        Thread.sleep(1);
      }
      long killedMillis = millis();
      long unanswered =
          log.count(DemoScenario.NOISY).unanswered() + log.count(DemoScenario.QUIET).unanswered();
      long unsettled = log.unsettled();
      server.kill();
      restartWallMillis = System.currentTimeMillis();
      restartMillis = millis();
      state = "killed";
      tell("server killed (SIGKILL), " + DemoTextReport.unanswered(unanswered, unsettled));
      if (server.start()) {
        state = "restarted";
        tell("server restarted on the same directory; clients reconnect by themselves");
        crash = new DemoResult.CrashStats(killedMillis, millis(), unanswered, unsettled);
      }
    } catch (InterruptedException | CommandFailedException broken) {
      failed(broken);
    }
  }

  private void tell(String text) {
    long now = millis();
    news.add(() -> view.event(now, text));
  }

  private boolean isDrained(SluiceClient client, DemoTenants tenants) {
    if (!tenants.sent() || !isDelivered(DemoScenario.NOISY) || !isDelivered(DemoScenario.QUIET)) {
      return false;
    }
    try {
      return client.queue(DemoScenario.QUEUE).depth() == 0;
    } catch (SluiceClientException notYet) {
      return false;
    }
  }

  private boolean isDelivered(String tenant) {
    MessageLog.Count count = log.count(tenant);
    return count.delivered() == count.sent() && count.unanswered() == 0;
  }

  private boolean isStuck() {
    long granted = log.granted();
    if (granted != progressGrants) {
      progressGrants = granted;
      progressMillis = millis();
    }
    return millis() - progressMillis >= PATIENCE_MILLIS;
  }

  private DemoResult figures(long left) {
    DemoResult.CrashStats known = crash;
    if (known == null) {
      throw new IllegalStateException("the server was not killed");
    }
    long[] grants = calls.grants();
    long now = millis();
    DemoResult.ModelStats model =
        new DemoResult.ModelStats(
            grants.length * DemoModelCallers.USED_TOKENS,
            DemoModelCallers.BURST_TOKENS
                + DemoModelCallers.TOKENS_PER_SECOND * now / TimeUnit.SECONDS.toMillis(1),
            classes(Downtime.around(restartMillis, grants)));
    return DemoResult.of(now, known, restartWallMillis, log, left, model);
  }
}
