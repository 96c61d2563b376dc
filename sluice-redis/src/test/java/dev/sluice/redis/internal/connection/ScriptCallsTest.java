package dev.sluice.redis.internal.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lettuce.core.RedisCommandExecutionException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** When calls are sent to Redis, and how long they may take. */
final class ScriptCallsTest {
  private static final LuaScript NOTHING = LuaScript.guarded(ScriptCallsTest.class);
  private static final Duration TIMEOUT = Duration.ofMillis(100);

  private final Wire wire = new Wire();
  private final Timers timers = new Timers();
  private final Owner owner = new Owner();
  private final ScriptSender calls =
      new ScriptSender(
          wire,
          timers,
          new RedisClock(),
          new ConnectionConfig(TIMEOUT, null, List.of(), "test"),
          owner);

  private CompletableFuture<List<Object>> call() {
    return calls.call(NOTHING, new String[0], new String[0]);
  }

  @Test
  void brokenConnection_isAskedOnlyAfterAHeartbeatConfirmedTheServer() {
    owner.silence.broke();
    // Another call is answered by the new server: that does not tell whose data it has.
    owner.silence.answered(1);
    CompletableFuture<List<Object>> call = call();
    assertThat(wire.sent).isZero();
    owner.silence.confirmed(owner.silence.breaks());
    owner.renewals.remove().complete(null);
    assertThat(wire.sent).isEqualTo(1);
    assertThat(call).isNotDone();
  }

  @Test
  void brokenConnection_thatNoHeartbeatConfirms_isNotAsked() {
    owner.silence.broke();
    CompletableFuture<List<Object>> call = call();
    while (!owner.renewals.isEmpty()) {
      owner.renewals.remove().completeExceptionally(new IllegalStateException("no answer"));
    }
    assertThatThrownBy(call::join)
        .satisfies(failure -> assertThat(RedisFailure.isUnsent(failure)).isTrue());
    assertThat(wire.sent).isZero();
  }

  @Test
  void callThatCameTooLateEachTime_wasNotDone() {
    CompletableFuture<List<Object>> call = call();
    for (int sent = 1; !call.isDone(); sent++) {
      assertThat(wire.sent).isEqualTo(sent);
      wire.replies.remove().end(null, new RedisCommandExecutionException("EXPIRED 5 microseconds"));
      owner.renewals.forEach(renewal -> renewal.complete(null));
    }
    assertThat(wire.sent).isEqualTo(3);
    assertThatThrownBy(call::join)
        .satisfies(failure -> assertThat(RedisFailure.isUnsent(failure)).isTrue());
  }

  @Test
  void callThatCameTooLate_andThenWasNotAnswered_mayHaveBeenDone() {
    CompletableFuture<List<Object>> call = call();
    wire.replies.remove().end(null, new RedisCommandExecutionException("EXPIRED 5 microseconds"));
    owner.renewals.remove().complete(null);
    assertThat(wire.sent).isEqualTo(2);
    calls.late(timers.watched.get(0));
    assertThatThrownBy(call::join)
        .satisfies(failure -> assertThat(RedisFailure.isUnsent(failure)).isFalse());
  }

  @Test
  void callThatIsAskedAgain_hasTheDeadlineOfTheFirst_andIsNotSentAfterIt() {
    var unused = calls.callBy(5_000_000, false, NOTHING, new String[0], () -> new String[0]);
    assertThat(wire.arguments.get(0)).isEqualTo("5000");
    assertThat(timers.delays).containsExactly(5_000_000L);
    timers.nanos = 5_000_000;
    assertThatThrownBy(
            calls.callBy(5_000_000, false, NOTHING, new String[0], () -> new String[0])::join)
        .satisfies(failure -> assertThat(RedisFailure.isUnsent(failure)).isTrue());
    assertThat(wire.sent).isEqualTo(1);
  }

  @Test
  void heartbeatFromBeforeTheBreak_confirmsNothing() {
    int before = owner.silence.breaks();
    owner.silence.broke();
    owner.silence.confirmed(before);
    assertThat(owner.silence.isBroken()).isTrue();
  }

