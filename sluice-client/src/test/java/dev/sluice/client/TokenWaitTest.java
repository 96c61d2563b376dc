package dev.sluice.client;

import static dev.sluice.client.Failures.assertFails;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.client.SluiceClientException.Code;
import dev.sluice.client.TokenDecision.Granted;
import dev.sluice.client.TokenDecision.Queued;
import dev.sluice.client.TokenDecision.Reason;
import dev.sluice.server.TestServer;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Waiting in line, and calls that are made when it is their turn. */
@Tag("any-jdk")
@Timeout(60)
final class TokenWaitTest {
  /** One at a time: the next one goes when this is settled, and not before. */
  private static final TokenRequest ONE = TokenRequest.of("one", 100);

  @TempDir Path dir;
  private TestServer server;
  private SluiceClient client;
  private GovernorClient governor;

  @BeforeEach
  void start() throws Exception {
    server = TestServer.startGoverned(dir, 0, GovernorTest.BUDGETS);
    client = SluiceClient.connect("127.0.0.1", server.grpcPort());
    governor = client.governor();
  }

  @AfterEach
  void stop() {
    client.close();
    server.close();
  }

  private static Granted granted(CompletableFuture<TokenDecision> outcome) throws Exception {
    return (Granted) outcome.get(20, TimeUnit.SECONDS);
  }

  private GovernorStatus.Model one() {
    return governor.status().models().get("one");
  }

  private int inLine() {
    return one().queueLengths().values().stream().mapToInt(Integer::intValue).sum();
  }

  private void awaitInLine(int count) {
    await().until(() -> inLine() == count);
  }

  @Test
  void acquire_reportsProgress_andIsGrantedInItsTurn() throws Exception {
    Granted first = (Granted) governor.acquire(ONE);
    List<Queued> progress = new CopyOnWriteArrayList<>();
    CompletableFuture<TokenDecision> second = governor.acquireAsync(ONE, progress::add);
    awaitInLine(1);
    CompletableFuture<TokenDecision> third = governor.acquireAsync(ONE);
    awaitInLine(2);
    // From the answer, and from a poll at least.
    await().until(() -> progress.size() >= 2);
    assertThat(progress.get(0).queuePosition()).isEqualTo(1);
    assertThat(progress.get(0).binding()).isEqualTo(BudgetDimension.CONCURRENCY);
    assertThat(progress.get(1).ticket()).isEqualTo(progress.get(0).ticket());
    assertThat(second).isNotDone();
    governor.settle(first.reservation(), 100);
    Granted next = granted(second);
    assertThat(next.reservation()).isNotEqualTo(first.reservation());
    assertThat(third).isNotDone();
    governor.settle(next.reservation(), 100);
    assertThat(granted(third).tokens()).isEqualTo(100);
    assertThat(one().running()).isEqualTo(1);
  }

  @Test
  void await_returnsTheGrantOfATicket() throws Exception {
    Granted first = (Granted) governor.request(ONE);
    Queued queued = (Queued) governor.request(ONE);
    CompletableFuture<TokenDecision> given = governor.awaitAsync(queued.ticket());
    CompletableFuture<TokenDecision> other = governor.awaitAsync(queued.ticket());
    given.cancel(false);
    governor.settle(first.reservation(), 0);
    assertThat(governor.await(queued.ticket())).isEqualTo(granted(other));
    assertThat(one().running()).isEqualTo(1);
    assertFails(Code.NOT_FOUND, governor.awaitAsync("nothing"));
  }

  @Test
  void acquire_refused_reportsTheReason() throws Exception {
    assertThat(governor.acquire(TokenRequest.of("slow", 1_001)))
        .isInstanceOf(TokenDecision.Impossible.class);
    governor.acquire(ONE);
    TokenDecision.Denied late =
        (TokenDecision.Denied) governor.acquire(ONE.withMaxWait(Duration.ofMillis(20)));
    assertThat(late.reason()).isEqualTo(Reason.TIMEOUT);
    AtomicReference<Queued> queued = new AtomicReference<>();
    CompletableFuture<TokenDecision> told = governor.acquireAsync(ONE, queued::set);
    await().until(() -> queued.get() != null);
    governor.cancel(queued.get().ticket());
    assertThat(((TokenDecision.Denied) told.get(20, TimeUnit.SECONDS)).reason())
        .isEqualTo(Reason.CANCELLED);
  }

