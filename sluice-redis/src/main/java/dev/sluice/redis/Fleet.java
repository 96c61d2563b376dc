package dev.sluice.redis;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * This node's part in the fleet: tells Redis that it is alive, and sees its limiters through
 * outages.
 *
 * <p>One thread does it: a pulse every second, and while Redis is away a probe every tenth of one.
 * It never waits for an answer.
 */
final class Fleet implements AutoCloseable, RedisLink.Watcher {
  private static final Logger LOG = LoggerFactory.getLogger(SharedLimits.class);
  private static final long NANOS_PER_MICRO = 1_000;
  private static final int LIVE_AT = 4;
  private static final long PULSE_MILLIS = 1_000;
  private static final long PROBE_MILLIS = 100;
  private static final long OPEN_MILLIS = 3_000;
  private static final long CONNECT_MILLIS = 2_000;

  /** After so long without an answer a connection is given up: it may lead nowhere. */
  private static final long MIN_STALE_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** A node that was not heard of for so long counts as dead. */
  private static final long DEAD_MICROS = TimeUnit.SECONDS.toMicros(5);

  /** So long a node that was lost may go on with its share: until then shares are among it too. */
  private static final long FORGOTTEN_MICROS = TimeUnit.MINUTES.toMicros(10);

  /** A part of a cluster is back when nothing has failed for so long. */
  private static final long PART_CALM_NANOS = TimeUnit.SECONDS.toNanos(2);

  /** By then the other nodes have found that Redis is back, or their try to connect has ended. */
  private static final long SETTLE_MILLIS = 1_500;

  /** How often that is waited for, if Redis does not confirm the charges. */
  private static final int SETTLE_TRIES = 5;

  private final LimitsConfig config;
  private final String node;
  private final KeySpace space;
  private final boolean cluster;
  private final Counts counts = new Counts();
  private final RedisLink link;
  private final RuleBook book;
  private final Charges charges;
  private final Batches batches;
  private final ScheduledThreadPoolExecutor timer =
      new ScheduledThreadPoolExecutor(1, Fleet::thread, new ThreadPoolExecutor.DiscardPolicy());
  private final CountDownLatch settled = new CountDownLatch(1);
  private final AtomicBoolean refreshing = new AtomicBoolean();
  private final AtomicBoolean toldOfRules = new AtomicBoolean(true);
  private final AtomicBoolean closed = new AtomicBoolean();

  private final long staleNanos;
  private volatile int nodes;
  private volatile int liveNodes = 1;
  private volatile long offsetNanos =
      TimeUnit.MILLISECONDS.toNanos(System.currentTimeMillis()) - System.nanoTime();
  private volatile long returnedNanos = System.nanoTime();
  private volatile @Nullable Shares shares;
  private volatile @Nullable Shares gate;

  /** Whether somebody was told of an outage, and not yet of its end. */
  private volatile boolean outage;

  /** Whether only a part of a cluster does not answer. */
  private volatile boolean inPart;

  private volatile long failedNanos;

  private volatile long lostNanos = System.nanoTime();
  private volatile long refusedNanos = System.nanoTime() - MIN_STALE_NANOS;

  // Of the timer's thread.
  private long answeredNanos = System.nanoTime();
  private String trouble = "it does not answer";
  private @Nullable ScheduledFuture<?> nextBeat;

  Fleet(RedisAddress address, LimitsConfig config, String node) {
    this.config = config;
    this.node = node;
    this.space = new KeySpace(config.prefix());
    this.cluster = address.cluster();
    this.nodes = config.expectedNodes();
    this.staleNanos = Math.max(MIN_STALE_NANOS, 2 * config.timeout().toNanos());
    this.link =
        new RedisLink(
            new Connection(address, config.trust(), config.timeout()),
            config.timeout().toNanos(),
            counts,
            this);
    this.book =
        new RuleBook(link, space.rules(), Rules.of(config.remembered()), this::rulesChanged);
    this.batches = new Batches(link, () -> Long.toString(book.rules().version()));
    this.charges = new Charges(link, book, counts, node);
    this.shares = new Shares(nodes, book.rules(), this::serverNanos);
  }

  private static Thread thread(Runnable work) {
    Thread thread = new Thread(work, "sluice-redis-pulse");
    thread.setDaemon(true);
    return thread;
  }

