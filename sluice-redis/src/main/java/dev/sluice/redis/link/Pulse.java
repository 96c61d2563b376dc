package dev.sluice.redis.link;

import io.lettuce.core.RedisCommandTimeoutException;
import io.netty.channel.ConnectTimeoutException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * Tells Redis that a node is alive, and leads it into outages and out of them.
 *
 * <p>One thread does it: a pulse every second, and while Redis is away a probe every tenth of one.
 * It never waits for an answer. What else it is given to do runs on the same thread.
 *
 * @since 0.1
 */
public final class Pulse implements AutoCloseable, Executor {
  /**
   * Answers {nodes that are not forgotten, version of the second key, time, its life, nodes that
   * live}.
   */
  public static final LuaScript SCRIPT = LuaScript.of(Pulse.class, "pulse");

  private static final long NANOS_PER_MICRO = 1_000;
  private static final int TIME_AT = 2;
  private static final int LIVE_AT = 4;
  private static final long PULSE_MILLIS = 1_000;
  private static final long PROBE_MILLIS = 100;

  /** How long a start waits for Redis, unless the time-out is longer. */
  private static final long OPEN_MILLIS = 3_000;

  /**
   * How long one attempt to connect lasts; while a node starts, as long as the start may take. In
   * an outage it does not depend on the time-out, because other nodes wait only briefly for this
   * one once Redis is back.
   */
  private static final long CONNECT_MILLIS = 2_000;

  /** After so long without an answer a connection is given up: it may lead nowhere. */
  private static final long MIN_STALE_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** A node that was not heard of for so long counts as dead. */
  private static final long DEAD_MICROS = TimeUnit.SECONDS.toMicros(5);

  /** So long a node that was lost may go on with its share: until then shares are among it too. */
  private static final long FORGOTTEN_MICROS = TimeUnit.MINUTES.toMicros(10);

  /** A part of a cluster is back when nothing has failed for so long. */
  private static final long PART_CALM_NANOS = TimeUnit.SECONDS.toNanos(2);

  private final Roll roll;
  private final String[] keys;
  private final boolean cluster;
  private final Member member;
  private final RedisLink link;
  private final ScheduledThreadPoolExecutor timer;
  private final CountDownLatch settled = new CountDownLatch(1);
  private final AtomicBoolean closed = new AtomicBoolean();

  private final long createdNanos = System.nanoTime();
  private final long openMillis;
  private final long staleNanos;
  private volatile int nodes;
  private volatile int liveNodes = 1;
  private volatile long offsetNanos =
      TimeUnit.MILLISECONDS.toNanos(System.currentTimeMillis()) - System.nanoTime();
  private volatile long returnedNanos = System.nanoTime();

  /** Whether the member decides, be it only what a part of a cluster does not answer. */
  private volatile boolean alone = true;

  /** Whether only a part of a cluster does not answer. */
  private volatile boolean inPart;

  private volatile long failedNanos;

  private volatile long lostNanos = System.nanoTime();
  private volatile long refusedNanos = System.nanoTime() - MIN_STALE_NANOS;

  // Of the timer's thread.
  private long answeredNanos = System.nanoTime();
  private String trouble = "it does not answer";
  private @Nullable ScheduledFuture<?> nextBeat;

  /**
   * What a node does by itself. Until it is told to come back for the first time, it decides alone.
   *
   * @since 0.1
   */
  public interface Member {
    /**
     * Redis has answered a pulse, as {@link #SCRIPT} does. On the thread of the answer; the pulse
     * goes on when it is done, and has failed if this fails.
     */
    CompletableFuture<Void> answered(List<Object> answer);

    /**
     * Sends what Redis has not confirmed once more. With each pulse, after {@link #answered} and
     * after Redis knows the scripts; only by {@link RedisLink#probe}.
     */
    CompletableFuture<Void> sendAgain();

    /** Tells Redis most of what it missed: so little is left to {@link #comeBack}. */
    CompletableFuture<Void> settleUp();

    /**
     * Redis decides from now on: after it was told the rest of what it missed.
     *
     * <p>Redis does what comes over one connection in order, so that comes first. When {@code
     * redisDecides} is run nothing is decided here any more. A lock that sees to it is held around
     * that run, which takes the link's own lock inside; {@link #lost} is called under the link's
     * lock, so it must never take such a one.
     *
     * @param inPart whether only a part of a cluster was lost
     * @param redisDecides closes the breaker; to be run once, before this returns
     */
    void comeBack(boolean inPart, Runnable redisDecides);

