package dev.sluice.redis.link;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;

/** A node with nothing but a pulse, which writes down what it is told. */
final class TestMember implements AutoCloseable, Pulse.Member {
  static final Duration PATIENCE = Duration.ofSeconds(20);

  private static final String NODES = "test:nodes";
  static final Duration TIMEOUT = Duration.ofMillis(200);

  private final List<String> told = new CopyOnWriteArrayList<>();
  private final AtomicInteger answers = new AtomicInteger();
  private final Pulse pulse;

  TestMember(String url) {
    this(url, "node", 1, TIMEOUT);
  }

  TestMember(String url, String node, int expectedNodes, Duration timeout) {
    pulse =
        new Pulse(
            RedisAddress.parse(url),
            new LinkTerms(timeout, null, List.of(), "test-" + node, new Failures()),
            new Roll(node, List.of(NODES), expectedNodes),
            this);
    pulse.start();
  }

  /** A call failed while Redis was known to be away. */
  static final class NotAskedException extends RuntimeException {
    private static final long serialVersionUID = 1;
  }

  private static final class Failures implements LinkTerms.Failures {
    @Override
    public RuntimeException notAsked() {
      return new NotAskedException();
    }

    @Override
    public RuntimeException unanswered(String message, @Nullable Throwable cause) {
      return new IllegalStateException(message, cause);
    }
  }

  Pulse pulse() {
    return pulse;
  }

  RedisLink link() {
    return pulse.link();
  }

  List<String> told() {
    return told;
  }

  int answers() {
    return answers.get();
  }

  /** A call like any other: who is there. */
  CompletableFuture<List<Object>> call() {
    return link()
        .call(Pulse.SCRIPT, new String[] {NODES}, new String[] {"other", "1", "1", "leave"});
  }

  void awaitReturn() {
    await("Redis", () -> link().isAvailable());
  }

  static void await(String what, Callable<Boolean> condition) {
    Awaitility.await(what)
        .pollDelay(Duration.ZERO)
        .pollInterval(Duration.ofMillis(5))
        .atMost(PATIENCE)
        .until(condition);
  }

  @Override
  public CompletableFuture<Void> answered(List<Object> answer) {
    answers.incrementAndGet();
    return CompletableFuture.allOf();
  }

  @Override
  public CompletableFuture<Void> sendAgain() {
    return CompletableFuture.allOf();
  }

  @Override
  public CompletableFuture<Void> settleUp() {
    told.add("settle up");
    return CompletableFuture.allOf();
  }

  @Override
  public void comeBack(boolean inPart, Runnable redisDecides) {
    told.add(inPart ? "back in part" : "back");
    redisDecides.run();
  }

  @Override
  public void lost(String cause, boolean inPart) {
    told.add(inPart ? "lost in part" : "lost");
  }

  @Override
  public void refused(String error) {
    told.add(error);
  }

  @Override
  public void close() {
    pulse.close();
  }
}
