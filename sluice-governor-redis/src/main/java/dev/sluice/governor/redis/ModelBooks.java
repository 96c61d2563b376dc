package dev.sluice.governor.redis;

import dev.sluice.redis.link.RedisLink;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The books of one model in Redis: every call about it goes through here. Where Redis has none, it
 * is told the rules and asked once more.
 */
final class ModelBooks {
  private static final Logger LOG = LoggerFactory.getLogger(RedisBudgets.class);

  private final String model;
  private final RedisLink link;
  private final String node;
  private final String[] keys;
  private final Consumer<Answer> heard;
  private final AtomicInteger underWay = new AtomicInteger();

  private volatile ModelTerms terms;

  /** What Redis has confirmed; it may be told something else by other nodes. */
  private volatile @Nullable ModelTerms confirmed;

  /** Then books that are not there any more were lost, and who knows what was left. */
  private volatile boolean answered;

  /** Has {@code heard} told every answer before anybody else learns of it. */
  ModelBooks(Fleet fleet, String model, ModelTerms terms, Consumer<Answer> heard) {
    this.model = model;
    this.link = fleet.link();
    this.node = fleet.node();
    this.keys = fleet.keys(model).all();
    this.terms = terms;
    this.heard = heard;
  }

  ModelTerms terms() {
    return terms;
  }

  /** Goes by these from now on; Redis is to be told by {@link #configure}. */
  void use(ModelTerms next) {
    terms = next;
  }

  boolean isConfirmed() {
    return confirmed == terms;
  }

  /** Whether every call has been answered, and nobody is told of one any more. */
  boolean isQuiet() {
    return underWay.get() == 0;
  }

  /** Asks; fails with {@link BudgetUnavailableException} if there is no answer in time. */
  CompletableFuture<Answer> call(Script script, String... words) {
    return ask(link::call, script, words);
  }

  /** {@link #call}, whatever the breaker says. */
  CompletableFuture<Answer> probe(Script script, String... words) {
    return ask(link::probe, script, words);
  }

  /** A way to ask Redis. */
  private interface Way {
    CompletableFuture<List<Object>> ask(Script script, String[] keys, String[] arguments);
  }

  @SuppressWarnings("FutureReturnValueIgnored") // what they lead to is tracked
  private CompletableFuture<Answer> ask(Way way, Script script, String[] words) {
    Tracked tracked = new Tracked();
    way.ask(script, keys, arguments(words))
        .whenComplete(
            (said, failure) -> {
              if (said != null && Answer.isUnknown(said)) {
                again(way, script, words).whenComplete(tracked::end);
              } else {
                tracked.end(said, words, failure);
              }
            });
    return tracked;
  }

  private CompletableFuture<Answer> again(Way way, Script script, String[] words) {
    if (answered) {
      LOG.warn("Redis has lost the books of model {}: they begin empty", model);
    }
    return told(way.ask(Script.RULES, keys, arguments(terms.configure(answered))), terms)
        .thenCompose(done -> way.ask(script, keys, arguments(words)))
        .thenApply(said -> known(said, words));
  }

  /** Tells Redis the rules, whatever the breaker says. */
  CompletableFuture<Answer> configure() {
    ModelTerms mine = terms;
    Tracked tracked = new Tracked();
    var unused =
        told(link.probe(Script.RULES, keys, arguments(mine.configure(answered))), mine)
            .whenComplete(tracked::end);
    return tracked;
  }

  private CompletableFuture<Answer> told(CompletableFuture<List<Object>> call, ModelTerms mine) {
    return call.thenApply(
        said -> {
          Answer answer = known(said);
          confirmed = mine;
          return answer;
        });
  }

  private String[] arguments(String[] words) {
    String[] arguments = new String[words.length + 1];
    arguments[0] = node;
    System.arraycopy(words, 0, arguments, 1, words.length);
    return arguments;
  }

  private Answer known(List<Object> said, String... words) {
    if (Answer.isUnknown(said)) {
      throw new BudgetUnavailableException("Redis keeps losing the books of model " + model, null);
    }
    answered = true;
    Answer answer = Answer.of(said, words);
    try {
      heard.accept(answer);
    } catch (RuntimeException failure) {
      // Redis has done what it was asked for.
      LOG.warn("model {}: what else Redis said is not understood", model, failure);
    }
    return answer;
  }

  /** A call that counts until whoever waits for it has been told. */
  private final class Tracked extends CompletableFuture<Answer> {
    Tracked() {
      underWay.incrementAndGet();
    }

    void end(@Nullable List<Object> said, String[] words, @Nullable Throwable failure) {
      Answer answer = null;
      Throwable thrown = failure;
      if (said != null) {
        try {
          answer = known(said, words);
        } catch (RuntimeException | Error e) {
          thrown = e;
        }
      }
      end(answer, thrown);
    }

    void end(@Nullable Answer answer, @Nullable Throwable failure) {
      if (answer != null) {
        complete(answer);
      } else {
        completeExceptionally(causeOf(Objects.requireNonNull(failure)));
      }
      underWay.decrementAndGet();
    }
  }

  private static Throwable causeOf(Throwable failure) {
    Throwable cause = failure.getCause();
    return failure instanceof CompletionException && cause != null ? cause : failure;
  }
}
