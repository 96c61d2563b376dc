package dev.sluice.governor.redis;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.ObjLongConsumer;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What Redis could not be told about grants and tickets of a model, sent again until it has
 * answered: each can be done twice and counts once. For any number of threads.
 */
final class Kept {
  /** Sent at a time: Redis does them well within the time-out. */
  static final int AT_ONCE = 256;

  private static final Logger LOG = LoggerFactory.getLogger(RedisBudgets.class);
  private static final int MOST = 100_000;
  private static final int WARN_EVERY = 10_000;

  /** In the words of a grant. */
  private static final int TOKENS_AT = 1;

  private final String model;
  private final ModelBooks books;
  private final ObjLongConsumer<Answer> settled;

  // Guarded by this.
  private final Map<String, Word> words = new LinkedHashMap<>();
  private long dropped;

  private enum Kind {
    SETTLE,
    /** The same of one that another node told of. */
    SETTLE_ELSEWHERE,
    EXTEND,
    CANCEL,
    /** It is over, but what was on its way may have had it held again. */
    RELEASE,
    /** Nobody was told what became of a request, or it was cancelled: what was granted is free. */
    UNDO,
    /** The same of one with a key, under which somebody may have been told of it elsewhere. */
    FORGO
  }

  private record Word(String id, Kind kind, long actual, List<String> grant) {
    Word(String id, Kind kind, long actual) {
      this(id, kind, actual, List.of());
    }
  }

  /** Has {@code settled} told what Redis answers to a settlement, and what was used. */
  Kept(String model, ModelBooks books, ObjLongConsumer<Answer> settled) {
    this.model = model;
    this.books = books;
    this.settled = settled;
  }

  /** As the script has it; {@code elsewhere} if another node told of it, which hears of this. */
  static String[] settlement(String id, long actual, boolean elsewhere) {
    return elsewhere
        ? new String[] {"settle", id, Long.toString(actual), "elsewhere"}
        : new String[] {"settle", id, Long.toString(actual)};
  }

  /** {@link #settlement} of what lives on instead. */
  static String[] extension(String id, boolean elsewhere) {
    return elsewhere ? new String[] {"extend", id, "elsewhere"} : new String[] {"extend", id};
  }

  /** False if it was settled before. */
  synchronized boolean settle(String id, long actual, boolean elsewhere) {
    Word before = words.get(id);
    if (before != null && !isOfSlot(before)) {
      return false;
    }
    keep(new Word(id, elsewhere ? Kind.SETTLE_ELSEWHERE : Kind.SETTLE, actual));
    return true;
  }

  synchronized void extend(OpenGrants.Grant grant) {
    if (!words.containsKey(grant.id())) {
      keep(new Word(grant.id(), Kind.EXTEND, 0, grant.words()));
    }
  }

  /** What was {@code granted} may be held in books that have no ticket for it. */
  synchronized void cancel(String id, boolean granted) {
    Word before = words.get(id);
    if (before == null || isOfSlot(before)) {
      keep(new Word(id, granted ? Kind.UNDO : Kind.CANCEL, 0));
    }
  }

  /** Whether it says nothing that a settlement does not. */
  private static boolean isOfSlot(Word word) {
    return switch (word.kind()) {
      case EXTEND, RELEASE -> true;
      case SETTLE, SETTLE_ELSEWHERE, CANCEL, UNDO, FORGO -> false;
    };
  }

  /**
   * Redis has said that it is over. What it is told by now and has not answered comes after that,
   * but before what is kept here.
   */
  synchronized void over(String id) {
    Word before = words.get(id);
    if (before != null && before.kind() == Kind.EXTEND) {
      keep(new Word(id, Kind.RELEASE, Long.parseLong(before.grant().get(TOKENS_AT))));
    }
  }

  /** It is over, but what has it held may be on its way. */
  synchronized void release(OpenGrants.Grant grant) {
    if (!words.containsKey(grant.id())) {
      keep(new Word(grant.id(), Kind.RELEASE, grant.answer().tokens()));
    }
  }

  synchronized void undo(String id) {
    keep(new Word(id, Kind.UNDO, 0));
  }

  synchronized void forgo(String id) {
    keep(new Word(id, Kind.FORGO, 0));
  }

  private void keep(Word word) {
    words.put(word.id(), word);
    if (words.size() > MOST) {
      words.remove(words.keySet().iterator().next());
      if (dropped++ % WARN_EVERY == 0) {
        LOG.warn(
            "model {}: Redis is away for so long that the oldest of {} settlements is forgotten",
            model,
            MOST);
      }
    }
  }

  synchronized int size() {
    return words.size();
  }

  private synchronized List<Word> first(int most) {
    List<Word> some = new ArrayList<>();
    for (Word each : words.values()) {
      if (some.size() == most) {
        break;
      }
      some.add(each);
    }
    return some;
  }

  private synchronized void done(Word word) {
    words.remove(word.id(), word);
  }

  /**
   * Sends the oldest, no more than so many; fails if one is not answered. What was extended is sent
   * only if it is still {@code open}.
   */
  CompletableFuture<Void> send(int most, Predicate<String> open) {
    return CompletableFuture.allOf(
        first(most).stream().map(word -> send(word, open)).toArray(CompletableFuture<?>[]::new));
  }

  private CompletableFuture<Void> send(Word word, Predicate<String> open) {
    if (word.kind() == Kind.EXTEND && !open.test(word.id())) {
      done(word);
      return CompletableFuture.allOf();
    }
    return ask(word)
        .thenRun(() -> done(word))
        .exceptionally(
            failure -> {
              Refusals.dropOrRethrow("what became of a grant", failure);
              done(word);
              return null;
            });
  }

  private CompletableFuture<?> ask(Word word) {
    return switch (word.kind()) {
      case SETTLE, SETTLE_ELSEWHERE -> settle(word);
      // By then Redis may have ended it.
      case EXTEND -> books.probe(Script.HOLD, word.grant().toArray(String[]::new));
      case CANCEL -> books.probe(Script.TICKET, "cancel", word.id());
      case RELEASE -> books.probe(Script.SETTLE, settlement(word.id(), word.actual(), false));
      case FORGO -> books.probe(Script.TICKET, "forgo", word.id());
      case UNDO ->
          CompletableFuture.allOf(settle(word), books.probe(Script.TICKET, "cancel", word.id()));
    };
  }

  private CompletableFuture<Void> settle(Word word) {
    boolean elsewhere = word.kind() == Kind.SETTLE_ELSEWHERE;
    return books
        .probe(Script.SETTLE, settlement(word.id(), word.actual(), elsewhere))
        .thenAccept(answer -> settled.accept(answer, word.actual()));
  }
}
