package dev.sluice.broker.engine;

import dev.sluice.broker.BrokerException;
import dev.sluice.broker.BrokerException.Code;
import dev.sluice.broker.QueueConfig;
import dev.sluice.broker.QueueNames;
import dev.sluice.broker.QueueStats;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** Queues, configuration and rates; long work is done a piece at a time. */
public final class QueueAdmin {
  /** Messages in one piece of long work. */
  static final int PIECE = 1_000;

  private final EngineState state;
  private final Dispatcher dispatch;
  private final EnqueueHandler intake;

  /** Long work; each returns whether it is done. */
  private final Deque<BooleanSupplier> chores = new ArrayDeque<>();

  QueueAdmin(EngineState state, Dispatcher dispatch, EnqueueHandler intake) {
    this.state = state;
    this.dispatch = dispatch;
    this.intake = intake;
  }

  /** Goes through all messages, a piece at a time. */
  private final class Cursor {
    private long from;

    List<MessageEntry> next(Predicate<MessageEntry> filter) {
      List<MessageEntry> piece = state.index.find(from, PIECE, filter);
      if (!piece.isEmpty()) {
        from = piece.get(piece.size() - 1).sequence + 1;
      }
      return piece;
    }
  }

  /** Does one piece of long work; returns whether there is more. */
  boolean work() {
    BooleanSupplier chore = chores.pollFirst();
    if (chore != null && !chore.getAsBoolean()) {
      chores.addLast(chore);
    }
    return !chores.isEmpty();
  }

  /** Adopts a queue that has the name of the dead-letter queue only if {@code mayAdopt}. */
  public void create(
      String name, QueueConfig config, boolean mayAdopt, CompletableFuture<Void> future) {
    if (state.lines.containsKey(name)) {
      state.outputs.refuse(
          future, new BrokerException(Code.QUEUE_EXISTS, "the queue exists: queue=" + name));
      return;
    }
    String deadLetters = QueueNames.deadLetterQueueOf(name);
    boolean hasDeadLetters = !QueueNames.isDeadLetterQueue(name);
    boolean adopts = hasDeadLetters && state.lines.containsKey(deadLetters);
    boolean two = hasDeadLetters && !adopts;
    try {
      requireAdoptable(deadLetters, !adopts || mayAdopt);
      state.setup.requireRoom(two ? 2 : 1, config);
    } catch (BrokerException refused) {
      state.outputs.refuse(future, refused);
      return;
    }
    add(name, config);
    if (two) {
      add(deadLetters, ofDeadLetters(config));
    }
    state.outputs.queuesChanged();
    changed(future);
  }

  /**
   * A dead letter that fails has nowhere to go: it is tried again, with the delays of its queue.
   */
  private static QueueConfig ofDeadLetters(QueueConfig source) {
    return QueueConfig.builder()
        .durability(source.durability())
        .maxAttempts(0)
        .retryDelay(source.retryDelay())
        .maxRetryDelay(source.maxRetryDelay())
        .build();
  }

  private static void requireAdoptable(String deadLetters, boolean adoptable) {
    if (!adoptable) {
      throw new BrokerException(
          Code.DEAD_LETTER_QUEUE_EXISTS,
          "another queue has the name of the dead-letter queue: queue=" + deadLetters);
    }
  }

  private void add(String name, QueueConfig config) {
    save(open(state.nextQueueId++, name, config));
  }

  /** Stores the configuration of {@code line} under a revision of its own. */
  private void save(BrokerQueue line) {
    line.revisionNumber++;
    state.batch.facts.add(
        new StateChange.QueueSaved(line.id, line.name, line.config, line.revisionNumber));
  }

  BrokerQueue open(int id, String name, QueueConfig config) {
    QueueConfig kept = state.setup.added(config);
    BrokerQueue line = new BrokerQueue(id, name, kept, state.scheduler.queue(name), state);
    state.lines.put(name, line);
    return line;
  }

  /** Answers with the new revision; refused unless the queue has the {@code expected} one. */
  public void update(
      String name, QueueConfig config, String expected, CompletableFuture<String> future) {
    try {
      BrokerQueue line = state.line(name);
      requireRevision(line, expected);
      state.setup.requireRoom(0, config);
      QueueConfig kept = state.setup.added(config);
      state.setup.removed(line.config);
      line.configure(kept);
      save(line);
      state.outputs.queuesChanged();
      state.batch.whenSynced.answers.add(new Completion<>(future, line.revision()));
    } catch (BrokerException refused) {
      state.outputs.refuse(future, refused);
    }
  }

  private static void requireRevision(BrokerQueue line, String expected) {
    if (!line.revision().equals(expected)) {
      throw new BrokerException(
          Code.REVISION_MISMATCH,
          "the queue has changed: queue=%s, revision=%s, expected=%s"
              .formatted(line.name, line.revision(), expected));
    }
  }

