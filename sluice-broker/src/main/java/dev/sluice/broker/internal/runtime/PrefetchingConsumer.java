package dev.sluice.broker.internal.runtime;

import dev.sluice.broker.Broker;
import dev.sluice.broker.BrokerException;
import dev.sluice.broker.Delivery;
import dev.sluice.broker.MessageConsumer;
import dev.sluice.broker.internal.engine.ConsumerState;
import dev.sluice.broker.internal.engine.PendingDelivery;
import dev.sluice.broker.internal.util.Checks;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Keeps delivered messages in a mailbox until they are polled or handled.
 *
 * <p>The mailbox has a lock of its own, under which no code of users runs. Messages whose leases
 * ended in the mailbox are dropped when they are polled, and renew the credit then.
 *
 * <p>A handler has a thread while it is {@linkplain Handling#RUNNING running}. A consumer for which
 * the system refuses a thread ends: messages that it has not received go to others.
 */
final class PrefetchingConsumer implements MessageConsumer {
  private static final System.Logger LOG = System.getLogger(Broker.class.getName());
  private static final Duration MAX_WAIT = Duration.ofDays(365);

  /** The activity of the handler. */
  private enum Handling {
    /** It is called when messages arrive. */
    IDLE,
    /** A thread calls it until no messages wait or it takes none. */
    RUNNING,
    /** It is called when it is resumed. */
    PAUSED
  }

  private final Broker broker;
  private final String queue;
  private final @Nullable Handler handler;
  private final CompletableFuture<ConsumerState> state;
  private final EngineCalls engine;
  private final ConsumerRegistry registry;
  private final Mailbox mailbox = new Mailbox();

  /** Messages that were delivered and not polled yet. */
  private final class Mailbox implements ConsumerState.DeliveryTarget {
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition arrived = lock.newCondition();

    // Guarded by lock.
    private final Deque<PendingDelivery> waiting = new ArrayDeque<>();
    private long waitingBytes;
    private @Nullable BrokerException end;
    private Handling handling = Handling.IDLE;

    /** Whether the handler was resumed since it was last asked for its budget. */
    private boolean resumed;

    @Override
    public void deliver(List<PendingDelivery> batch) {
      lock.lock();
      try {
        if (end != null) {
          return;
        }
        batch.forEach(this::add);
        arrived.signalAll();
        if (handler == null || handling != Handling.IDLE) {
          return;
        }
        handling = Handling.RUNNING;
      } finally {
        lock.unlock();
      }
      startHandling();
    }

    void resume() {
      lock.lock();
      try {
        resumed = true;
        if (handling != Handling.PAUSED || end != null) {
          return;
        }
        handling = Handling.RUNNING;
      } finally {
        lock.unlock();
      }
      startHandling();
    }

    /**
     * Returns the size of the messages that wait, for which the handler is to be asked; empty if
     * there are none: the handler is then called again when messages arrive.
     */
    OptionalLong beginRound() {
      lock.lock();
      try {
        resumed = false;
        if (waiting.isEmpty()) {
          handling = Handling.IDLE;
          return OptionalLong.empty();
        }
        return OptionalLong.of(waitingBytes);
      } finally {
        lock.unlock();
      }
    }

    /** The handler takes no messages; returns false if it has been resumed meanwhile. */
    boolean pause() {
      lock.lock();
      try {
        handling = resumed ? Handling.RUNNING : Handling.PAUSED;
        return !resumed;
      } finally {
        lock.unlock();
      }
    }

    /**
     * Drops the payload if the prefetch budget is used up; it is read when the message is polled.
     */
    private void add(PendingDelivery leased) {
      waiting.add(registry.prefetched().reserve(leased));
      waitingBytes += leased.entry().bytes;
    }

    private @Nullable PendingDelivery poll() {
      PendingDelivery next = waiting.poll();
      if (next != null) {
        waitingBytes -= next.entry().bytes;
        registry.prefetched().release(next.bodyBytes());
      }
      return next;
    }

    @Override
    public void closed(BrokerException reason) {
      if (close(reason) && handler != null) {
        registry.notifyEnded(() -> handler.ended(reason));
      }
    }

    /** Returns whether it was open. */
    boolean close(BrokerException reason) {
      lock.lock();
      try {
        if (end != null) {
          return false;
        }
        end = reason;
        while (poll() != null) {
          // Returns the bytes to the prefetch budget.
        }
        arrived.signalAll();
        return true;
      } finally {
        lock.unlock();
      }
    }

    List<PendingDelivery> take(int max, long waitNanos) throws InterruptedException {
      lock.lockInterruptibly();
      try {
        long left = waitNanos;
        for (; ; ) {
          if (end != null) {
            throw new BrokerException(end.code(), end.getMessage(), end.getCause());
          }
          List<PendingDelivery> taken = drain(max, Handler.DEFAULT_PAYLOAD_BUDGET);
          if (!taken.isEmpty() || left <= 0) {
            return taken;
          }
          left = arrived.awaitNanos(left);
        }
      } finally {
        lock.unlock();
      }
    }

    /** Returns messages for the handler; none if the leases of all have ended. */
    List<PendingDelivery> takeForHandler(long maxBytes) {
      lock.lock();
      try {
        return drain(Integer.MAX_VALUE, maxBytes);
      } finally {
        lock.unlock();
      }
    }

    /** Drops messages whose leases have ended, and renews their credit. */
    private List<PendingDelivery> drain(int max, long maxBytes) {
      List<PendingDelivery> taken = new ArrayList<>(Math.min(max, waiting.size()));
      long left = maxBytes;
      int ended = 0;
      while (taken.size() < max && (taken.isEmpty() || fits(left))) {
        PendingDelivery next = poll();
        if (next == null) {
          break;
        }
        if (forwards() ? next.lease().claim() : next.lease().receive()) {
          taken.add(next);
          left -= next.entry().bytes;
        } else {
          ended++;
        }
      }
      if (ended > 0) {
        giveCredit(ended);
      }
      return taken;
    }

    private boolean forwards() {
      return handler != null && handler.forwards();
    }

    private boolean fits(long left) {
      PendingDelivery next = waiting.peek();
      return next != null && next.entry().bytes <= left;
    }
  }

  PrefetchingConsumer(
      Broker broker,
      String queue,
      @Nullable Handler handler,
      CompletableFuture<ConsumerState> state,
      EngineCalls engine,
      ConsumerRegistry registry) {
    this.broker = broker;
    this.queue = queue;
    this.handler = handler;
    this.state = state;
    this.engine = engine;
    this.registry = registry;
  }

  /** Returns the mailbox. */
  ConsumerState.DeliveryTarget target() {
    return mailbox;
  }

  @Override
  public String queue() {
    return queue;
  }

  @Override
  public List<Delivery> poll(int maxMessages, Duration maxWait) throws InterruptedException {
    Checks.requireBetween("maxMessages", maxMessages, 1, Integer.MAX_VALUE);
    requirePull();
    long left = nanos(maxWait);
    long deadline = System.nanoTime() + left;
    for (; ; ) {
      List<PendingDelivery> taken = mailbox.take(maxMessages, left);
      List<Delivery> deliveries = read(taken);
      left = deadline - System.nanoTime();
      // Messages that were settled before they were read are dropped.
      if (!deliveries.isEmpty() || taken.isEmpty()) {
        return deliveries;
      }
    }
  }

  @Override
  public Delivery take() throws InterruptedException {
    for (; ; ) {
      List<Delivery> taken = poll(1, Duration.ofDays(1));
      if (!taken.isEmpty()) {
        return taken.get(0);
      }
    }
  }

  private static long nanos(Duration maxWait) {
    if (maxWait.isNegative()) {
      return 0;
    }
    return maxWait.compareTo(MAX_WAIT) > 0 ? MAX_WAIT.toNanos() : maxWait.toNanos();
  }

  private void requirePull() {
    if (handler != null) {
      throw new IllegalStateException("a consumer with a handler cannot poll: queue=" + queue);
    }
  }

  private void startHandling() {
    Throwable noThread = registry.tryRun(this::handleAll);
    if (noThread != null) {
      giveUp(noThread);
    }
  }

  /**
   * Ends the consumer, for which there is no thread, and redelivers messages that it has not
   * received. The others stay leased unless the handler closes or detaches the consumer when it is
   * notified of the end.
   */
  private void giveUp(Throwable noThread) {
    BrokerException reason =
        new BrokerException(
            BrokerException.Code.CONSUMER_CLOSED,
            "the consumer was closed because no thread could be started: queue=%s, reason=%s"
                .formatted(queue, noThread.getMessage()));
    LOG.log(System.Logger.Level.WARNING, reason.getMessage());
    registry.remove(this);
    if (!mailbox.close(reason)) {
      return;
    }
    whenOpened(known -> engine.submit(m -> m.dispatcher.drain(known, new CompletableFuture<>())));
    registry.notifyEnded(
        () -> {
          if (handler != null) {
            CallbackExecutor.guarded(() -> handler.ended(reason));
          }
          whenOpened(known -> engine.submit(machine -> machine.dispatcher.detach(known)));
        });
  }

  /** Does not wait: the thread at hand may be the one that opens the consumer. */
  @SuppressWarnings("FutureReturnValueIgnored") // a consumer that was not opened has no messages
  private void whenOpened(Consumer<ConsumerState> then) {
    state.thenAccept(then);
  }

  private void handleAll() {
    for (List<PendingDelivery> taken = nextForHandler();
        !taken.isEmpty();
        taken = nextForHandler()) {
      List<PendingDelivery> batch = taken;
      CallbackExecutor.guarded(() -> handle(read(batch)));
    }
  }

  /**
   * Returns messages for the handler; none ends the thread that calls it. The handler is asked for
   * its budget before each batch: one that is not ready gets no messages that arrive meanwhile.
   */
  private List<PendingDelivery> nextForHandler() {
    for (; ; ) {
      OptionalLong waiting = mailbox.beginRound();
      if (waiting.isEmpty()) {
        return List.of();
      }
      long budget = payloadBudget(waiting.getAsLong());
      if (budget != Handler.NOT_NOW) {
        List<PendingDelivery> taken = mailbox.takeForHandler(budget);
        if (!taken.isEmpty()) {
          return taken;
        }
      } else if (mailbox.pause()) {
        return List.of();
      }
    }
  }

  /**
   * Reads messages. A consumer that manages its credit itself does not see messages that were
   * removed or cannot be read, so their credit is returned to it.
   */
  private List<Delivery> read(List<PendingDelivery> taken) {
    List<Delivery> deliveries = List.of();
    try {
      deliveries = registry.reader().read(broker, taken);
      return deliveries;
    } finally {
      int missing = taken.size() - deliveries.size();
      if (missing > 0 && !PendingCalls.await(state).renewsCredit) {
        giveCredit(missing);
      }
    }
  }

  private long payloadBudget(long waiting) {
    // A handler that fails to answer gets one message at a time.
    long[] budget = {0};
    if (handler != null) {
      CallbackExecutor.guarded(() -> budget[0] = handler.payloadBudget(waiting));
    }
    return budget[0];
  }

  private void handle(List<Delivery> deliveries) {
    if (handler != null && !deliveries.isEmpty()) {
      handler.handle(deliveries);
    }
  }

  @Override
  public void addCredit(int messages) {
    Checks.requireBetween("messages", messages, 1, 1_000_000);
    engine.requireOpen();
    giveCredit(messages);
  }

  private void giveCredit(int messages) {
    ConsumerState known = PendingCalls.await(state);
    engine.submit(machine -> machine.dispatcher.addCredit(known, messages));
  }

  /** Reports that the broker has ended. */
  void end(BrokerException reason) {
    mailbox.closed(reason);
  }

  @Override
  public void resume() {
    mailbox.resume();
  }

  @Override
  public void close() {
    ConsumerState known = leave();
    engine.submit(machine -> machine.dispatcher.close(known, null));
  }

  @Override
  public CompletableFuture<Void> drain() {
    ConsumerState known = PendingCalls.await(state);
    return engine.call((machine, call) -> machine.dispatcher.drain(known, call));
  }

  @Override
  public void detach() {
    ConsumerState known = leave();
    engine.submit(machine -> machine.dispatcher.detach(known));
  }

  private ConsumerState leave() {
    mailbox.close(
        new BrokerException(
            BrokerException.Code.CONSUMER_CLOSED, "the consumer is closed: queue=" + queue));
    registry.remove(this);
    return PendingCalls.await(state);
  }
}
