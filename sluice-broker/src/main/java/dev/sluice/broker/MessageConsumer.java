package dev.sluice.broker;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * Receives messages of a queue: by {@link #poll} and {@link #take}, or by a {@link Handler}.
 *
 * <p>Thread-safe. A slow consumer does not delay others: it receives messages only as long as it
 * has credit, and messages that it does not settle in time go to others.
 *
 * <p>Implemented by Sluice only; may gain methods.
 *
 * @since 0.1
 */
public interface MessageConsumer extends AutoCloseable {
  /** Receives messages on a thread of the broker, which it may block; one call at a time. */
  @FunctionalInterface
  interface Handler {
    /** The bytes of messages that are read at once unless a handler decides otherwise: 8 MiB. */
    long DEFAULT_PAYLOAD_BUDGET = 8L << 20;

    /**
     * A payload budget with which no message is read before {@link MessageConsumer#resume}. Not a
     * number that handlers compute: with 0 bytes left, one message is read.
     */
    long NOT_NOW = Long.MIN_VALUE;

    /**
     * Handles messages; each is to be settled, now or later. Exceptions are logged, and the
     * messages stay leased.
     *
     * @param deliveries the messages, at least one
     */
    void handle(List<Delivery> deliveries);

    /**
     * Returns how many bytes of messages to read next. May block until there is memory, or close
     * the consumer if there is none. A handler that cannot take messages for long, because its own
     * receiver is slow, returns {@link #NOT_NOW} and so holds no thread while it waits.
     *
     * <p>Exceptions are logged, and one message is read.
     *
     * @param waitingBytes the approximate size of the messages that wait
     * @return a number of bytes, with which at least one message is read; or {@link #NOT_NOW}
     */
    default long payloadBudget(long waitingBytes) {
      return DEFAULT_PAYLOAD_BUDGET;
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
     * Called when no more messages will come, because the queue was deleted or the broker has
     * ended. Not called when the consumer is closed by its owner.
     *
     * @param reason why the consumer has ended
     */
    default void ended(BrokerException reason) {}
  }

  /**
   * Returns the queue that the consumer receives from.
   *
   * @return the name of the queue
   */
  String queue();

  /**
   * Blocks until there are messages.
   *
   * @param maxMessages the most messages to return, at least 1; large messages come in smaller
   *     batches
   * @param maxWait how long to wait for the first message
   * @return the messages; empty if none came in time
   * @throws InterruptedException if interrupted while waiting; no message is lost
   * @throws BrokerException if the consumer is closed or its queue is deleted
   */
  List<Delivery> poll(int maxMessages, Duration maxWait) throws InterruptedException;

  /**
   * Blocks until there is a message.
   *
   * @return the message
   * @throws InterruptedException if interrupted while waiting; no message is lost
   * @throws BrokerException if the consumer is closed or its queue is deleted
   */
  Delivery take() throws InterruptedException;

  /**
   * Lets the broker deliver more messages. Needed only by a consumer that was opened with a
   * prefetch of 0: the credit of others is renewed when they settle messages.
   *
   * @param messages how many more messages, from 1 to 1,000,000
   */
  void addCredit(int messages);

  /**
   * Asks a handler again that has returned {@link Handler#NOT_NOW}. Does not block. A call while
   * the handler is about to return that is not lost; otherwise there is no effect.
   */
  void resume();

  /**
   * Ends delivery; the consumer may settle the messages it has until it is closed. Messages that
   * were not delivered return to their places in the queue, with their tokens.
   *
   * @return completes when nothing more will be delivered: {@link Delivery#markForwarded} returns
   *     false from then on
   */
  CompletableFuture<Void> drain();

  /**
   * Ends delivery and leaves delivered messages leased, until they are settled by their ids or
   * their leases end. Messages that were not delivered return to their places in the queue, with
   * their tokens.
   */
  void detach();

  /**
   * Ends delivery and returns unsettled messages to their places in the queue; those that were not
   * delivered return their tokens, too.
   */
  @Override
  void close();
}
