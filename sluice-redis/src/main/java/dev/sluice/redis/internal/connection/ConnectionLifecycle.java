package dev.sluice.redis.internal.connection;

import dev.sluice.redis.internal.connection.ConnectionState.Event;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Keeps this node a member of the fleet: sends heartbeats, judges whether Redis is there, and leads
 * the node into an outage and back. Nothing else keeps outage flags. Thread-safe.
 */
final class ConnectionLifecycle implements ScriptSender.Owner, Transport.Owner {
  /*
   * Why no token is granted twice. Redis counts a member as present until PRESENCE after the time at which it sent its
   * last heartbeat; from then on it reserves the member's share (heartbeat.lua, guard.lua). The member grants by
   * itself only
   *   - in OUT, where it sends no heartbeat that would make it present, and
   *   - PRESENCE after its last such heartbeat, plus a margin for clocks that run differently;
   * and RETURNING, in which it sends the next one, begins once `local` is shut. A return that failed before it sent
   * that heartbeat has changed nothing, so `local` opens again at once. A call carries the view of the fleet under
   * which it was sent, and does nothing once that is out of date: what stood in a socket while Redis was stopped
   * expires.
   *
   * Concurrency. `state` changes on the thread of `time` only. The member is called without locks.
   */

  private static final long PROBE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  /** How long a start waits for Redis, unless the time-out is longer. */
  private static final long OPEN_MILLIS = 3_000;

  private final MembershipConfig membership;
  private final FleetConnection.Member member;
  final Transport transport;
  final FleetScheduler time;
  private final boolean cluster;
  private final long timeoutNanos;
  private final long heartbeatNanos;
  private final long suspicionNanos;
  private final long presenceNanos;
  private final long openMillis;
  private final Reconnector keeper;
  final RedisClock server = new RedisClock();
  private final SilenceDetector silence;
  final ScriptSender calls;
  private final Heartbeats heartbeats;
  private final ReconnectSteps steps;
  final MemberState record;
  final LocalDecisionGate local;
  private final CountDownLatch opened = new CountDownLatch(1);
  private final AtomicBoolean closed = new AtomicBoolean();

  // Written on the thread of `time`.
  private volatile boolean everConnected;
  private volatile ConnectionState state = ConnectionState.OUT;

  private volatile CompletableFuture<Void> returned = CompletableFuture.allOf();
  private volatile @Nullable CompletableFuture<Void> refreshing;

  // Of the thread of `time`.
  private boolean announced;

  /** When the last heartbeat that may make this node present was sent. */
  private long presentNanos;

  private long lostNanos;
  private long dueNanos;
  private final SteadyProbes probes = new SteadyProbes();
  private String trouble = "it does not answer";

  ConnectionLifecycle(
      ConnectionConfig terms,
      MembershipConfig membership,
      FleetConnection.Member member,
      boolean cluster,
      Function<Transport.Owner, Transport> transport,
      Function<Consumer<ScriptCall>, FleetScheduler> time) {
    this.membership = membership;
    this.member = member;
    this.cluster = cluster;
    this.timeoutNanos = terms.timeout().toNanos();
    this.heartbeatNanos = membership.timing().heartbeat().toNanos();
    this.suspicionNanos = Math.max(membership.timing().suspicion().toNanos(), 2 * timeoutNanos);
    this.openMillis = Math.max(OPEN_MILLIS, terms.timeout().toMillis());
    this.presenceNanos = membership.timing().presence().toNanos();
    this.time = time.apply(call -> late(call));
    this.transport = transport.apply(this);
    this.calls = new ScriptSender(this.transport, this.time, server, terms, this);
    long now = this.time.nanoTime();
    this.silence = new SilenceDetector(now);
    this.heartbeats = new Heartbeats(membership, calls, this.transport, this.time, server, silence);
    this.keeper = new Reconnector(this.transport, this.time, openMillis);
    this.record = new MemberState(membership.expectedNodes());
    this.steps = new ReconnectSteps(this.transport, this.time, terms, heartbeats, record, member);
    this.local = new LocalDecisionGate(this.time);
    this.lostNanos = now;
    this.presentNanos = now - presenceNanos - presenceNanos / MembersView.DRIFT_DIVISOR;
  }

  private void late(ScriptCall call) {
    calls.late(call);
  }

  @Override
  public ConnectionState state() {
    return state;
  }

  boolean isClosed() {
    return closed.get();
  }

  /** Reports, which precede the return, carry what the last probe found. */
  @Override
  public @Nullable MembersView viewForCalls() {
    return state == ConnectionState.RETURNING ? record.probed() : record.view();
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
    return state == ConnectionState.RETURNING ? look() : refresh();
  }

  @Override
  public void answered() {
    silence.answered(time.nanoTime());
    if (state == ConnectionState.SUSPECT && !silence.isRefused()) {
      time.execute(() -> on(Event.ANSWERED));
    }
  }

