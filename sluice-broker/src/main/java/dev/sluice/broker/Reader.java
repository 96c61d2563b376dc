package dev.sluice.broker;

import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Reads messages for whoever is to see them, on their threads. */
final class Reader {
  private final Store store;

  Reader(Store store) {
    this.store = store;
  }

  /** The messages that are still there. */
  List<Delivery> read(Broker broker, List<Handover> handovers) {
    List<byte[]> keys = new ArrayList<>();
    for (Handover handover : handovers) {
      if (handover.body() == null) {
        keys.add(Schema.messageKey(handover.entry()));
      }
    }
    List<byte @Nullable []> read = new ArrayList<>();
    if (!keys.isEmpty()) {
      read = store.getAll(Table.MESSAGE, keys);
    }
    Iterator<byte @Nullable []> next = read.iterator();
    List<Delivery> deliveries = new ArrayList<>(handovers.size());
    for (Handover handover : handovers) {
      byte[] body = handover.body() == null ? next.next() : handover.body();
      if (body != null) {
        deliveries.add(new Delivery(broker, handover, Envelope.decode(body)));
      }
    }
    return deliveries;
  }

  @Nullable Envelope read(Entry entry) {
    byte[] body = store.get(Table.MESSAGE, Schema.messageKey(entry));
    return body == null ? null : Envelope.decode(body);
  }

  List<StoredMessage> peek(Scripts.View view, int limit) {
    List<StoredMessage> found = new ArrayList<>();
    store.scan(
        Table.STATE,
        Schema.messageKey(view.id(), 0),
        Schema.messageKey(view.id(), Long.MAX_VALUE),
        (key, value) -> {
          byte[] body = store.get(Table.MESSAGE, key);
          if (body != null) {
            ByteReader in = new ByteReader(key);
            long sequence = skipQueue(in).int64();
            found.add(message(view.id(), sequence, Schema.stateRow(value), body));
          }
          return found.size() < limit;
        });
    return found;
  }

  private static ByteReader skipQueue(ByteReader in) {
    in.int32();
    return in;
  }

  private static StoredMessage message(
      int queueId, long sequence, Schema.StateRow state, byte[] body) {
    Envelope envelope = Envelope.decode(body);
    return new StoredMessage(
        MessageId.of(queueId, sequence),
        state.route().key(),
        Collections.unmodifiableSet(state.route().throttles().keySet()),
        state.attempts(),
        Instant.ofEpochSecond(0, state.availableAt()),
        Instant.ofEpochSecond(0, envelope.enqueuedAt()),
        envelope.headers(),
        envelope.payload(),
        Optional.ofNullable(envelope.deadLetter()));
  }
}