  /** Begins; returns when Redis decides, or has been tried in vain. */
  void start() {
    timer.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    timer.execute(this::beat);
    try {
      if (!settled.await(OPEN_MILLIS, TimeUnit.MILLISECONDS) || !link.isAvailable()) {
        timer.execute(this::startAlone);
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private void startAlone() {
    if (!link.isAvailable()) {
      outage = true;
      counts.outages.increment();
      tell(new LimitsEvent.Lost(trouble, nodes));
    }
  }

  RedisLink link() {
    return link;
  }

  RuleBook book() {
    return book;
  }

  Batches batches() {
    return batches;
  }

  KeySpace space() {
    return space;
  }

  Counts counts() {
    return counts;
  }

  boolean isCluster() {
    return cluster;
  }

  /** What this node may grant by itself; null while Redis decides. */
  @Nullable Shares shares() {
    return shares;
  }

  /** What the clock of Redis shows, as far as it is known. */
  private long serverNanos() {
    return System.nanoTime() + offsetNanos;
  }

  /** What has to agree with Redis for a while after an outage; null if nothing has to. */
  @Nullable Shares gate() {
    return gate;
  }

  /**
   * Whether Redis alone decides. Otherwise this node's share does too, and blocks are left alone:
   * what a share saves up and a block together may be more than the limit.
   */
  boolean isCalm() {
    return shares == null && gate == null;
  }

  LimitsStatus status() {
    return counts.status(link.isAvailable(), liveNodes);
  }

  /** Reads the rules now; if that fails, the next pulse does. */
  @SuppressWarnings("FutureReturnValueIgnored")
  void refreshRules() {
    if (refreshing.compareAndSet(false, true)) {
      book.refresh().whenComplete((done, failure) -> refreshing.set(false));
    }
  }

  private void rulesChanged(Rules rules) {
    for (@Nullable Shares each : new @Nullable Shares[] {shares, gate}) {
      if (each != null) {
        each.follow(rules);
      }
    }
    // One message for many changes in a row: each lists all rules.
    if (toldOfRules.compareAndSet(true, false)) {
      later(this::tellOfRules);
    }
  }

  private void tellOfRules() {
    toldOfRules.set(true);
    Rules rules = book.confirmed();
    config.listener().onRules(rules.list(), rules.version());
  }

  private void tell(LimitsEvent event) {
    LOG.debug("shared limits: {}", event);
    later(() -> config.listener().onEvent(event));
  }

  private void later(Runnable message) {
    timer.execute(
        () -> {
          try {
            message.run();
          } catch (RuntimeException failure) {
            LOG.warn("a listener of shared limits failed", failure);
          }
        });
  }

  @SuppressWarnings("FutureReturnValueIgnored") // it goes on with the next one
  private void beat() {
    boolean connected = link.isConnected();
    CompletableFuture<Void> step = connected ? pulse() : link.reconnect(CONNECT_MILLIS);
    step.whenComplete((done, failure) -> timer.execute(() -> next(connected, failure)));
  }

  private void next(boolean connected, @Nullable Throwable failure) {
    long now = System.nanoTime();
    if (failure == null) {
      answeredNanos = now;
    } else if (!connected) {
      noteTrouble(failure);
    } else if (now - answeredNanos > staleNanos && !RedisLink.isRefusal(failure)) {
      answeredNanos = now;
      link.drop();
    }
    if (failure != null && connected && cluster && !RedisLink.isRefusal(failure)) {
      link.lose(String.valueOf(RedisLink.rootOf(failure)));
    }
    if (link.isAvailable() || (failure != null && !connected)) {
      settled.countDown();
    }
    if (failure != null) {
      again(PROBE_MILLIS);
    } else {
      again(connected ? PULSE_MILLIS : 0);
    }
  }

  /** Why there is no connection; a wrong password, for one, is not a matter of time. */
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
              count((int) Math.max(config.expectedNodes(), Call.number(answer, 0)));
              liveNodes = (int) Call.number(answer, LIVE_AT);
              offsetNanos = Call.number(answer, 2) * NANOS_PER_MICRO - System.nanoTime();
              return book.sync(Call.number(answer, 1), Call.number(answer, 3));
            })
        .thenCompose(synced -> link.isAvailable() ? CompletableFuture.allOf() : link.load())
        // Where one part of a cluster does not answer the others go on.
        .thenComposeAsync(
            loaded ->
                cluster ? charges.sendAgain().exceptionally(lost -> null) : charges.sendAgain(),
            timer)
        .thenComposeAsync(charged -> mayComeBack() ? settleUp() : CompletableFuture.allOf(), timer)
        .thenRunAsync(
            () -> {
              if (mayComeBack()) {
                comeBack();
              }
            },
            timer);
  }

