package dev.sluice.server.operations;

import dev.sluice.broker.Broker;
import dev.sluice.broker.BrokerException;
import dev.sluice.broker.BrokerView;
import dev.sluice.broker.Delivery;
import dev.sluice.broker.FairnessKeyPage;
import dev.sluice.broker.LeaseToken;
import dev.sluice.broker.Message;
import dev.sluice.broker.MessageConsumer;
import dev.sluice.broker.QueueConfig;
import dev.sluice.broker.QueueDefinition;
import dev.sluice.broker.QueueNames;
import dev.sluice.broker.QueueStats;
import dev.sluice.broker.StoredMessage;
import dev.sluice.server.auth.AccountQuotas;
import dev.sluice.server.auth.Caller;
import dev.sluice.server.auth.ConcurrencyQuota;
import dev.sluice.server.auth.Credential;
import dev.sluice.server.auth.Permission.Kind;
import dev.sluice.server.auth.QueueAuthorization;
import dev.sluice.server.auth.WatchedCall;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.Futures;
import dev.sluice.server.transport.RequestSizeLimits;
import dev.sluice.server.transport.ResponseMemoryBudget;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.LongFunction;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** Operations on queues for all protocols: checks permissions and calls the broker. */
public final class QueueOperations {
  /** How many messages one call receives or peeks at. */
  static final int MAX_MESSAGES = 1_000;

  /** How many bytes they may have together, as they are stored; one may always have more. */
  static final long MAX_ANSWER_BYTES = 16L << 20;

  /** The most fairness keys in the statistics of a queue. */
  public static final int MAX_KEYS = 1_000;

  static final Duration MAX_WAIT = Duration.ofSeconds(30);

  private static final int MAX_REDRIVES = 64;
  private static final int MAX_REDRIVES_OF_ACCOUNT = 4;

  /** How long messages wait for room in their answer: until slow readers can be cut off. */
  static final long ROOM_PATIENCE_NANOS = 2 * ResponseMemoryBudget.PATIENCE_NANOS;

  private final Broker broker;
  private final QueueAuthorization access;
  private final AccountQuotas quotas;
  private final ConcurrencyQuota openCalls;
  private final SettleCall.Turns settleTurns = SettleCall.Turns.create();

  /** Redrives that have not ended: each goes through messages of the whole broker. */
  private final ConcurrencyQuota redrives =
      new ConcurrencyQuota("redrives", MAX_REDRIVES, MAX_REDRIVES_OF_ACCOUNT);

  /**
   * Asks {@code broker}.
   *
   * @param openCalls for calls that wait
   */
  public QueueOperations(
      Broker broker, QueueAuthorization access, AccountQuotas quotas, ConcurrencyQuota openCalls) {
    this.broker = broker;
    this.access = access;
    this.quotas = quotas;
    this.openCalls = openCalls;
  }

  /** Checks a caller whose request is not complete yet, or does not say enough. */
  public void require(Caller caller, Kind kind, String queue) {
    access.require(caller, kind, queue);
  }

  /**
   * Messages are made of the request only if the caller may enqueue them. Those that name throttle
   * keys take tokens there: that needs {@code limit} on each. A call that waits for a hook fails,
   * and stores nothing, once the key is revoked, is changed or expires.
   */
  public CompletableFuture<List<UUID>> enqueue(
      Credential key, String queue, Supplier<List<Message>> request) {
    Caller caller = key.caller();
    return access.call(
        caller,
        Kind.PRODUCE,
        queue,
        () -> {
          List<Message> messages = request.get();
          messages.forEach(
              each ->
                  each.throttleKeys().keySet().forEach(limit -> caller.require(Kind.LIMIT, limit)));
          return new WatchedEnqueue(key).start(broker, queue, messages);
        });
  }

  /** Opens a consumer, which the caller must close. */
  public MessageConsumer consume(
      Caller caller, String queue, int prefetch, MessageConsumer.Handler handler) {
    return access.call(caller, Kind.CONSUME, queue, () -> broker.consume(queue, prefetch, handler));
  }

  /**
   * Messages stay leased after the call. Canceling the future gives them back; it fails once the
   * key is revoked, is changed or expires. Messages that are not sent to the client must be
   * {@linkplain WaitingReceive#giveBack given back}.
   */
  public CompletableFuture<List<Delivery>> receive(
      Credential key,
      String queue,
      int maxMessages,
      Duration wait,
      ResponseMemoryBudget.Reservation room) {
    return access.call(
        key.caller(),
        Kind.CONSUME,
        queue,
        () -> {
          requireBetween("max_messages", maxMessages, 1, MAX_MESSAGES);
          requireBetween("wait_ms", wait.toMillis(), 0, MAX_WAIT.toMillis());
          ConcurrencyQuota.Hold place = wait.isZero() ? () -> {} : openCalls.take(key.caller());
          try {
            var received = new WaitingReceive(broker, key, room).start(queue, maxMessages, wait);
            Futures.whenOver(received, place::close);
            return received;
          } catch (RuntimeException refused) {
            place.close();
            throw refused;
          }
        });
  }

