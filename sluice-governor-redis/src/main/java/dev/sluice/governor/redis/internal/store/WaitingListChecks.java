package dev.sluice.governor.redis.internal.store;

import dev.sluice.governor.spi.StoreTimer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Checks the waiting list of a model in Redis at the time that the last reply or notice named, even
 * if other nodes do so too: Redis grants waiters. A thorough check also polls every ticket that is
 * awaited here, which replaces lost notices and keeps the tickets from being abandoned.
 * Thread-safe.
 */
final class WaitingListChecks {
  /** The delay before the next check when Redis does not answer. */
  private static final long RETRY_NANOS = TimeUnit.SECONDS.toNanos(1);

  private static final int PORTION = 500; // tickets of a call, which must not block others

  // A node polls at most a thousand tickets a second, however often it checks.
  private static final long PER_TICKET_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

  /** After longer silence the scripts assume an outage: {@code MAX_SILENCE}. */
  private static final long MAX_CHECK_NANOS = TimeUnit.SECONDS.toNanos(1);

  private static final long MIN_THOROUGH_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
  private static final int CHECKS_PER_TIMEOUT = 3;

  private final ModelScripts scripts;
  private final StoreTimer timer;
  private final LongSupplier spreadNanos;
  private final TicketWaiters waiters;
  private final Updates updates;
  private final WakeUpTimer next;

  // Guarded by this.
  private boolean hasWaiters;
  private boolean checking;
  private boolean checkAgain;
  private boolean checkedThoroughly;
  private long thoroughAt;
  private volatile boolean closed;

  /** Receives the replies about awaited tickets. */
  interface Updates {
    /** Handles the reply to a call with that number, at a time of Redis. */
    void update(String id, ScriptReply reply, long micros, long sequence);
  }

  WaitingListChecks(
      ModelScripts scripts,
      StoreTimer timer,
      LongSupplier spreadNanos,
      TicketWaiters waiters,
      Updates updates) {
    this.scripts = scripts;
    this.timer = timer;
    this.spreadNanos = spreadNanos;
    this.waiters = waiters;
    this.updates = updates;
    this.next = new WakeUpTimer(timer, this::check);
  }

  /**
   * Schedules checks after a reply or a notice.
   *
   * @param waiting whether tickets may wait
   * @param micros the time until the next check; negative for none
   */
  void received(boolean waiting, long micros) {
    synchronized (this) {
      hasWaiters = waiting;
    }
    if (micros >= 0) {
      long nanos = TimeUnit.MICROSECONDS.toNanos(micros);
      within(micros == 0 ? 0 : nanos + spreadNanos.getAsLong());
    }
    if (micros >= 0 || waiters.size() > 0) {
      within(Math.min(MAX_CHECK_NANOS, maxThoroughNanos()));
    }
  }

  /** Checks again in a while: Redis has not answered. */
  void retry() {
    within(RETRY_NANOS);
  }

  private long maxThoroughNanos() {
    long idleTimeout = ModelScriptConfig.micros(scripts.config().waitingList().ticketIdleTimeout());
    return TimeUnit.MICROSECONDS.toNanos(Math.max(1, idleTimeout / CHECKS_PER_TIMEOUT));
  }

  private void within(long nanos) {
    if (!closed) {
      next.by(nanos);
    }
  }

  /** Checks now. */
  void check() {
    List<CompletableFuture<?>> calls = new ArrayList<>();
    boolean thorough;
    synchronized (this) {
      if (closed || (!hasWaiters && waiters.size() == 0)) {
        return;
      }
      if (checking) {
        checkAgain = true;
        return;
      }
      checking = true;
      long now = timer.nanoTime();
      thorough = !checkedThoroughly || now - thoroughAt >= thoroughNanos();
      if (thorough) {
        checkedThoroughly = true;
        thoroughAt = now;
      }
      // Before the ids: if a caller leaves in between, its call has the higher number.
      long sequence = waiters.nextSequence();
      List<String> ids = thorough ? waiters.ids() : List.of();
      for (int from = 0; from == 0 || from < ids.size(); from += PORTION) {
        calls.add(tick(sequence, ids.subList(from, Math.min(from + PORTION, ids.size()))));
      }
    }
    var unused =
        CompletableFuture.allOf(calls.toArray(CompletableFuture<?>[]::new))
            .whenComplete((done, failure) -> checked(thorough, failure));
  }

  private long thoroughNanos() {
    long nanos = Math.max(MIN_THOROUGH_NANOS, waiters.size() * PER_TICKET_NANOS);
    return Math.min(nanos, maxThoroughNanos());
  }

  private CompletableFuture<Void> tick(long sequence, List<String> ids) {
    List<String> arguments = new ArrayList<>(List.of("tick", Long.toString(sequence)));
    arguments.addAll(ids);
    return scripts
        .call(GovernorScript.TICKET, arguments.toArray(String[]::new))
        .thenAccept(
            answer ->
                answer
                    .result()
                    .lists()
                    .forEach(
                        each -> updates.update(each.text(1), each, answer.micros(), sequence)));
  }

  private void checked(boolean thorough, @Nullable Throwable failure) {
    boolean again;
    long untilThorough;
    synchronized (this) {
      again = checkAgain;
      checkAgain = false;
      checking = false;
      untilThorough = Math.max(0, thoroughAt + thoroughNanos() - timer.nanoTime());
    }
    if (failure != null) {
      retry();
    } else if (again) {
      within(0);
    } else if (!thorough && waiters.size() > 0) {
      within(untilThorough);
    }
  }

  void close() {
    closed = true;
  }
}