  @Override
  public void broke() {
    silence.broke();
    // One part of a cluster that fails says nothing about the part that has the members.
    if (state == ConnectionState.CONNECTED && !cluster) {
      time.execute(() -> on(Event.SILENT));
    }
  }

  @Override
  public void disconnected() {
    broke();
  }

  @Override
  public void refused(String error) {
    member.refused(error);
  }

  // ---- heartbeats

  /**
   * Opens the connection; returns when Redis decides, or did not answer for about three seconds.
   *
   * @throws IllegalStateException if Redis has data of another layout
   */
  void start() {
    begin();
    try {
      if (!opened.await(openMillis, TimeUnit.MILLISECONDS)) {
        time.execute(this::announceLoss);
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
    String other = record.otherLayout();
    if (other != null) {
      close();
      throw new IllegalStateException(other);
    }
  }

  /** Opens the connection without waiting for it. */
  void begin() {
    time.execute(
        () -> {
          dueNanos = time.nanoTime();
          beat();
        });
  }

  private void beat() {
    if (closed.get()) {
      return;
    }
    long now = time.nanoTime();
    try {
      judge(now);
      transport.tendSubscriptions();
      if (transport.isConnected()) {
        beatOnce();
      } else {
        keeper.connect(this::beatOnce, this::notConnected);
      }
    } finally { // whatever the member or the transport throws
      dueNanos = now + (state == ConnectionState.OUT ? PROBE_NANOS : heartbeatNanos);
      time.after(dueNanos - now, this::beat);
    }
  }

  /** Judges how long Redis has been silent, less the time in which this process did not run. */
  private void judge(long now) {
    if (!state.asksRedis()) {
      return;
    }
    long silent = silence.nanos(now, dueNanos);
    long most = silence.isBroken() ? membership.timing().suspicion().toNanos() : suspicionNanos;
    if (silent > most / 2) {
      on(Event.SILENT);
    }
    if (silent > most) {
      on(Event.GIVEN_UP);
    }
  }

  private void beatOnce() {
    if (state == ConnectionState.OUT) {
      probe();
    } else if (state.asksRedis()) {
      var unused = refresh();
    }
  }

  /** A heartbeat was not answered. */
  private void failed(Throwable failure) {
    note(failure);
    if (RedisFailure.of(failure) == RedisFailure.REFUSED) {
      refuseStart();
    }
    keeper.dropIfSilent(silence.answeredNanos(), suspicionNanos);
  }

  /** There is no connection; if waiting does not help, a start does not wait any longer. */
  private void notConnected(Throwable failure) {
    probes.restart();
    silence.broke();
    note(failure);
    if (RedisFailure.isFinal(failure)) {
      refuseStart();
    }
  }

  private void note(Throwable failure) {
    trouble = RedisFailure.messageOf(failure);
    if (RedisFailure.of(failure) == RedisFailure.REFUSED) {
      member.refused(trouble);
    }
  }

  private void refuseStart() {
    if (!everConnected) {
      opened.countDown();
      announceLoss();
    }
  }

  /** Asks how the fleet stands, and stays absent. */
  @Override
  public CompletableFuture<Void> look() {
    int breaks = silence.breaks();
    return heartbeat("look", time.nanoTime())
        .thenAccept(
            heard -> {
              record.probed(heard.view());
              if (!state.asksRedis()) {
                // Calls of a report carry this view. Other calls wait for an admitted heartbeat.
                silence.confirmed(breaks);
              }
            });
  }

  /** Asks for a new view; several that ask at once get the same. */
  private CompletableFuture<Void> refresh() {
    CompletableFuture<Void> mine = new CompletableFuture<>();
    synchronized (this) {
      CompletableFuture<Void> before = refreshing;
      if (before != null && !before.isDone()) {
        return before;
      }
      refreshing = mine;
    }
    time.execute(() -> stay(mine));
    return mine;
  }

  @SuppressWarnings("FutureReturnValueIgnored") // it ends the future
  private void stay(CompletableFuture<Void> done) {
    if (!state.asksRedis()) {
      done.completeExceptionally(CallFailures.notSent());
      return;
    }
    int breaks = silence.breaks();
    beHeard("stay", true)
        .whenCompleteAsync(
            (heard, failure) -> {
              if (failure != null) {
                failed(failure);
                done.completeExceptionally(failure);
              } else if (heard.isAbsent()) {
                on(Event.ABSENT);
                done.completeExceptionally(CallFailures.notSent());
              } else {
                take(heard, breaks);
                on(Event.ANSWERED);
                done.complete(null);
              }
            },
            time::execute)
        // Also if the member throws: the next heartbeat waits for the end of this one.
        .whenComplete((ended, thrown) -> done.completeExceptionally(CallFailures.notSent()));
  }

  /**
   * Sends a heartbeat that makes this node present; again if its estimate of the time was wrong.
   */
  private CompletableFuture<Heartbeats.HeartbeatReply> beHeard(String what, boolean mayRetry) {
    long sent = time.nanoTime();
    presentNanos = sent;
    return heartbeat(what, sent)
        .thenComposeAsync(
            heard ->
                mayRetry && heard.isExpired()
                    ? beHeard(what, false)
                    : CompletableFuture.completedFuture(heard),
            time::execute);
  }

  private void take(Heartbeats.HeartbeatReply heard, int breaks) {
    if (heard.isOk()) {
      MembersView seen = heard.view();
      record.see(seen);
      silence.confirmed(breaks);
      var unused = member.seen(seen);
    }
  }

  private CompletableFuture<Heartbeats.HeartbeatReply> heartbeat(String what, long sentNanos) {
    OptionalLong used = local.usedSinceNanos();
    long aloneSince = used.isPresent() ? server.microsAt(used.getAsLong()) : 0;
    return heartbeats.send(what, sentNanos, patienceNanos(), record.self(aloneSince));
  }

  /** How long an answer may take: in a process that has just started, as long as the start. */
  private long patienceNanos() {
    return everConnected ? timeoutNanos : TimeUnit.MILLISECONDS.toNanos(openMillis);
  }

  // ---- out, and back

  @SuppressWarnings("FutureReturnValueIgnored") // the next probe goes on
  private void probe() {
    look()
        .whenCompleteAsync(
            (done, failure) -> {
              if (failure != null) {
                probes.restart();
                failed(failure);
              } else if (probes.answered(!everConnected)) {
                on(Event.PROBED);
              }
            },
            time::execute);
  }

  /** Goes from one state to the next; on the thread of the fleet. */
  private void on(Event event) {
    ConnectionState before = state;
    ConnectionState next = before.after(event);
    if (next == before || closed.get()) {
      return;
    }
    switch (next) {
      case RETURNING -> {
        returned = new CompletableFuture<>();
        local.shut();
        state = next;
        comeBack();
      }
      case OUT -> {
        lostNanos = announced ? lostNanos : silence.since();
        probes.restart();
        state = next;
        if (record.otherLayout() == null) {
          local.openFrom(presentNanos + presenceNanos + presenceNanos / MembersView.DRIFT_DIVISOR);
        }
        announceLoss();
        beAlone();
      }
      default -> state = next;
    }
  }

  private void announceLoss() {
    if (state == ConnectionState.OUT && !announced) {
      announced = true;
      member.lost(trouble);
      beAlone();
    }
  }

  private void beAlone() {
    time.after(
        Math.max(0, local.fromNanos() - time.nanoTime()),
        () -> {
          if (state == ConnectionState.OUT) {
            member.alone();
          }
        });
  }

  @SuppressWarnings("FutureReturnValueIgnored") // what it leads to is the next state
  private void comeBack() {
    CompletableFuture<Void> waiting = returned;
    int breaks = silence.breaks();
    steps
        .loadScripts(patienceNanos())
        .thenComposeAsync(
            loaded -> steps.checkSchema(everConnected, patienceNanos()), time::execute)
        .thenComposeAsync(checked -> look(), time::execute)
        .thenComposeAsync(looked -> member.report(), time::execute)
        .thenComposeAsync(
            reported -> beHeard("return", true).thenApply(steps::admittedView), time::execute)
        .thenComposeAsync(
            seen -> {
              CompletableFuture<Void> adopted = steps.adopt(seen);
              silence.confirmed(breaks);
              return adopted;
            },
            time::execute)
        .whenCompleteAsync(
            (done, failure) -> {
              if (failure == null) {
                admitted();
                waiting.complete(null);
              } else {
                silence.broke();
                probes.returnFailed();
                failed(failure);
                on(Event.FAILED);
                waiting.completeExceptionally(CallFailures.notSent());
              }
            },
            time::execute);
  }

  private void admitted() {
    on(Event.ADMITTED);
    Optional<Duration> outage =
        announced ? Optional.of(Duration.ofNanos(time.nanoTime() - lostNanos)) : Optional.empty();
    announced = false;
    probes.returned();
    everConnected = true;
    member.connected(outage);
    opened.countDown();
  }

  /** Closes the connection without a word, as a process that is killed does; for tests. */
  void abandon() {
    if (closed.compareAndSet(false, true)) {
      time.close();
      transport.close();
    }
  }

  /** Tells Redis that this node leaves, and closes the connection. Does nothing the second time. */
  void close() {
    if (closed.compareAndSet(false, true)) {
      if (state.asksRedis()) {
        // If it is not heard, the membership ends in time.
        CompletableFuture<Boolean> left =
            heartbeat("leave", time.nanoTime()).handle((answer, failure) -> true);
        left.completeOnTimeout(false, PROBE_NANOS, TimeUnit.NANOSECONDS).join();
      }
      time.close();
      transport.close();
    }
  }
}