  /**
   * The settlement of a leased message.
   *
   * @param id the message
   * @param lease null for its current lease
   * @param action what to do
   */
  public record Settlement(UUID id, @Nullable LeaseToken lease, Action action) {}

  /** The action of a settlement. */
  public sealed interface Action {
    /** It is done. */
    record Ack() implements Action {}

    /** It failed. */
    record Nack(String error, @Nullable Duration delay) implements Action {}

    /** It takes longer. */
    record Extend(Duration time) implements Action {}

    /** It was not touched. */
    record Release() implements Action {}
  }

  /**
   * The answer has a place for each settlement: empty if it is done. As for {@link #enqueue}. The
   * broker gets {@link SettleCall#AT_ONCE} at a time; if the call is canceled, or its key ends, the
   * rest is not executed.
   *
   * @param memory takes bytes for the settlements until they are answered, or throws
   */
  public CompletableFuture<List<Optional<ApiException>>> settle(
      Credential key,
      String queue,
      Supplier<List<Settlement>> wanted,
      LongFunction<ConcurrencyQuota.Hold> memory) {
    return access.call(
        key.caller(),
        Kind.CONSUME,
        queue,
        () -> {
          List<Settlement> all = wanted.get();
          ConcurrencyQuota.Hold hold = memory(all.size(), memory);
          return new SettleCall(broker, queue, all, hold, key, settleTurns).start();
        });
  }

  private static ConcurrencyQuota.Hold memory(
      int settlements, LongFunction<ConcurrencyQuota.Hold> memory) {
    return settlements <= SettleCall.FREE
        ? () -> {}
        : memory.apply((long) settlements * RequestSizeLimits.SETTLEMENT_BYTES);
  }

  /** The hook of {@code config} may name the throttle keys for which the caller has limit. */
  public void create(Caller caller, String queue, QueueConfig config) {
    access.create(
        caller,
        queue,
        withHookThrottleKeys(caller, QueueConfig.defaults(), config),
        () -> quotas.queue(caller, queue, () -> broker.queues().keySet()));
  }

  /**
   * Returns the new revision; refused if {@code revision} is neither null nor the present one. A
   * new hook may name the throttle keys for which the caller has limit.
   */
  public String update(
      Caller caller, String queue, UnaryOperator<QueueConfig> change, @Nullable String revision) {
    while (true) {
      CompletableFuture<String> changed =
          access.call(
              caller,
              Kind.ADMIN,
              queue,
              () ->
                  broker.updateQueueAsync(
                      queue,
                      before -> withHookThrottleKeys(caller, before, change.apply(before)),
                      revision));
      try {
        return changed.join();
      } catch (CompletionException refused) {
        if (revision != null || !isMismatch(refused)) {
          throw ApiException.of(refused);
        }
      }
    }
  }

  private static boolean isMismatch(CompletionException refused) {
    return refused.getCause() instanceof BrokerException broker
        && broker.code() == BrokerException.Code.REVISION_MISMATCH;
  }

  /*
   * The patterns belong to the text of the hook, and to the caller who set it. A caller who sends
   * the same text again, perhaps with another setting, neither lends its own permissions to that
   * text nor takes away those of the caller before.
   */
  private static QueueConfig withHookThrottleKeys(
      Caller caller, QueueConfig before, QueueConfig after) {
    boolean isNew = after.onEnqueue() != null && !after.onEnqueue().equals(before.onEnqueue());
    List<String> patterns = isNew ? caller.patterns(Kind.LIMIT) : before.hookThrottleKeys();
    return after.toBuilder().hookThrottleKeys(patterns).build();
  }

  /** Deletes {@code queue} and its dead-letter queue if it has that revision; null for any. */
  public void delete(Caller caller, String queue, @Nullable String revision) {
    join(access.call(caller, Kind.ADMIN, queue, () -> broker.deleteQueueAsync(queue, revision)));
  }

  /** With the text of its scripts, which are no place for secrets. */
  public QueueDefinition definition(Caller caller, String queue) {
    return access.call(
        caller,
        Kind.READ,
        queue,
        () ->
            broker
                .queue(queue)
                .orElseThrow(() -> ApiException.notFound("unknown queue: " + queue)));
  }

  /** With at most {@link #MAX_KEYS} of its fairness keys. */
  public BrokerView.QueueSnapshot stats(Caller caller, String queue) {
    return access.call(caller, Kind.READ, queue, () -> broker.view().queue(queue, MAX_KEYS));
  }

