package dev.sluice.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.FairExecutor;
import dev.sluice.Limit;
import dev.sluice.Placement;
import dev.sluice.broker.Broker;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** docs/recipes/multi-tenant-worker.md: the quiet tenant does not wait behind the noisy one. */
@Timeout(120)
final class TenantWorkerTest {
  @TempDir Path directory;
  private final List<String> sent = Collections.synchronizedList(new ArrayList<>());

  @Test
  void durableQueue_tenantsTakeTurns_andFailedMessagesAreDeadLettered() throws Exception {
    try (Broker broker = Broker.open(directory)) {
      TenantWorker worker = new TenantWorker(broker);
      broker.updateQueue(
          "outbox", is -> is.toBuilder().retryDelay(Duration.ofMillis(20)).build(), null);
      List<CompletableFuture<?>> stored = new ArrayList<>();
      for (int i = 0; i < 200; i++) {
        stored.add(worker.submit("noisy", 1, "newsletter"));
      }
      stored.add(worker.submit("quiet", 1, "password reset"));
      stored.add(worker.submit("broken", 1, "to nobody"));
      CompletableFuture.allOf(stored.toArray(CompletableFuture[]::new)).join();
      Thread thread = new Thread(() -> run(worker));
      thread.start();
      await().until(() -> broker.stats("outbox.dlq").depth() == 1);
      thread.interrupt();
      thread.join();
      // The first of noisy, and then those who are new.
      assertThat(sent.indexOf("quiet: password reset")).isBetween(0, 3);
      assertThat(sent.stream().filter("broken: to nobody"::equals)).hasSize(5);
      assertThat(sent).hasSizeLessThan(100); // by the limit of the provider
    }
  }

  private void run(TenantWorker worker) {
    try {
      worker.work(
          (tenant, mail) -> {
            sent.add(tenant + ": " + mail);
            if (tenant.equals("broken")) {
              throw new IllegalStateException("no such address");
            }
          });
    } catch (InterruptedException over) {
      assertThat(sent).isNotEmpty();
    }
  }

  @Test
  void inMemory_tenantsTakeTurns() throws Exception {
    CountDownLatch allThere = new CountDownLatch(1);
    try (FairExecutor executor =
        FairExecutor.builder().threads(1).limit("provider:ses", Limit.perSecond(14)).build()) {
      executor.execute(Placement.of("noisy"), () -> waitFor(allThere));
      Placement noisy = Placement.of("noisy").withThrottleKeys("provider:ses");
      Placement paying = Placement.of("quiet").withWeight(3).withThrottleKeys("provider:ses");
      for (int i = 0; i < 200; i++) {
        executor.execute(noisy, () -> sent.add("newsletter"));
      }
      CompletableFuture<Boolean> reset = executor.submit(paying, () -> sent.add("password reset"));
      allThere.countDown();
      reset.join();
      executor.shutdownNow(); // what has not begun is lost: for what must not be, the broker
    }
    assertThat(sent.indexOf("password reset")).isBetween(0, 2);
  }

  private static void waitFor(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