  private CompletableFuture<List<Object>> pulse(String what) {
    String[] keys = {space.nodes(), space.rules()};
    String[] arguments = {node, Long.toString(DEAD_MICROS), Long.toString(FORGOTTEN_MICROS), what};
    return link.probe(Script.PULSE, keys, arguments);
  }

  /** Redis answers; if only a part of it was lost, that has not failed for a while. */
  private boolean mayComeBack() {
    return !link.isAvailable() || (inPart && System.nanoTime() - failedNanos > PART_CALM_NANOS);
  }

  /** Charges what this node has granted so far, so that little is left when it returns. */
  private CompletableFuture<Void> settleUp() {
    @Nullable Shares local = shares;
    if (local == null) {
      return CompletableFuture.allOf();
    }
    List<Shares.Charge> some = local.drain(Charges.AT_ONCE);
    CompletableFuture<Void> charged = charges.send(some);
    return some.size() < Charges.AT_ONCE
        ? charged
        : charged.thenComposeAsync(done -> settleUp(), timer);
  }

  /** Soon after its return Redis may have forgotten nodes that live. */
  private void count(int live) {
    long sinceNanos = System.nanoTime() - returnedNanos;
    boolean settled = sinceNanos > TimeUnit.MICROSECONDS.toNanos(DEAD_MICROS);
    if (live >= nodes || (settled && link.isAvailable())) {
      nodes = live;
    }
  }

  /** Redis decides from now on: after it was told to charge what was granted meanwhile. */
  private void comeBack() {
    @Nullable Shares local = shares;
    if (local == null) {
      return;
    }
    @Nullable Shares next = outage && !inPart && local.nodes() > 1 ? local.gate() : null;
    local.close(
        rest -> {
          // Redis does what comes over one connection in order, so these come first. What is not
          // confirmed is sent again.
          CompletableFuture<Void> sent = charges.send(rest);
          sent.isDone();
          if (outage) {
            tell(returned(local.totals()));
          }
          outage = false;
          inPart = false;
          gate = next;
          shares = null;
          link.returned();
        });
    returnedNanos = System.nanoTime();
    if (next != null) {
      settleLater(next, SETTLE_TRIES);
    }
  }

  /** Opens the gate when the others have returned, and what this node owed is charged. */
  @SuppressWarnings("FutureReturnValueIgnored") // nobody waits for it
  private void settleLater(Shares mine, int tries) {
    timer.schedule(
        () -> {
          if (gate != mine) {
            return;
          }
          if (charges.isSettled() || tries == 0) {
            gate = null;
          } else {
            settleLater(mine, tries - 1);
          }
        },
        SETTLE_MILLIS,
        TimeUnit.MILLISECONDS);
  }

  private LimitsEvent returned(Shares.Totals all) {
    Duration away = Duration.ofNanos(System.nanoTime() - lostNanos);
    return new LimitsEvent.Returned(away, all.keys(), all.granted(), all.charged());
  }

  @Override
  public void lost(String cause) {
    lostNanos = System.nanoTime();
    counts.outages.increment();
    outage = true;
    gate = null;
    inPart = false;
    beginShares();
    tell(new LimitsEvent.Lost(cause, nodes));
    timer.execute(this::beatNow);
  }

  private void beginShares() {
    if (shares == null) {
      Shares next = new Shares(nodes, book.rules(), this::serverNanos);
      shares = next;
      next.follow(book.rules()); // if they have just changed
    }
  }

  @Override
  public void failed(String cause) {
    failedNanos = System.nanoTime();
    if (shares == null) {
      timer.execute(() -> link.whileAvailable(() -> loseInPart(cause)));
    }
  }

  /** What Redis does not answer is decided by shares, the rest goes on. */
  private void loseInPart(String cause) {
    if (shares == null) {
      lostNanos = System.nanoTime();
      counts.outages.increment();
      outage = true;
      inPart = true;
      gate = null;
      beginShares();
      tell(new LimitsEvent.Lost("a part of the cluster: " + cause, nodes));
    }
  }

  @Override
  public void refused(String error) {
    long now = System.nanoTime();
    if (now - refusedNanos >= MIN_STALE_NANOS) {
      refusedNanos = now;
      LOG.warn("shared limits: Redis refused: {}", error);
      tell(new LimitsEvent.Refused(error));
    }
  }

  boolean isClosed() {
    return closed.get();
  }

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
