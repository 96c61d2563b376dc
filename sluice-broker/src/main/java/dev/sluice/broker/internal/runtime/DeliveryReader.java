package dev.sluice.broker.internal.runtime;

import dev.sluice.broker.Broker;
import dev.sluice.broker.BrokerException;
import dev.sluice.broker.BrokerException.Code;
import dev.sluice.broker.Delivery;
import dev.sluice.broker.internal.engine.MessageEntry;
import dev.sluice.broker.internal.engine.PendingDelivery;
import dev.sluice.broker.internal.store.StoreException;
import java.util.List;
import java.util.function.Supplier;

/** Reads messages for callers, on their threads, and reports those that cannot be read. */
final class DeliveryReader {
  private static final System.Logger LOG = System.getLogger(Broker.class.getName());

  private final MessageReader reader;
  private final EngineCalls engine;

  DeliveryReader(MessageReader reader, EngineCalls engine) {
    this.reader = reader;
    this.engine = engine;
  }

  /**
   * Returns the result of {@code read}.
   *
   * @throws BrokerException if the broker has ended, or the store cannot be read
   */
  <T> T reading(Supplier<T> read) {
    engine.requireOpen();
    try {
      return read.get();
    } catch (StoreException unreadable) {
      engine.requireOpen();
      throw new BrokerException(
          Code.STORE_FAILED, "the store cannot be read: " + unreadable.getMessage(), unreadable);
    }
  }

  /**
   * Returns leased messages with their payloads; those that cannot be read fail, as after a nack.
   *
   * @throws BrokerException if no message can be read, and one failed
   */
  List<Delivery> read(Broker broker, List<PendingDelivery> leased) {
    return reading(
        () -> {
          MessageReader.Found found = reader.read(broker, leased);
          StoreException failure = found.failure();
          if (failure != null) {
            engine.requireOpen();
            found.unreadable().forEach(each -> failUnreadable(each, failure));
            if (found.deliveries().isEmpty()) {
              throw failure;
            }
          }
          return found.deliveries();
        });
  }

  private void failUnreadable(PendingDelivery leased, StoreException reason) {
    MessageEntry entry = leased.entry();
    LOG.log(
        System.Logger.Level.WARNING,
        "a message cannot be read: queue=%s, id=%s".formatted(entry.queue.name, entry.id()),
        reason);
    String error = "the message cannot be read: " + reason.getMessage();
    engine.submit(machine -> machine.failureHandler.unreadable(leased.lease(), error));
  }
}
