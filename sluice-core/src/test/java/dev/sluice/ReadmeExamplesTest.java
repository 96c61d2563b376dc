package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The examples of the README, run; and a check that the README shows just these. */
final class ReadmeExamplesTest {
  private static final Pattern JAVA_BLOCK = Pattern.compile("```java\\n(.*?)```", Pattern.DOTALL);

  private final List<String> served = new ArrayList<>();

  @Test
  void oneLine() {
    String request = "request";
    TokenBucket bucket = TokenBucket.perSecond(100);
    if (bucket.tryConsume()) {
      serve(request);
    }
    assertThat(served).containsExactly("request");
  }

  @Test
  void decisions() {
    Reply reply = new Reply();
    TokenBucket bucket = TokenBucket.perSecond(100);
    assertThat(bucket.tryConsume(98)).isTrue();
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
    CompletableFuture<Void> turn = bucket.consume(10); // turn.cancel(true) leaves the line
    CompletableFuture<Void> sent = turn.thenRunAsync(() -> send(batch), executor);

    boolean inTime = bucket.consumeBlocking(10, Duration.ofSeconds(2));
    sent.join();
    assertThat(inTime).isTrue();
    assertThat(served).containsExactly("batch");
  }

  @Test
  void settings() {
    TokenBucket burst =
        TokenBucket.builder().capacity(500).refill(100, Duration.ofSeconds(1)).build();
    TokenBucket daily = TokenBucket.builder().capacity(1_000).strict(Duration.ofDays(1)).build();
    TokenBucket manual = TokenBucket.builder().capacity(8).manual().initialTokens(0).build();

    burst.reconfigure(new Limit.Balanced(500, 50, Duration.ofSeconds(1)));
    assertThat(burst.available()).isEqualTo(500);
    assertThat(daily.available()).isEqualTo(1_000);
    assertThat(manual.available()).isZero();
  }

  @Test
  void testing() {
    ManualClock clock = ManualClock.create();
    TokenBucket bucket = TokenBucket.builder().limit(Limit.perSecond(10)).clock(clock).build();
    CompletableFuture<Void> turn = bucket.consume(15);
    clock.advance(Duration.ofMillis(499)); // not yet
    assertThat(turn).isNotDone();
    clock.advance(Duration.ofMillis(1)); // completes it, on this thread
    assertThat(turn).isCompleted();
  }

  @Test
  void theReadme_showsOnlyWhatRunsHere() throws IOException {
    String source = Files.readString(Path.of("src/test/java/dev/sluice/ReadmeExamplesTest.java"));
    // Assertions between the lines of an example are not part of it.
    String code = stripped(source.replaceAll("(?m)^ *assertThat\\(turn\\).*\\n", ""));
    Matcher blocks = JAVA_BLOCK.matcher(Files.readString(Path.of("../README.md")));
    int count = 0;
    while (blocks.find()) {
      assertThat(code).contains(stripped(blocks.group(1)));
      count++;
    }
    assertThat(count).isEqualTo(5);
  }

  /** The formatter may break lines where the README need not. */
  private static String stripped(String code) {
    return code.replaceAll("\\s+", "");
  }

  private void serve(String request) {
    served.add(request);
  }

  private void send(String batch) {
    served.add(batch);
  }

  private static final class Reply {
    final List<String> headers = new ArrayList<>();

    void header(String name, long value) {
      headers.add(name + ": " + value);
    }
  }
}