    /**
     * The node decides from now on. Called before any call fails because of it, and not while Redis
     * returns, on whatever thread found it; must not wait. At a start without Redis, too.
     *
     * @param inPart whether a part of a cluster still answers: who asks it goes on
     */
    void lost(String cause, boolean inPart);

    /** Redis answers, but will not do what it is asked; told about once a second. */
    void refused(String error);
  }

  /** A pulse that has not begun. */
  public Pulse(RedisAddress address, LinkTerms terms, Roll roll, Member member) {
    this.roll = roll;
    this.keys = roll.keys().toArray(String[]::new);
    this.cluster = address.cluster();
    this.member = member;
    this.nodes = roll.expectedNodes();
    this.openMillis = Math.max(OPEN_MILLIS, terms.timeout().toMillis());
    this.staleNanos = Math.max(MIN_STALE_NANOS, 2 * terms.timeout().toNanos());
    this.timer =
        new ScheduledThreadPoolExecutor(
            1,
            work -> thread(terms.threads() + "-pulse", work),
            new ThreadPoolExecutor.DiscardPolicy());
    this.link = new RedisLink(address, withPulse(terms), new Watch());
  }

  private static LinkTerms withPulse(LinkTerms terms) {
    List<LuaScript> scripts = new ArrayList<>(terms.scripts());
    scripts.add(SCRIPT);
    return new LinkTerms(
        terms.timeout(), terms.trust(), scripts, terms.threads(), terms.failures());
  }

  private static Thread thread(String name, Runnable work) {
    Thread thread = new Thread(work, name);
    thread.setDaemon(true);
    return thread;
  }