  @Test
  void acquire_canceled_leavesTheWaitingList() throws Exception {
    Granted first = (Granted) governor.acquire(ONE);
    CompletableFuture<TokenDecision> canceled = governor.acquireAsync(ONE);
    awaitInLine(1);
    assertThat(canceled.cancel(false)).isTrue();
    awaitInLine(0);
    // Before its place, or what was granted, is known.
    governor.acquireAsync(ONE).cancel(false);
    CompletableFuture<TokenDecision> timedOut =
        governor.acquireAsync(ONE).orTimeout(1, TimeUnit.MILLISECONDS);
    await().until(timedOut::isDone);
    awaitInLine(0);
    governor.settle(first.reservation(), 0);
    governor.acquireAsync(ONE).cancel(false);
    await().until(() -> one().metrics().totalRequests() == 5 && one().running() == 0);
  }

  @Test
  void acquire_interrupted_leavesTheWaitingList() throws Exception {
    governor.acquire(ONE);
    AtomicReference<Throwable> thrown = new AtomicReference<>();
    Thread waiting = new Thread(() -> governor.acquire(ONE));
    waiting.setUncaughtExceptionHandler((thread, failure) -> thrown.set(failure));
    waiting.start();
    awaitInLine(1);
    waiting.interrupt();
    waiting.join();
    assertThat(((SluiceClientException) thrown.get()).code()).isEqualTo(Code.INTERRUPTED);
    awaitInLine(0);
  }

  @Test
  void acquire_whoseProgressListenerThrows_leavesTheWaitingList() {
    governor.acquire(ONE);
    CompletableFuture<TokenDecision> broken =
        governor.acquireAsync(
            ONE,
            queued -> {
              throw new IllegalStateException("broken");
            });
    assertThat(broken)
        .failsWithin(Duration.ofSeconds(20))
        .withThrowableOfType(java.util.concurrent.ExecutionException.class)
        .withMessageContaining("broken");
    awaitInLine(0);
  }

  @Test
  void acquire_clientClosed_fails() throws Exception {
    governor.acquire(ONE);
    CompletableFuture<TokenDecision> waiting;
    try (SluiceClient other = SluiceClient.connect("127.0.0.1", server.grpcPort())) {
      waiting = other.governor().acquireAsync(ONE);
      awaitInLine(1);
    }
    assertFails(Code.CLOSED, waiting);
  }

  @Test
  void acquire_withoutServer_failsAtOnce() throws Exception {
    int free;
    try (ServerSocket socket = new ServerSocket(0)) {
      free = socket.getLocalPort();
    }
    try (SluiceClient other = SluiceClient.connect("127.0.0.1", free)) {
      assertFails(Code.UNAVAILABLE, other.governor().acquireAsync(ONE));
      assertFails(Code.UNAVAILABLE, other.governor().awaitAsync("t"));
    }
  }

  @Test
  void acquire_connectionLost_keepsItsPosition() throws Exception {
    Granted first = (Granted) governor.acquire(ONE);
    try (Wire wire = new Wire(server.grpcPort());
        SluiceClient other = SluiceClient.connect("127.0.0.1", wire.port())) {
      List<Queued> progress = new CopyOnWriteArrayList<>();
      CompletableFuture<TokenDecision> waiting = other.governor().acquireAsync(ONE, progress::add);
      awaitInLine(1);
      CompletableFuture<TokenDecision> quiet = other.governor().acquireAsync(ONE);
      awaitInLine(2);
      wire.takeDown();
      int before = progress.size();
      governor.settle(first.reservation(), 0);
      assertThat(waiting).isNotDone();
      wire.mend();
      Granted granted = granted(waiting);
      assertThat(progress.subList(0, before)).allMatch(each -> each.queuePosition() <= 2);
      governor.settle(granted.reservation(), 0);
      governor.settle(granted(quiet).reservation(), 0);
      // No request was granted twice.
      assertThat(one().running()).isZero();
      assertThat(one().metrics().totalRequests()).isEqualTo(3);
    }
  }

