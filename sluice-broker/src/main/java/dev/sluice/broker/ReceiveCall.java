package dev.sluice.broker;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.LongUnaryOperator;

/** A caller's side of a {@link Poll}: reads the messages, and gives back those that do not fit. */
final class ReceiveCall {
  private final Broker broker;
  private final Machinery machinery;
  private final ExecutorService readers;
  private final Poll poll;
  private final LongUnaryOperator room;
  private final CompletableFuture<List<Delivery>> result = new CompletableFuture<>();

  ReceiveCall(
      Broker broker,
      Machinery machinery,
      ExecutorService readers,
      Poll poll,
      LongUnaryOperator room) {
    this.broker = broker;
    this.machinery = machinery;
    this.readers = readers;
    this.poll = poll;
    this.room = room;
  }

  /** Returns a future of the messages; if it is cancelled or fails, they go back. */
  @SuppressWarnings("FutureReturnValueIgnored") // failures reach the result
  CompletableFuture<List<Delivery>> start() {
    result.whenComplete(
        (messages, failure) -> {
          if (failure != null) {
            // Nothing else ends a call that was cancelled before it was answered.
            poll.future.cancel(false);
            poll.take();
            giveBackUnsent();
          }
        });
    poll.future.whenComplete(
        (answered, failure) -> {
          if (failure == null) {
            attempt(this::answered);
          } else {
            result.completeExceptionally(failure);
          }
        });
    return result;
  }

  private void answered() {
    List<Handover> all = poll.take();
    if (all.isEmpty()) {
      result.complete(List.of());
    } else {
      readers.execute(() -> attempt(() -> read(all)));
    }
  }

  private void attempt(Runnable step) {
    try {
      step.run();
    } catch (RejectedExecutionException ended) {
      result.completeExceptionally(machinery.calls.end(ended));
    } catch (RuntimeException | Error failure) {
      result.completeExceptionally(failure);
    }
  }

  @SuppressWarnings("FutureReturnValueIgnored") // a release fails only if the lease has ended
  private void read(List<Handover> all) {
    long bytes = all.stream().mapToLong(each -> each.entry().bytes).sum();
    List<Handover> first = thatFit(all, room.applyAsLong(bytes));
    List<Delivery> messages = new ArrayList<>(machinery.read(broker, first));
    messages.removeIf(each -> !each.send());
    if (first.size() < all.size()) {
      giveBackUnsent();
    }
    if (!result.complete(messages)) {
      messages.forEach(Delivery::release);
    }
  }

  private static List<Handover> thatFit(List<Handover> all, long bytes) {
    long left = bytes;
    int fitting = 0;
    while (fitting < all.size() && (fitting == 0 || all.get(fitting).entry().bytes <= left)) {
      left -= all.get(fitting++).entry().bytes;
    }
    return all.subList(0, fitting);
  }

  private void giveBackUnsent() {
    machinery.input(engine -> engine.dispatch.polls.cancel(poll));
  }
}