  /** Begins; returns when Redis decides, or has been tried in vain. */
  public void start() {
    timer.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    timer.execute(this::beat);
    try {
      if (!settled.await(openMillis, TimeUnit.MILLISECONDS) || !link.isAvailable()) {
        timer.execute(() -> link.whileAway(() -> member.lost(trouble, false)));
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** What Redis is asked through. */
  public RedisLink link() {
    return link;
  }

  /** Among how many nodes an outage is shared: those that may go on in it. */
  public int nodes() {
    return nodes;
  }

  /** How many nodes were heard of lately. */
  public int liveNodes() {
    return liveNodes;
  }

  /** What the clock of Redis shows, as far as it is known. */
  public long serverNanos() {
    return System.nanoTime() + offsetNanos;
  }

  /** How long ago Redis was lost for the last time. */
  public Duration sinceLoss() {
    return Duration.ofNanos(System.nanoTime() - lostNanos);
  }

  /** Runs it on the thread of the pulse, which must not wait; not once it is closed. */
  @Override
  public void execute(Runnable work) {
    timer.execute(work);
  }

  /** {@link #execute}, so much later. */
  @SuppressWarnings("FutureReturnValueIgnored") // nobody waits for it
  public void executeAfter(long millis, Runnable work) {
    timer.schedule(work, millis, TimeUnit.MILLISECONDS);
  }

  @SuppressWarnings("FutureReturnValueIgnored") // it goes on with the next one
  private void beat() {
    link.tendSubscriptions();
    boolean connected = link.isConnected();
    CompletableFuture<Void> step = connected ? pulse() : link.reconnect(connectMillis());
    step.whenComplete((done, failure) -> timer.execute(() -> next(connected, failure)));
  }

  private long connectMillis() {
    long sinceMillis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - createdNanos);
    return Math.max(CONNECT_MILLIS, openMillis - sinceMillis);
  }

  private void next(boolean connected, @Nullable Throwable failure) {
    long now = System.nanoTime();
    boolean refused = failure != null && RedisLink.isRefusal(failure);
    if (failure == null) {
      answeredNanos = now;
    } else if (refused || !connected) {
      noteTrouble(failure);
      if (!isSilence(failure)) {
        settled.countDown();
      }
    } else if (now - answeredNanos > staleNanos) {
      answeredNanos = now;
      link.drop();
    }
    if (failure != null && connected && cluster && !refused) {
      link.lose(String.valueOf(RedisLink.rootOf(failure)));
    }
    if (link.isAvailable()) {
      settled.countDown();
    }
    if (failure != null) {
      again(PROBE_MILLIS);
    } else {
      again(connected ? PULSE_MILLIS : 0);
    }
  }

  /** Returns whether {@code failure} is a time-out, which on a busy machine may pass. */
  private static boolean isSilence(Throwable failure) {
    Throwable root = RedisLink.rootOf(failure);
    return root instanceof TimeoutException
        || root instanceof ConnectTimeoutException
        || root instanceof RedisCommandTimeoutException;
  }

  /** Remembers why Redis does not decide; a wrong password, for example, does not pass. */
  private void noteTrouble(Throwable failure) {
    Throwable root = RedisLink.rootOf(failure);
    trouble = root.toString();
    if (RedisLink.isRefusal(root)) {
      refused(String.valueOf(root.getMessage()));
    }
  }

  private void again(long delayMillis) {
    nextBeat = timer.schedule(this::beat, delayMillis, TimeUnit.MILLISECONDS);
  }

  /** Without waiting for the next pulse; nothing if one is on its way. */
  private void beatNow() {
    if (nextBeat != null && nextBeat.cancel(false)) {
      again(0);
    }
  }

  private CompletableFuture<Void> pulse() {
    return pulse("stay")
        .thenCompose(
            answer -> {
              count((int) Math.max(roll.expectedNodes(), Call.number(answer, 0)));
              liveNodes = (int) Call.number(answer, LIVE_AT);
              offsetNanos = Call.number(answer, TIME_AT) * NANOS_PER_MICRO - System.nanoTime();
              return member.answered(answer);
            })
        .thenCompose(done -> link.isAvailable() ? CompletableFuture.allOf() : link.load())
        // Where one part of a cluster does not answer the others go on.
        .thenComposeAsync(
            loaded -> cluster ? member.sendAgain().exceptionally(lost -> null) : member.sendAgain(),
            timer)
        .thenComposeAsync(
            sent -> mayComeBack() ? member.settleUp() : CompletableFuture.allOf(), timer)
        .thenRunAsync(
            () -> {
              if (mayComeBack()) {
                comeBack();
              }
            },
            timer);
  }

  private CompletableFuture<List<Object>> pulse(String what) {
    String[] arguments = {
      roll.node(), Long.toString(DEAD_MICROS), Long.toString(FORGOTTEN_MICROS), what
    };
    return link.probe(SCRIPT, keys, arguments);
  }

  /** Redis answers; if only a part of it was lost, that has not failed for a while. */
  private boolean mayComeBack() {
    return !link.isAvailable() || (inPart && System.nanoTime() - failedNanos > PART_CALM_NANOS);
  }

  /** Soon after its return Redis may have forgotten nodes that live. */
  private void count(int live) {
    long sinceNanos = System.nanoTime() - returnedNanos;
    boolean longSince = sinceNanos > TimeUnit.MICROSECONDS.toNanos(DEAD_MICROS);
    if (live >= nodes || (longSince && link.isAvailable())) {
      nodes = live;
    }
  }

  private void comeBack() {
    if (!alone) {
      return;
    }
    member.comeBack(
        inPart,
        () -> {
          inPart = false;
          alone = false;
          link.returned();
        });
    returnedNanos = System.nanoTime();
  }

  /** What Redis does not answer is decided by the member, the rest goes on. */
  private void loseInPart(String cause) {
    if (!alone) {
      lostNanos = System.nanoTime();
      inPart = true;
      alone = true;
      member.lost("a part of the cluster: " + cause, true);
    }
  }

  private void refused(String error) {
    long now = System.nanoTime();
    if (now - refusedNanos >= MIN_STALE_NANOS) {
      refusedNanos = now;
      member.refused(error);
    }
  }

  /** What the link finds. */
  private final class Watch implements RedisLink.Watcher {
    @Override
    public void lost(String cause) {
      lostNanos = System.nanoTime();
      inPart = false;
      alone = true;
      member.lost(cause, false);
      timer.execute(Pulse.this::beatNow);
    }

    @Override
    public void failed(String cause) {
      failedNanos = System.nanoTime();
      if (!alone) {
        timer.execute(() -> link.whileAvailable(() -> loseInPart(cause)));
      }
    }

    @Override
    public void refused(String error) {
      Pulse.this.refused(error);
    }
  }

  /** Whether it was closed. */
  public boolean isClosed() {
    return closed.get();
  }

  /** Tells Redis that the node leaves, and closes the link. Does nothing the second time. */
  @Override
  public void close() {
    if (closed.compareAndSet(false, true)) {
      timer.shutdown();
      if (link.isAvailable()) {
        // If it is not heard, it is forgotten in time.
        CompletableFuture<Boolean> left = pulse("leave").handle((answer, failure) -> true);
        left.completeOnTimeout(false, PROBE_MILLIS, TimeUnit.MILLISECONDS).join();
      }
      link.close();
    }
  }
}
