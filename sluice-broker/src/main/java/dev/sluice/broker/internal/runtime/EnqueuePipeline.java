package dev.sluice.broker.internal.runtime;

import dev.sluice.broker.BrokerConfig;
import dev.sluice.broker.BrokerException;
import dev.sluice.broker.BrokerException.Code;
import dev.sluice.broker.EnqueueCaller;
import dev.sluice.broker.Message;
import dev.sluice.broker.internal.engine.EngineState;
import dev.sluice.broker.internal.engine.InternedPlacement;
import dev.sluice.broker.internal.engine.PreparedMessage;
import dev.sluice.broker.internal.hooks.HookBudget;
import dev.sluice.broker.internal.hooks.HookEngine;
import dev.sluice.broker.internal.hooks.HookExecutor;
import dev.sluice.broker.internal.store.MessageEnvelope;
import dev.sluice.broker.internal.util.Checks;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Takes messages from callers to the engine. Messages are checked and encoded on the caller's
 * thread; {@code on_enqueue}, if the queue has one, runs on a thread of the {@link HookExecutor}.
 *
 * <p>Thread-safe and does not block. Calls of one queue that come one after the other reach the
 * state machine in that order, even while a script is added or removed. A call never reaches a
 * queue that is made under the name of its queue meanwhile.
 */
final class EnqueuePipeline {
  /** The heap of a header besides its characters: a map entry and two strings. */
  private static final int HEADER_BYTES = 150;

  /** Shares the hook threads by queue, and withdraws nothing. */
  static final EnqueueCaller ANYBODY =
      new EnqueueCaller() {
        @Override
        public @Nullable String account() {
          return null;
        }

        @Override
        public boolean mayStore() {
          return true;
        }
      };

  private final BrokerConfig config;
  private final QueueRegistry registry;
  private final HookExecutor hooks;
  private final Inbox inbox;
  private final PendingCalls calls;
  private final EnqueuePipeline.RejectionMetrics rejections;

  /** Fails a call on another thread than the one that runs scripts. */
  interface RejectionMetrics {
    void reject(CompletableFuture<?> call, Throwable reason);
  }

  EnqueuePipeline(
      BrokerConfig config,
      QueueRegistry scripts,
      HookExecutor hooks,
      Inbox inbox,
      PendingCalls calls,
      EnqueuePipeline.RejectionMetrics refusals) {
    this.config = config;
    this.registry = scripts;
    this.hooks = hooks;
    this.inbox = inbox;
    this.calls = calls;
    this.rejections = refusals;
  }

  /** An accepted call; its future is done early if the caller has left. */
  private record Enqueue(
      QueueRegistry.QueueHandle view, EnqueueCaller caller, CompletableFuture<List<UUID>> future) {}

  CompletableFuture<List<UUID>> enqueue(
      String queue, List<Message> messages, EnqueueCaller caller) {
    QueueRegistry.QueueHandle view = registry.find(queue);
    List<PreparedMessage> preparedMessages = view == null ? List.of() : prepare(messages);
    long bytes = requireFit(preparedMessages);
    CompletableFuture<List<UUID>> call = calls.begin();
    if (call.isDone()) {
      return call;
    }
    try {
      if (view == null) {
        throw EngineState.queueNotFound(queue);
      } else if (view.onEnqueue() != null || hooks.isBusy(queue)) {
        submitToHooks(new Enqueue(view, caller, call), messages, preparedMessages, bytes);
      } else {
        put(new Enqueue(view, caller, call), preparedMessages, bytes);
      }
    } catch (BrokerException refused) {
      count(queue, refused);
      call.completeExceptionally(refused);
    }
    return call;
  }

  /** Checks and encodes messages; their route is the one that the producer gives. */
  private List<PreparedMessage> prepare(List<Message> messages) {
    List<PreparedMessage> preparedMessages = new ArrayList<>(messages.size());
    for (Message message : messages) {
      byte[] body = MessageEnvelope.encode(message.headers(), message.payload());
      Checks.requireBetween("bytes of message", body.length, 0, config.maxMessageBytes());
      preparedMessages.add(
          new PreparedMessage(
              new InternedPlacement.Spec(
                  message.fairnessKey(),
                  message.weight(),
                  message.priority(),
                  message.throttleKeys()),
              body,
              message.delay().toNanos(),
              message.timeToLive().toNanos(),
              message.dedupeId().orElse(null),
              false));
    }
    return preparedMessages;
  }

