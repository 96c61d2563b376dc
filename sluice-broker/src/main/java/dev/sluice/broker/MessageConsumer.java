package dev.sluice.broker;

import dev.sluice.broker.engine.ConsumerState;
import dev.sluice.broker.engine.PendingDelivery;
import dev.sluice.broker.engine.PrefetchBudget;
import dev.sluice.broker.runtime.BrokerRuntime;
import dev.sluice.broker.runtime.PendingCalls;
import dev.sluice.broker.store.Checks;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Somebody who takes messages from a queue: by asking for them, or by being called.
 *
 * <p>Thread-safe. A consumer that is slow holds up nobody else: it has its credit, and what it does
 * not settle in time goes to others. When it is closed, what it has not settled goes back at once.
 *
 * @since 0.1
 */
public final class MessageConsumer implements AutoCloseable {
  private static final Duration LONGEST = Duration.ofDays(365);

  /** What is read at once; of larger messages one. Much more than a usual batch has. */
  private static final long MAX_READ_BYTES = 8L << 20;

  private final Broker broker;
  private final BrokerRuntime machinery;
  private final String queue;
  private final @Nullable Handler handler;
  private final Executor executor;
  private final CompletableFuture<ConsumerState> subscriber;
  private final PrefetchBudget bodies;
  private final Mailbox mailbox = new Mailbox();

  /** Called with messages, one call at a time. */
  @FunctionalInterface
  public interface Handler {
    /**
     * Takes messages; each is to be settled, now or later.
     *
     * @param deliveries the messages, at least one
     */
    void handle(List<Delivery> deliveries);

    /**
     * Called before messages are read, one call at a time: may wait until there is room for them,
     * or close the consumer if there is none.
     *
     * @param waitingBytes about how many bytes the messages have that wait
     * @return how many bytes it takes now; one message is read in any case
     */
    default long payloadBudget(long waitingBytes) {
      return MAX_READ_BYTES;
    }

    /**
     * Returns whether this handler forwards messages to another receiver, such as a socket, and
     * calls {@link Delivery#markForwarded} right before it forwards one. A message then counts as
     * delivered from that call on; otherwise from the call of {@link #handle} on.
     *
     * @return false unless overridden
     */
    default boolean forwards() {
      return false;
    }

    /**
     * Nothing will come any more: the queue was deleted, or the broker has ended. Not called when
     * the consumer is closed by its owner.
     *
     * @param why what happened
     */
    default void ended(BrokerException why) {}
  }

  /** What has arrived and nobody has taken yet. */
  private final class Mailbox implements ConsumerState.DeliveryTarget {
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition arrived = lock.newCondition();

    // Guarded by lock.
    private final Deque<PendingDelivery> waiting = new ArrayDeque<>();
    private long waitingBytes;
    private @Nullable BrokerException end;
    private boolean handling;

    @Override
    public void deliver(List<PendingDelivery> batch) {
      lock.lock();
      try {
        if (end != null) {
          return;
        }
        batch.forEach(this::add);
        arrived.signalAll();
        if (handler == null || handling) {
          return;
        }
        handling = true;
      } finally {
        lock.unlock();
      }
      executor.execute(MessageConsumer.this::handleAll);
    }

    /** A body that finds no room is read when somebody takes the message. */
    private void add(PendingDelivery handover) {
      waiting.add(bodies.admit(handover));
      waitingBytes += handover.entry().bytes;
    }

    private @Nullable PendingDelivery poll() {
      PendingDelivery next = waiting.poll();
      if (next != null) {
        waitingBytes -= next.entry().bytes;
        bodies.give(next.bodyBytes());
      }
      return next;
    }

    @Override
    public void closed(BrokerException why) {
      if (close(why) && handler != null) {
        executor.execute(() -> BrokerRuntime.fenced(() -> handler.ended(why)));
      }
    }

    /** Returns whether it was open. */
    boolean close(BrokerException why) {
      lock.lock();
      try {
        if (end != null) {
          return false;
        }
        end = why;
        while (poll() != null) {
          // Somebody else gets it.
        }
        arrived.signalAll();
        return true;
      } finally {
        lock.unlock();
      }
    }

    List<PendingDelivery> take(int most, long waitNanos) throws InterruptedException {
      lock.lockInterruptibly();
      try {
        long left = waitNanos;
        for (; ; ) {
          if (end != null) {
            throw new BrokerException(end.code(), end.getMessage(), end.getCause());
          }
          List<PendingDelivery> taken = drain(most, MAX_READ_BYTES);
          if (!taken.isEmpty() || left <= 0) {
            return taken;
          }
          left = arrived.awaitNanos(left);
        }
      } finally {
        lock.unlock();
      }
    }

    long waitingBytes() {
      lock.lock();
      try {
        return waitingBytes;
      } finally {
        lock.unlock();
      }
    }

    /** For the handler; when nothing is left, it has to be called again. */
    List<PendingDelivery> takeForHandler(long maxBytes) {
      lock.lock();
      try {
        List<PendingDelivery> taken = drain(Integer.MAX_VALUE, maxBytes);
        handling = !taken.isEmpty();
        return taken;
      } finally {
        lock.unlock();
      }
    }