  /** Those that the caller may read, without their keys; refused if there can be none. */
  public SortedMap<String, QueueStats> list(Caller caller) {
    caller.requireSome(Kind.READ);
    Map<String, QueueStats> all = broker.view().queues();
    NavigableMap<String, QueueStats> found = new TreeMap<>(all);
    found
        .keySet()
        .removeIf(queue -> !QueueAuthorization.may(caller, Kind.READ, queue, all::containsKey));
    return found;
  }

  /** Returns the state of its fairness keys. */
  public FairnessKeyPage keys(
      Caller caller, String queue, FairnessKeyPage.Order order, int limit, String prefix) {
    return access.call(
        caller,
        Kind.READ,
        queue,
        () -> {
          requireBetween("limit", limit, 1, BrokerView.MAX_KEYS);
          return broker.view().fairnessKeys(queue, order, limit, prefix);
        });
  }

  public long purge(Caller caller, String queue) {
    return join(access.call(caller, Kind.ADMIN, queue, () -> broker.purgeQueueAsync(queue)));
  }

  /** Waits for work that the broker has been given. */
  private static <T> T join(CompletableFuture<T> work) {
    try {
      return work.join();
    } catch (CompletionException refused) {
      throw ApiException.of(refused);
    }
  }

  /**
   * The messages that a caller requests to browse.
   *
   * @param from the first; null for the oldest
   * @param maxMessages how many
   * @param maxPayloadBytes how much of each payload
   */
  public record BrowseRequest(@Nullable UUID from, int maxMessages, int maxPayloadBytes) {
    public BrowseRequest {
      requireBetween("max_messages", maxMessages, 1, MAX_MESSAGES);
      requireBetween("max_payload_bytes", maxPayloadBytes, 0, Integer.MAX_VALUE);
    }
  }

  /** Returns messages with their payloads, which permission to read the queue covers. */
  public List<StoredMessage> peek(
      Caller caller,
      String queue,
      QueueOperations.BrowseRequest wanted,
      ResponseMemoryBudget.Reservation room) {
    return access.call(caller, Kind.READ, queue, () -> peek(queue, wanted, room));
  }

  private List<StoredMessage> peek(
      String queue, QueueOperations.BrowseRequest wanted, ResponseMemoryBudget.Reservation room) {
    BrokerView.PreviewSize size =
        new BrokerView.PreviewSize(wanted.maxPayloadBytes(), MAX_ANSWER_BYTES);
    boolean[] refused = {false};
    BrokerView.MemoryBudget reading =
        new BrokerView.MemoryBudget() {
          @Override
          public boolean tryReserve(long bytes) {
            refused[0] = !room.take(bytes);
            return !refused[0];
          }

          @Override
          public void release(long bytes) {
            room.give(bytes);
          }
        };
    List<StoredMessage> found =
        broker.view().browse(queue, wanted.from(), wanted.maxMessages(), size, reading);
    if (refused[0] && found.isEmpty()) {
      throw ResponseMemoryBudget.exhausted("messages");
    }
    return found;
  }

  /**
   * Needs {@code produce} on the queue that gets them, too; {@code count} 0 means all. Ends between
   * two portions, and fails, once the key is revoked, is changed or expires; canceling the future
   * ends it, too. Refused while four redrives of its account run, canceled ones included.
   */
  public CompletableFuture<Long> redrive(
      Credential key, String deadLetterQueue, long count, boolean runScript) {
    Caller caller = key.caller();
    return access.call(
        caller,
        Kind.ADMIN,
        deadLetterQueue,
        () ->
            access.call(
                caller,
                Kind.PRODUCE,
                QueueNames.sourceOf(deadLetterQueue),
                () -> {
                  requireBetween("count", count, 0, Long.MAX_VALUE);
                  return whileKeyLasts(key, redriveHeld(caller, deadLetterQueue, count, runScript));
                }));
  }

  /** The place is held until the broker has ended, which may be after the caller has left. */
  private CompletableFuture<Long> redriveHeld(
      Caller caller, String deadLetterQueue, long count, boolean runScript) {
    CompletableFuture<Long> answer = new CompletableFuture<>();
    ConcurrencyQuota.Hold place = redrives.take(caller);
    CompletableFuture<Long> running;
    try {
      running = broker.redriveAsync(deadLetterQueue, count, runScript, answer::isDone);
    } catch (RuntimeException | Error refused) {
      place.close();
      throw refused;
    }
    Futures.when(
        running,
        moved -> {
          place.close();
          answer.complete(moved);
        },
        failure -> {
          place.close();
          answer.completeExceptionally(failure);
        });
    return answer;
  }

  private static <T> CompletableFuture<T> whileKeyLasts(Credential key, CompletableFuture<T> work) {
    WatchedCall watch = key.watch(work::completeExceptionally);
    Futures.whenOver(work, watch::close);
    return work;
  }

  public static void requireBetween(String name, long value, long least, long most) {
    if (value < least || value > most) {
      throw ApiException.invalid(
          "%s must be from %d to %d, but was %d".formatted(name, least, most, value));
    }
  }
}