  @Test
  void callThatWaitedForTheReturnUntilItsDeadline_wasNotAsked_andIsNeverSent() {
    owner.state = ConnectionState.RETURNING;
    CompletableFuture<List<Object>> call = call();
    calls.late(timers.watched.get(0));
    assertThatThrownBy(call::join)
        .satisfies(failure -> assertThat(RedisFailure.isUnsent(failure)).isTrue());
    owner.state = ConnectionState.CONNECTED;
    owner.returned.complete(null);
    assertThat(wire.sent).isZero();
    assertThat(calls.timeouts()).isEqualTo(1);
  }

  @Test
  void callThatWasSentBeforeItsDeadline_mayHaveBeenDone() {
    CompletableFuture<List<Object>> call = call();
    assertThat(wire.sent).isEqualTo(1);
    calls.late(timers.watched.get(0));
    assertThatThrownBy(call::join)
        .satisfies(failure -> assertThat(RedisFailure.isUnavailable(failure)).isTrue())
        .satisfies(failure -> assertThat(RedisFailure.isUnsent(failure)).isFalse());
  }

  /** The deadlines of other calls pass in order, so a longer one would hold them up. */
  @Test
  void callWithAnotherTimeout_hasATimerOfItsOwn() {
    ScriptCall usual = calls.expect(0, TIMEOUT.toNanos());
    ScriptCall longer = calls.expect(0, 30 * TIMEOUT.toNanos());
    assertThat(timers.watched).containsExactly(usual);
    assertThat(timers.delays).containsExactly(30 * TIMEOUT.toNanos());
    timers.due.forEach(Runnable::run);
    assertThat(longer).isCompletedExceptionally();
  }

  private static final class Owner implements ScriptSender.Owner {
    final SilenceDetector silence = new SilenceDetector(0);
    final CompletableFuture<Void> returned = new CompletableFuture<>();
    ConnectionState state = ConnectionState.CONNECTED;
    final Queue<CompletableFuture<Void>> renewals = new ArrayDeque<>();

    @Override
    public ConnectionState state() {
      return state;
    }

    @Override
    public MembersView viewForCalls() {
      return new MembersView(1L << 52, 1L << 52, 0, 0, 1, 1, "", 1, 0, 0, 0);
    }

    @Override
    public boolean isBroken() {
      return silence.isBroken();
    }

    @Override
    public CompletableFuture<Void> returned() {
      return returned;
    }

    @Override
    public CompletableFuture<Void> renew() {
      CompletableFuture<Void> renewal = new CompletableFuture<>();
      renewals.add(renewal);
      return renewal;
    }

    @Override
    public CompletableFuture<Void> look() {
      return CompletableFuture.allOf();
    }

    @Override
    public void answered() {
      silence.answered(0);
    }

    @Override
    public void broke() {
      silence.broke();
    }

    @Override
    public void refused(String error) {}
  }

  /** Counts scripts and answers none. */
  private static final class Wire implements Transport {
    final Queue<Reply> replies = new ArrayDeque<>();
    List<String> arguments = List.of();
    int sent;

    @Override
    public boolean isConnected() {
      return true;
    }

    @Override
    public CompletableFuture<Void> connect(long millis) {
      return CompletableFuture.allOf();
    }

    @Override
    public void disconnect() {}

    @Override
    public void run(LuaScript script, String[] keys, String[] arguments, Reply reply) {
      sent++;
      replies.add(reply);
      this.arguments = List.of(arguments);
    }

    @Override
    public CompletableFuture<Void> load(List<LuaScript> scripts) {
      return CompletableFuture.allOf();
    }

    @Override
    public void subscribe(String channel, Consumer<String> message) {}

    @Override
    public void tendSubscriptions() {}

    @Override
    public void close() {}
  }

  /** Time that a test sets. */
  private static final class Timers implements FleetScheduler {
    final List<ScriptCall> watched = new ArrayList<>();
    final List<Long> delays = new ArrayList<>();
    final List<Runnable> due = new ArrayList<>();

    long nanos;

    @Override
    public long nanoTime() {
      return nanos;
    }

    @Override
    public void execute(Runnable work) {
      work.run();
    }

    @Override
    public void after(long nanos, Runnable work) {
      delays.add(nanos);
      due.add(work);
    }

    @Override
    public void watch(ScriptCall call) {
      watched.add(call);
    }

    @Override
    public void close() {}
  }
}