  private long requireFit(List<PreparedMessage> preparedMessages) {
    long bytes = 0;
    for (PreparedMessage prepared : preparedMessages) {
      bytes += prepared.bytes();
    }
    return Checks.requireBetween("bytes of messages", bytes, 0, config.maxInboundBytes());
  }

  private void put(Enqueue call, List<PreparedMessage> preparedMessages, long bytes) {
    if (!call.caller().mayStore()) {
      return; // The caller fails the call, and says why.
    }
    QueueRegistry.QueueHandle view = call.view();
    boolean taken =
        inbox.putMessages(
            machine ->
                machine.enqueueHandler.enqueue(
                    view.name(), view.id(), preparedMessages, call.future()),
            bytes);
    if (taken) {
      return;
    }
    if (inbox.isClosed()) {
      calls.requireOpen();
      throw new BrokerException(Code.STOPPED, "the broker is closed");
    }
    throw new BrokerException(
        Code.BUSY,
        "too many bytes are being enqueued, retry later: maxInboundBytes="
            + config.maxInboundBytes());
  }

  private void count(String queue, BrokerException rejection) {
    if (rejection.code() != Code.STOPPED && rejection.code() != Code.WAITING_FOR_SPACE) {
      config.metrics().rejected(queue, rejection.code());
    }
  }

  private void submitToHooks(
      Enqueue call, List<Message> messages, List<PreparedMessage> preparedMessages, long bytes) {
    String queue = call.view().name();
    // Not the messages: their payloads are in the submissions already.
    List<HookEngine.EnqueueContext> arrivals = new ArrayList<>(messages.size());
    long held = bytes;
    for (Message message : messages) {
      arrivals.add(
          new HookEngine.EnqueueContext(queue, message.headers(), message.payload().length));
      held += bytes(message.headers());
    }
    long from = System.nanoTime();
    hooks.call(
        call.caller().account(),
        queue,
        arrivals.size(),
        held,
        () -> {
          config.metrics().hookWaited(queue, System.nanoTime() - from);
          runHooksAndPut(call, arrivals, preparedMessages);
        });
  }

  /** Returns the heap of a message's headers, which are kept while it waits for its script. */
  private static long bytes(Map<String, String> headers) {
    long bytes = 0;
    for (Map.Entry<String, String> header : headers.entrySet()) {
      bytes += HEADER_BYTES + header.getKey().length() + header.getValue().length();
    }
    return bytes;
  }

  /**
   * Runs on a thread of the pool. A call that is done by then, such as a canceled one, stores
   * nothing.
   */
  private void runHooksAndPut(
      Enqueue call,
      List<HookEngine.EnqueueContext> arrivals,
      List<PreparedMessage> preparedMessages) {
    QueueRegistry.QueueHandle view = call.view();
    CompletableFuture<List<UUID>> future = call.future();
    try {
      HookBudget budget = new HookBudget();
      List<PreparedMessage> routed = new ArrayList<>(preparedMessages.size());
      for (int i = 0; i < arrivals.size() && !future.isDone(); i++) {
        if (budget.isSpent()) {
          throw budget.refusal(view.name(), i, arrivals.size());
        }
        HookEngine.EnqueueResult assigned = registry.runEnqueueHook(view, arrivals.get(i), budget);
        PreparedMessage prepared = preparedMessages.get(i);
        routed.add(
            assigned == null
                ? prepared
                : prepared.withPlacement(placement(assigned, prepared.placement().priority())));
      }
      if (!future.isDone()) {
        put(call, routed, requireFit(routed));
      }
    } catch (BrokerException refused) {
      count(view.name(), refused);
      rejections.reject(future, refused);
    } catch (RuntimeException | Error failed) {
      rejections.reject(future, failed);
    }
  }

  static InternedPlacement.Spec placement(HookEngine.EnqueueResult assigned, int priority) {
    SortedMap<String, Long> throttles = Collections.emptySortedMap();
    if (!assigned.throttleKeys().isEmpty()) {
      throttles = new TreeMap<>();
      for (String key : assigned.throttleKeys()) {
        throttles.put(key, 1L);
      }
    }
    return new InternedPlacement.Spec(
        assigned.fairnessKey(), assigned.weight(), priority, throttles);
  }
}