    /** Those whose lease has ended before anybody took them make room for others. */
    private List<PendingDelivery> drain(int most, long maxBytes) {
      List<PendingDelivery> taken = new ArrayList<>(Math.min(most, waiting.size()));
      long left = maxBytes;
      int ended = 0;
      while (taken.size() < most && (taken.isEmpty() || fits(left))) {
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

  public MessageConsumer(
      Broker broker,
      BrokerRuntime machinery,
      String queue,
      @Nullable Handler handler,
      Executor executor,
      CompletableFuture<ConsumerState> subscriber,
      PrefetchBudget bodies) {
    this.broker = broker;
    this.machinery = machinery;
    this.queue = queue;
    this.handler = handler;
    this.executor = executor;
    this.subscriber = subscriber;
    this.bodies = bodies;
  }

  public ConsumerState.DeliveryTarget outlet() {
    return mailbox;
  }

  /**
   * The queue it takes from.
   *
   * @return the name
   */
  public String queue() {
    return queue;
  }

  /**
   * Waits for messages.
   *
   * @param most how many at the most, at least 1; fewer come if they are large
   * @param timeout how long to wait for the first
   * @return what was there; empty when the time was over
   * @throws InterruptedException if interrupted while it waited; nothing is lost
   * @throws BrokerException if the consumer is closed or its queue is deleted
   */
  public List<Delivery> poll(int most, Duration timeout) throws InterruptedException {
    Checks.requireBetween("most", most, 1, Integer.MAX_VALUE);
    requirePull();
    long left = nanos(timeout);
    long deadline = System.nanoTime() + left;
    for (; ; ) {
      List<PendingDelivery> taken = mailbox.take(most, left);
      List<Delivery> deliveries = read(taken);
      left = deadline - System.nanoTime();
      // What was settled otherwise before it was read is nobody's any more.
      if (!deliveries.isEmpty() || taken.isEmpty()) {
        return deliveries;
      }
    }
  }

  /**
   * Waits for a message, as long as it takes.
   *
   * @return the message
   * @throws InterruptedException if interrupted while it waited; nothing is lost
   * @throws BrokerException if the consumer is closed or its queue is deleted
   */
  public Delivery take() throws InterruptedException {
    for (; ; ) {
      List<Delivery> taken = poll(1, Duration.ofDays(1));
      if (!taken.isEmpty()) {
        return taken.get(0);
      }
    }
  }

  private static long nanos(Duration timeout) {
    if (timeout.isNegative()) {
      return 0;
    }
    return timeout.compareTo(LONGEST) > 0 ? LONGEST.toNanos() : timeout.toNanos();
  }

  private void requirePull() {
    if (handler != null) {
      throw new IllegalStateException("this consumer is called with its messages: queue=" + queue);
    }
  }

  private void handleAll() {
    for (List<PendingDelivery> taken = mailbox.takeForHandler(room());
        !taken.isEmpty();
        taken = mailbox.takeForHandler(room())) {
      List<PendingDelivery> batch = taken;
      BrokerRuntime.fenced(() -> handle(read(batch)));
    }
  }

  /**
   * Reads messages. A consumer that says itself when it wants more does not learn of those that are
   * gone or cannot be read, so it gets their credit back.
   */
  private List<Delivery> read(List<PendingDelivery> taken) {
    List<Delivery> deliveries = List.of();
    try {
      deliveries = machinery.read(broker, taken);
      return deliveries;
    } finally {
      int missing = taken.size() - deliveries.size();
      if (missing > 0 && !PendingCalls.await(subscriber).renewsCredit) {
        giveCredit(missing);
      }
    }
  }

  private long room() {
    long waiting = mailbox.waitingBytes();
    long[] room = {MAX_READ_BYTES};
    if (handler != null && waiting > 0) {
      BrokerRuntime.fenced(() -> room[0] = handler.payloadBudget(waiting));
    }
    return room[0];
  }

  private void handle(List<Delivery> deliveries) {
    if (handler != null && !deliveries.isEmpty()) {
      handler.handle(deliveries);
    }
  }

  /**
   * Lets the broker send more messages. Needed only by a consumer that was opened without a
   * prefetch: others get as many as they settle.
   *
   * @param messages how many more, from 1 to 1,000,000
   */
  public void addCredit(int messages) {
    Checks.requireBetween("messages", messages, 1, 1_000_000);
    machinery.calls.requireOpen();
    giveCredit(messages);
  }

  private void giveCredit(int messages) {
    ConsumerState known = PendingCalls.await(subscriber);
    machinery.input(engine -> engine.dispatch.give(known, messages));
  }

  /** The broker is gone. */
  public void end(BrokerException why) {
    mailbox.closed(why);
  }

  /**
   * Takes no more messages. Those it has not settled go back to where they were; those that were
   * never delivered also return the tokens of their throttle keys.
   */
  @Override
  public void close() {
    ConsumerState known = leave();
    machinery.input(engine -> engine.dispatch.close(known, null));
  }

  /**
   * Takes no more messages, but may settle those it has been given until it is closed. Messages
   * that were not delivered go back to where they were, with the tokens of their throttle keys.
   *
   * @return done when nothing more will be delivered: {@link Delivery#markForwarded} is false from
   *     then on
   */
  public CompletableFuture<Void> drain() {
    ConsumerState known = PendingCalls.await(subscriber);
    return machinery.call((engine, call) -> engine.dispatch.drain(known, call));
  }

  /**
   * Takes no more messages; those that were delivered stay leased until they are settled by their
   * ids, or their leases expire. Those that were never delivered go back to where they were, with
   * the tokens of their throttle keys.
   */
  public void detach() {
    ConsumerState known = leave();
    machinery.input(engine -> engine.dispatch.detach(known));
  }

  private ConsumerState leave() {
    mailbox.close(
        new BrokerException(
            BrokerException.Code.CONSUMER_CLOSED, "the consumer is closed: queue=" + queue));
    machinery.forget(this);
    return PendingCalls.await(subscriber);
  }
}