  @Test
  void acquire_serverRestarted_isQueuedAgain() throws Exception {
    Granted first = (Granted) governor.acquire(ONE);
    CompletableFuture<TokenDecision> waiting = governor.acquireAsync(ONE);
    awaitInLine(1);
    CompletableFuture<TokenDecision> late =
        governor.acquireAsync(ONE.withMaxWait(Duration.ofSeconds(3)));
    Queued queued = (Queued) governor.request(ONE);
    CompletableFuture<Queued> known = new CompletableFuture<>();
    CompletableFuture<TokenDecision> ticket = governor.awaitAsync(queued.ticket(), known::complete);
    known.join();
    awaitInLine(3);
    int port = server.grpcPort();
    server.close();
    server = TestServer.startGoverned(dir, port, GovernorTest.BUDGETS);
    // A ticket alone does not say what for.
    assertFails(Code.NOT_FOUND, ticket);
    assertThat(((TokenDecision.Denied) late.get(20, TimeUnit.SECONDS)).reason())
        .isEqualTo(Reason.TIMEOUT);
    awaitInLine(1);
    assertThat(waiting).isNotDone();
    // The reservation has survived as well.
    governor.settle(first.reservation(), 50);
    assertThat(granted(waiting).tokens()).isEqualTo(100);
    assertThat(one().running()).isEqualTo(1);
  }

  @Test
  void acquire_deadlineWhileTheServerIsAway_isRefused() throws Exception {
    governor.acquire(ONE);
    CompletableFuture<Queued> known = new CompletableFuture<>();
    CompletableFuture<TokenDecision> waiting =
        governor.acquireAsync(ONE.withMaxWait(Duration.ofSeconds(3)), known::complete);
    known.join();
    server.close();
    TokenDecision.Denied refused = (TokenDecision.Denied) waiting.get(20, TimeUnit.SECONDS);
    assertThat(refused.reason()).isEqualTo(Reason.TIMEOUT);
    assertThat(refused.message()).contains("could not be reached");
  }

  @Test
  void call_settlesWithTheUsedTokens() throws Exception {
    TokenRequest request = TokenRequest.of("slow", 400);
    String answer =
        governor.call(
            request,
            grant -> {
              assertThat(grant.model()).isEqualTo("slow");
              assertThat(grant.tokens()).isEqualTo(400);
              grant.extend();
              grant.used(100);
              grant.used(150);
              return "hello";
            });
    assertThat(answer).isEqualTo("hello");
    assertThat(consumedOfSlow()).isBetween(150L, 160L);
    governor.call(request, grant -> "used all of it");
    assertThat(consumedOfSlow()).isBetween(550L, 560L);
    assertFails(Code.INVALID_ARGUMENT, () -> governor.call(request, this::refuse)).contains("-1");
    assertThat(consumedOfSlow()).isBetween(550L, 560L);
  }

  private String refuse(TokenGrant grant) {
    try {
      grant.used(-1);
      return "";
    } catch (IllegalArgumentException negative) {
      throw new SluiceClientException(
          Code.INVALID_ARGUMENT, String.valueOf(negative.getMessage()), negative);
    }
  }

  private long consumedOfSlow() {
    GovernorStatus.Model slow = governor.status().models().get("slow");
    assertThat(slow.running()).isZero();
    return slow.metrics().tokensConsumed();
  }

  @Test
  void call_refused_isNotMade() {
    GovernorClient.ModelCall<String> never =
        grant -> {
          throw new AssertionError("must not be called");
        };
    assertFails(Code.INVALID_ARGUMENT, () -> governor.call(TokenRequest.of("slow", 1_001), never))
        .contains("1001");
    governor.acquire(ONE);
    assertFails(
        Code.DEADLINE_EXCEEDED, () -> governor.call(ONE.withMaxWait(Duration.ofMillis(20)), never));
    for (int i = 0; i < 3; i++) {
      governor.request(ONE);
    }
    assertFails(Code.RESOURCE_EXHAUSTED, () -> governor.call(ONE, never));
  }
}
