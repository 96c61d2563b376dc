package dev.sluice.redis.internal.connection;

import dev.sluice.redis.RedisUnavailableException;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Sends scripts to Redis, each with its deadline and the view of the fleet under which it is sent.
 * Thread-safe.
 */
public final class ScriptSender {
  /** A call that came too late is sent so many times in all, within its time-out. */
  private static final int ATTEMPTS = 3;

  private static final String TOO_LATE = "the call reached Redis after its deadline";

  private static final long SLOW_NANOS = TimeUnit.SECONDS.toNanos(10);

  /** How long Redis may take for what it is told, which no caller waits for. */
  private static final long TELL_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final Transport transport;
  private final FleetScheduler time;
  private final RedisClock server;
  private final long timeoutNanos;
  private final Owner owner;
  private final LongAdder timeouts = new LongAdder();

  /** Knows how the fleet stands, and is told how calls end. */
  public interface Owner {
    ConnectionState state();

    /** Returns the view under which calls are sent now; null if there is none. */
    @Nullable MembersView viewForCalls();

    /** Returns whether the connection has failed since the last confirmed heartbeat. */
    boolean isBroken();

    /** Completes when the return that goes on has ended. */
    CompletableFuture<Void> returned();

    /** Asks for a new view. */
    CompletableFuture<Void> renew();

    /** Asks only for the time of Redis. */
    CompletableFuture<Void> look();

    void answered();

    void broke();

    void refused(String error);
  }

  /** A call on its way to Redis. */
  private static final class Request {
    final ScriptCall call;
    final LuaScript script;
    final String[] keys;
    final Supplier<String[]> arguments;

    /** Whether it is of a report, which precedes the return. */
    final boolean ofReport;

    /** How often it has been sent, this time included. */
    int attempt = 1;

    Request(
        ScriptCall call,
        LuaScript script,
        String[] keys,
        Supplier<String[]> arguments,
        boolean ofReport) {
      this.call = call;
      this.script = script;
      this.keys = keys;
      this.arguments = arguments;
      this.ofReport = ofReport;
    }

    Request again() {
      Request next = new Request(call, script, keys, arguments, ofReport);
      next.attempt = attempt + 1;
      return next;
    }

    String[] guarded(long deadlineMicros, String absences) {
      String[] words = arguments.get();
      String[] all = Arrays.copyOf(words, words.length + 2);
      all[words.length] = Long.toString(deadlineMicros);
      all[words.length + 1] = absences;
      return all;
    }
  }

  public ScriptSender(
      Transport transport,
      FleetScheduler time,
      RedisClock server,
      ConnectionConfig terms,
      Owner owner) {
    this.transport = transport;
    this.time = time;
    this.server = server;
    this.timeoutNanos = terms.timeout().toNanos();
    this.owner = owner;
  }

  long timeouts() {
    return timeouts.sum();
  }

  /** A call that ends with the time-out of callers. */
  ScriptCall expect() {
    return new ScriptCall(time.nanoTime() + timeoutNanos);
  }

  /** Asks Redis under the present view. */
  public CompletableFuture<List<Object>> call(LuaScript script, String[] keys, String[] arguments) {
    return call(script, keys, () -> arguments);
  }

  /**
   * Asks Redis under the present view.
   *
   * @param arguments is asked each time that the call is sent, which may be after a return; throws
   *     {@link RedisUnavailableException} if the call must not be sent then
   */
  CompletableFuture<List<Object>> call(
      LuaScript script, String[] keys, Supplier<String[]> arguments) {
    if (owner.state() == ConnectionState.OUT || !transport.isConnected()) {
      return CompletableFuture.failedFuture(CallFailures.notSent());
    }
    ScriptCall call = ScriptCall.unsent(time.nanoTime() + timeoutNanos);
    time.watch(call);
    send(new Request(call, script, keys, arguments, false));
    return call;
  }

  /** {@link #call} with more time than callers have; also of a report. */
  CompletableFuture<List<Object>> tell(
      LuaScript script, String[] keys, Supplier<String[]> arguments) {
    if (owner.state() == ConnectionState.OUT || !transport.isConnected()) {
      return CompletableFuture.failedFuture(CallFailures.notSent());
    }
    ScriptCall call = patient(Math.max(timeoutNanos, TELL_NANOS));
    send(new Request(call, script, keys, arguments, true));
    return call;
  }

  /**
   * Asks Redis once more for what an earlier call asked for, which runs by {@code deadlineNanos} or
   * never.
   *
   * @param ofReport whether the earlier one was by {@link #tell}
   */
  CompletableFuture<List<Object>> callBy(
      long deadlineNanos,
      boolean ofReport,
      LuaScript script,
      String[] keys,
      Supplier<String[]> arguments) {
    long now = time.nanoTime();
    if (owner.state() == ConnectionState.OUT
        || !transport.isConnected()
        || deadlineNanos - now <= 0) {
      return CompletableFuture.failedFuture(CallFailures.notSent());
    }
    ScriptCall call = expect(now, deadlineNanos - now);
    send(new Request(call, script, keys, arguments, ofReport));
    return call;
  }

