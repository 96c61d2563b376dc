package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import org.junit.jupiter.api.Test;

/** The examples of README.md and docs/library.md, run; ShownCodeTest finds them here. */
final class ReadmeExamplesTest {
  private final List<String> served = Collections.synchronizedList(new ArrayList<>());

  @Test
  void oneLine() {
    String request = "request";
    TokenBucket bucket = TokenBucket.perSecond(100);
    if (bucket.tryAcquire()) {
      serve(request);
    }
    assertThat(served).containsExactly("request");
  }

  @Test
  void decisions() {
    Reply reply = new Reply();
    TokenBucket bucket = TokenBucket.perSecond(100);
    assertThat(bucket.tryAcquire(98)).isTrue();
    Decision decision = bucket.decide(5);
    if (decision instanceof Decision.Granted granted) {
      reply.header("X-Remaining", granted.remaining());
    } else if (decision instanceof Decision.Denied denied) {
      reply.header("Retry-After", denied.retryAfter().toSeconds() + 1);
    }
    assertThat(reply.headers).hasSize(1);
  }

  @Test
  void waiting() throws Exception {
    String batch = "batch";
    Executor executor = Runnable::run;
    TokenBucket bucket = TokenBucket.perSecond(100);
    CompletableFuture<Void> turn = bucket.acquireAsync(10); // turn.cancel(true) stops waiting
    CompletableFuture<Void> sent = turn.thenRunAsync(() -> send(batch), executor);

    boolean inTime = bucket.acquire(10, Duration.ofSeconds(2));
    sent.join();
    assertThat(inTime).isTrue();
    assertThat(served).containsExactly("batch");
  }

  @Test
  void settings() {
    TokenBucket burst = TokenBucket.of(Limit.perSecond(100, 500));
    TokenBucket daily = TokenBucket.of(Limit.strict(1_000, Duration.ofDays(1)));
    TokenBucket manual = TokenBucket.builder().limit(Limit.manual(8)).initialTokens(0).build();

    burst.reconfigure(new Limit.Balanced(500, 50, Duration.ofSeconds(1)));
    assertThat(burst.available()).isEqualTo(500);
    assertThat(daily.available()).isEqualTo(1_000);
    assertThat(manual.available()).isZero();
  }

  @Test
  void throttling() {
    Reply reply = new Reply();
    Limits throttle = Limits.create();
    throttle.set("tenant:*", Limit.perSecond(10, 20)); // 10 a second each, in bursts of 20
    throttle.set("provider:aws", Limit.ofRate(0.5, 1));
    Decision decision = throttle.decide(Map.of("tenant:acme", 1L, "provider:aws", 1L));
    if (decision instanceof Decision.Denied denied) {
      reply.header("Limited-By", denied.limitName());
    }
    assertThat(decision.isGranted()).isTrue();
    assertThat(reply.headers).isEmpty();
    assertThat(throttle.decide(Map.of("tenant:acme", 1L, "provider:aws", 1L)))
        .isInstanceOfSatisfying(
            Decision.Denied.class,
            denied -> assertThat(denied.limitName()).isEqualTo("provider:aws"));
  }

  @Test
  void noisyAndQuietTenant() {
    List<String> documents = Collections.nCopies(5_000, "document");
    try (FairExecutor executor =
        FairExecutor.builder().threads(8).limit("provider", Limit.perSecond(5, 1)).build()) {
      Placement noisy = Placement.of("noisy").withThrottleKeys("provider");
      Placement quiet = Placement.of("quiet").withThrottleKeys("provider");
      for (String document : documents) { // thousands of them
        executor.execute(noisy, () -> call(document));
      }
      CompletableFuture<String> reply = executor.submit(quiet, () -> call("hello"));
      reply.join(); // after one or two calls of the noisy tenant, not behind them all
      executor.shutdownNow(); // close() alone would wait for every document
    }
    assertThat(served).contains("hello").hasSizeLessThan(100);
  }

  @Test
  void scheduling() {
    FairScheduler<String> scheduler = FairScheduler.create();
    scheduler.advanceTo(System.nanoTime());
    scheduler.setLimit("provider", Limit.perSecond(5, 1));
    FairQueue<String> queue = scheduler.queue("mail");
    ScheduledItem<String> mail =
        queue.enqueue("hello", Placement.of("tenant-a").withWeight(3).withThrottleKeys("provider"));

    Next<String> next = scheduler.next(System.nanoTime());
    if (next instanceof Next.Offer<String> offer) {
      send(offer.item());
      offer.confirm(); // or decline(), which leaves everything as it was
    } else if (next instanceof Next.Wait<String> wait) {
      sleepUntil(wait.untilNanos());
    }
    assertThat(mail.isQueued()).isFalse();
    assertThat(served).containsExactly("hello");
  }

  @Test
  void testing() {
    ManualClock clock = ManualClock.create();
    TokenBucket bucket = TokenBucket.builder().limit(Limit.perSecond(10)).clock(clock).build();
    CompletableFuture<Void> turn = bucket.acquireAsync(15);
    clock.advance(Duration.ofMillis(499)); // not yet
    assertThat(turn).isNotDone();
    clock.advance(Duration.ofMillis(1)); // completes it, on this thread
    assertThat(turn).isCompleted();
  }

  private void serve(String request) {
    served.add(request);
  }

  private String call(String document) {
    served.add(document);
    return document;
  }

  private static void sleepUntil(long untilNanos) {
    throw new AssertionError("the first item can go at once: " + untilNanos);
  }

  private void send(String batch) {
    served.add(batch);
  }

  private static final class Reply {
    final List<String> headers = new ArrayList<>();

    void header(String name, Object value) {
      headers.add(name + ": " + value);
    }
  }
}
