package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Collections;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The example of the class comment, run. */
@Timeout(60)
final class FairExecutorExampleTest {
  private final Queue<String> calls = new ConcurrentLinkedQueue<>();

  @Test
  void noisyAndQuietTenant() {
    List<String> documents = Collections.nCopies(5_000, "document");
    try (FairExecutor executor = FairExecutor.builder().threads(8).rate("provider", 5, 5).build()) {
      Placement noisy = Placement.of("noisy").withThrottles("provider");
      Placement quiet = Placement.of("quiet").withThrottles("provider");
      for (String document : documents) { // thousands of them
        executor.execute(noisy, () -> call(document));
      }
      CompletableFuture<String> reply = executor.submit(quiet, () -> call("hello"));
      reply.join(); // after one or two calls of the noisy tenant, not behind them all
      executor.shutdownNow(); // close() alone would wait for every document
    }
    assertThat(calls).contains("hello").hasSizeLessThan(100);
  }

  private String call(String document) {
    calls.add(document);
    return document;
  }
}