  /** Asks Redis for something that grants nothing, whatever the state. */
  CompletableFuture<List<Object>> probe(LuaScript script, String[] keys, String[] arguments) {
    ScriptCall call = expect();
    time.watch(call);
    sendUnderNoView(new Request(call, script, keys, () -> arguments, false));
    return call;
  }

  /** {@link #probe} for what takes long: much is read or written. */
  CompletableFuture<List<Object>> slow(LuaScript script, String[] keys, String[] arguments) {
    ScriptCall call = patient(SLOW_NANOS);
    sendUnderNoView(new Request(call, script, keys, () -> arguments, false));
    return call;
  }

  private ScriptCall patient(long nanos) {
    return expect(time.nanoTime(), nanos);
  }

  /** Creates a call that fails unless it is answered within {@code nanos} of {@code sentNanos}. */
  public ScriptCall expect(long sentNanos, long nanos) {
    ScriptCall call = new ScriptCall(sentNanos + nanos);
    if (nanos == timeoutNanos) {
      time.watch(call);
    } else {
      // `watch` passes deadlines in order, so a call with another time-out has a timer of its own.
      time.after(nanos, () -> late(call));
    }
    return call;
  }

  private void sendUnderNoView(Request request) {
    run(
        request.call,
        request.script,
        request.keys,
        request.guarded(server.microsAt(request.call.deadlineNanos), ""),
        request.attempt < ATTEMPTS ? () -> sendAfterLook(request.again()) : null);
  }

  /** The clock of Redis went ahead. */
  @SuppressWarnings("FutureReturnValueIgnored") // it ends the call
  private void sendAfterLook(Request request) {
    owner.look().whenComplete((done, failure) -> sendUnderNoView(request));
  }

  /** Sends a call under a view that is valid, if need be after asking for a new one. */
  private void send(Request request) {
    ConnectionState now = owner.state();
    MembersView under = owner.viewForCalls();
    if (now == ConnectionState.RETURNING && !request.ofReport) {
      sendAfter(owner.returned(), request);
    } else if (now == ConnectionState.OUT || under == null) {
      request.call.completeExceptionally(CallFailures.notSent());
    } else if (owner.isBroken()) {
      // Another server may answer now, or one that has lost its data.
      sendAgain(request, "the connection to Redis broke");
    } else {
      sendUnder(under, request);
    }
  }

  private void sendUnder(MembersView under, Request request) {
    ScriptCall call = request.call;
    long deadline = Math.min(server.microsAt(call.deadlineNanos), under.validUntilMicros());
    String[] arguments;
    try {
      arguments = request.guarded(deadline, under.absences());
    } catch (RedisUnavailableException notNow) {
      call.completeExceptionally(
          call.giveUpUnsent()
              ? notNow
              : CallFailures.unanswered(String.valueOf(notNow.getMessage()), notNow));
      return;
    }
    if (call.trySend()) {
      run(call, request.script, request.keys, arguments, () -> expired(request));
    }
  }

  private void expired(Request request) {
    request.call.notDone();
    if (request.attempt == ATTEMPTS) {
      // In a cluster, the clock of the part that has the key may be ahead of the members' part.
      owner.refused(TOO_LATE);
    }
    sendAgain(request, TOO_LATE);
  }

  /** Sends a call once more under a new view, if there is an attempt left. */
  private void sendAgain(Request request, String failure) {
    if (request.attempt < ATTEMPTS) {
      sendAfter(owner.renew(), request.again());
    } else {
      giveUp(request.call, failure);
    }
  }

  /** Fails a call: Redis has not done what it was never sent. */
  private static boolean giveUp(ScriptCall call, String failure) {
    return call.completeExceptionally(
        call.giveUpUnsent() ? CallFailures.notSent() : CallFailures.unanswered(failure, null));
  }

  @SuppressWarnings("FutureReturnValueIgnored") // it ends the call
  private void sendAfter(CompletableFuture<Void> event, Request request) {
    event.whenComplete(
        (done, failure) -> {
          if (!request.call.isDone()) {
            send(request);
          }
        });
  }

  /**
   * Runs a script as it is.
   *
   * @param expired is run if the script came after its deadline; null for a failure
   */
  void run(
      ScriptCall call,
      LuaScript script,
      String[] keys,
      String[] arguments,
      @Nullable Runnable expired) {
    transport.run(
        script, keys, arguments, (answer, failure) -> end(call, answer, failure, expired));
  }

  /** Ends a call with what Redis answered, or with its failure. */
  void end(
      ScriptCall call,
      @Nullable List<Object> answer,
      @Nullable Throwable failure,
      @Nullable Runnable expired) {
    if (answer != null) {
      if (call.complete(answer)) {
        owner.answered();
      }
      return;
    }
    switch (RedisFailure.of(failure)) {
      case EXPIRED -> {
        if (expired != null && !call.isDone()) {
          expired.run();
          return;
        }
      }
      case REFUSED -> {
        owner.answered();
        owner.refused(RedisFailure.messageOf(failure));
      }
      case AWAY -> owner.broke();
    }
    call.completeExceptionally(
        CallFailures.unanswered("Redis: " + RedisFailure.messageOf(failure), failure));
  }

  /** The deadline of a call has passed. */
  void late(ScriptCall call) {
    if (giveUp(call, "Redis did not answer in time")) {
      timeouts.increment();
    }
  }
}