  /** Answers {@code future} once what was changed is on the disk. */
  private void changed(CompletableFuture<Void> future) {
    state.batch.whenSynced.answers.add(Completion.done(future));
  }

  /** Deletes a queue with its dead letters and everything in them. */
  public void delete(String name, @Nullable String revision, CompletableFuture<Void> future) {
    try {
      BrokerQueue line = state.line(name);
      if (revision != null) {
        requireRevision(line, revision);
      }
      List<BrokerQueue> doomed = new ArrayList<>(List.of(line));
      BrokerQueue deadLetters = state.lines.get(QueueNames.deadLetterQueueOf(name));
      // A dead-letter queue has none of its own, whatever other queues are called.
      if (!QueueNames.isDeadLetterQueue(name) && deadLetters != null && !deadLetters.deleting) {
        doomed.add(deadLetters);
      }
      doomed.forEach(this::shut);
      Cursor cursor = new Cursor();
      chores.add(() -> deletePiece(doomed, cursor, future));
    } catch (BrokerException refused) {
      state.outputs.refuse(future, refused);
    }
  }

  private void shut(BrokerQueue line) {
    line.deleting = true;
    BrokerException why =
        new BrokerException(Code.QUEUE_DELETED, "the queue was deleted: queue=" + line.name);
    List.copyOf(line.subscribers).forEach(subscriber -> dispatch.close(subscriber, why));
  }

  private boolean deletePiece(
      List<BrokerQueue> doomed, Cursor cursor, CompletableFuture<Void> future) {
    List<MessageEntry> piece = cursor.next(entry -> doomed.contains(entry.line));
    piece.forEach(this::remove);
    if (piece.size() == PIECE) {
      return false;
    }
    for (BrokerQueue line : doomed) {
      intake.forgetAll(line);
      line.keys.forgetAll();
      state.setup.removed(line.config);
      state.lines.remove(line.name);
      state.scheduler.removeQueue(line.name);
      state.batch.facts.add(new StateChange.QueueDeleted(line.id));
    }
    state.outputs.queuesChanged();
    changed(future);
    return true;
  }

  private void remove(MessageEntry entry) {
    state.forget(entry);
    state.batch.facts.add(new StateChange.Removed(entry));
  }

  /** Deletes every message that waits; answers with their number. */
  public void purge(String name, CompletableFuture<Long> future) {
    try {
      BrokerQueue line = state.line(name);
      long end = state.nextSequence;
      long[] removed = {0};
      Cursor cursor = new Cursor();
      chores.add(
          () -> {
            List<MessageEntry> piece =
                cursor.next(entry -> waitsIn(line, entry) && entry.sequence < end);
            piece.forEach(this::remove);
            removed[0] += piece.size();
            boolean done = piece.size() < PIECE;
            if (done) {
              state.batch.committed(line).answers.add(new Completion<>(future, removed[0]));
            }
            return done;
          });
    } catch (BrokerException refused) {
      state.outputs.refuse(future, refused);
    }
  }

  private static boolean waitsIn(BrokerQueue line, MessageEntry entry) {
    return entry.line == line
        && (entry.stage == MessageEntry.Stage.PENDING || entry.stage == MessageEntry.Stage.DELAYED);
  }

  /**
   * Takes up to {@code limit} dead letters that wait out of {@code queue}, the oldest first; they
   * are not delivered until {@link #redrive} has moved them.
   *
   * @param range the numbers among which to look; from 0 on, it is an error if there is no room
   */
  public void claimDeadLetters(
      String queue, int limit, Range range, CompletableFuture<List<MessageEntry>> future) {
    try {
      BrokerQueue line = state.line(queue);
      int room = (int) Math.min(limit, roomAtSource(line, range.from == 0));
      List<MessageEntry> claimed =
          room == 0
              ? List.of()
              : state.index.find(
                  range.from, room, entry -> waitsIn(line, entry) && entry.sequence < range.end);
      List<MessageEntry> fitting = fitting(claimed, range.from == 0);
      for (MessageEntry entry : fitting) {
        state.unschedule(entry);
        entry.stage = MessageEntry.Stage.MOVING;
        state.batch.probes.add(entry);
      }
      state.batch.whenWritten.answers.add(new Completion<>(future, fitting));
    } catch (BrokerException refused) {
      state.outputs.refuse(future, refused);
    }
  }

  /** Those of {@code claimed} for which there is room on the disk, from the first on. */
  private List<MessageEntry> fitting(List<MessageEntry> claimed, boolean first) {
    long room = state.diskRoom;
    int count = 0;
    while (count < claimed.size() && claimed.get(count).bytes < room) {
      room -= claimed.get(count).bytes;
      count++;
    }
    if (first && count == 0 && !claimed.isEmpty()) {
      throw EngineState.diskFull();
    }
    return claimed.subList(0, count);
  }

  /** Numbers of messages, without the end. */
  public record Range(long from, long end) {}

  private long roomAtSource(BrokerQueue deadLetters, boolean first) {
    BrokerQueue source = source(deadLetters);
    long most = source.config.maxDepth();
    if (first && most > 0 && source.depth >= most) {
      throw new BrokerException(
          Code.QUEUE_FULL,
          "the queue holds as many messages as it may: queue=%s, maxDepth=%d"
              .formatted(source.name, most));
    }
    return most == 0 ? Long.MAX_VALUE : Math.max(0, most - source.depth);
  }

  private BrokerQueue source(BrokerQueue deadLetters) {
    String name = deadLetters.name;
    if (!QueueNames.isDeadLetterQueue(name)) {
      throw new BrokerException(
          Code.NOT_A_DEAD_LETTER_QUEUE, "the queue holds no dead letters: queue=" + name);
    }
    BrokerQueue source = state.lines.get(QueueNames.sourceOf(name));
    if (source == null || source.deleting) {
      throw new BrokerException(
          Code.SOURCE_NOT_FOUND,
          "the queue of these dead letters does not exist: queue=" + QueueNames.sourceOf(name));
    }
    return source;
  }

  /** Moves claimed dead letters to where they came from; answers with their number. */
  public void redrive(
      List<MessageEntry> claimed,
      List<InternedPlacement.Spec> routes,
      CompletableFuture<Integer> future) {
    int moved = 0;
    BrokerException refusal = null;
    for (int i = 0; i < claimed.size(); i++) {
      MessageEntry entry = claimed.get(i);
      if (entry.stage != MessageEntry.Stage.MOVING) {
        continue;
      }
      try {
        BrokerQueue source = source(entry.line);
        requireReadable(entry);
        requireRoom(entry, source, routes.get(i));
        move(entry, source, routes.get(i));
        moved++;
      } catch (BrokerException noPlace) {
        refusal = noPlace;
        state.makeAvailable(entry, state.now);
      }
    }
    if (refusal == null || moved > 0) {
      state.batch.whenSynced.answers.add(new Completion<>(future, moved));
    } else {
      state.outputs.refuse(future, refusal);
    }
  }

  private void requireReadable(MessageEntry entry) {
    if (!state.outputs.isReadable(entry)) {
      throw new BrokerException(
          Code.STORE_FAILED,
          "the message cannot be read: queue=%s, id=%s".formatted(entry.line.name, entry.id()));
    }
  }

  /** A hook may give each of many messages that had one route in common a route of its own. */
  private void requireRoom(MessageEntry entry, BrokerQueue source, InternedPlacement.Spec route) {
    long more = entry instanceof MovedMessageEntry ? 0 : MovedMessageEntry.ID_HEAP_BYTES;
    if (!source.hasRoute(route)) {
      more += route.heapBytes() - (entry.route.users == 1 ? entry.route.spec.heapBytes() : 0);
    }
    state.messageRoom.require(more);
  }

  private void move(MessageEntry entry, BrokerQueue source, InternedPlacement.Spec route) {
    long timeToLive = source.config.timeToLive().toNanos();
    long expiresAt = timeToLive > 0 ? state.now + timeToLive : Long.MAX_VALUE;
    MessageEntry moved = state.move(entry, source, route, expiresAt);
    state.forget(entry);
    state.batch.facts.add(new StateChange.Moved(entry, moved, 0, state.now, null));
    state.batch.committed(source).ready.add(moved);
    state.metrics.redriven(source.name);
  }

  public void setConfig(String key, @Nullable String value, CompletableFuture<Void> future) {
    try {
      state.setup.changed(key, state.config.get(key), value);
    } catch (BrokerException noRoom) {
      state.outputs.refuse(future, noRoom);
      return;
    }
    if (value == null) {
      state.config.remove(key);
    } else {
      state.config.put(key, value);
    }
    state.batch.facts.add(new StateChange.ConfigSet(key, value));
    state.outputs.configChanged(key, value);
    String throttleKey = LimitConfigEntry.throttleKey(key);
    if (throttleKey != null && value != null) {
      LimitConfigEntry rate = LimitConfigEntry.parse(value);
      state.scheduler.setRate(throttleKey, rate.perSecond(), rate.burst(), state.now);
      state.batch.touched.add(throttleKey);
    } else if (throttleKey != null && state.scheduler.removeLimit(throttleKey)) {
      state.batch.facts.add(new StateChange.LevelDropped(throttleKey));
    }
    changed(future);
  }

  public QueueStats stats(String name) {
    BrokerQueue line = state.line(name);
    return line.stats(line.queue.stats(), state.now);
  }
}
