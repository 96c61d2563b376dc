package dev.sluice.governor.redis.store;

import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.redis.RedisBudgets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The reply that all scripts have in common.
 *
 * @param micros the time of the books
 * @param waitMicros until a look at the line is useful; negative if nobody is in it
 * @param waiting how many are in line
 * @param news what was decided about tickets meanwhile
 * @param result what was asked for
 * @param asked whether it counts as a request
 * @param refilled tokens that it found
 * @param level how many there were then
 */
public record ScriptResult(
    long micros,
    long waitMicros,
    long waiting,
    List<ScriptResult.TicketDecision> news,
    ScriptReply result,
    boolean asked,
    long refilled,
    long level) {
  private static final Logger LOG = LoggerFactory.getLogger(RedisBudgets.class);
  private static final long NANOS_PER_MICRO = 1_000;

  /** Numbers of an answer in short, which no other has. */
  private static final int QUICK_GRANT = 4;

  private static final int QUICK_SETTLEMENT = 9;

  /**
   * The decision about a ticket.
   *
   * @param id without its kind and its model
   * @param granted or else refused
   * @param reason of a refusal
   * @param tokens what was charged
   * @param asked what was asked for
   * @param priority its class
   * @param tenant whose turn it was
   * @param waitedMicros since it was asked for
   * @param left what the model had left then
   * @param claimed whether it is for this node to tell
   * @param key its idempotency key; empty for none
   */
  public record TicketDecision(
      String id,
      boolean granted,
      String reason,
      long tokens,
      long asked,
      String priority,
      String tenant,
      long waitedMicros,
      long left,
      boolean claimed,
      String key) {
    // The script says it in this order.
    static ScriptResult.TicketDecision of(ScriptReply said) {
      int at = 0;
      return new ScriptResult.TicketDecision(
          said.text(at++),
          said.text(at++).equals("g"),
          said.text(at++),
          said.number(at++),
          said.number(at++),
          said.text(at++),
          said.text(at++),
          said.number(at++),
          said.number(at++),
          said.number(at++) == 1,
          said.text(at));
    }

    /** As far as Redis knows it. */
    TokenRequest request(String model) {
      TokenRequest request =
          TokenRequest.of(model, asked).withPriorityClass(priority).withTenant(tenant);
      return key.isEmpty() ? request : request.withIdempotencyKey(key);
    }

    long waitedNanos() {
      return nanos(waitedMicros);
    }
  }

  /** Whether there are no books of that model. */
  static boolean isUnknown(List<?> said) {
    return said.size() == 1;
  }

  /** Of a script that was asked with these words. */
  public static ScriptResult of(List<?> said, String... words) {
    ScriptReply reply = new ScriptReply(said);
    if (said.size() == QUICK_GRANT) {
      ScriptReply grant =
          new ScriptReply(
              List.of(
                  "g",
                  words[0],
                  Long.valueOf(words[5]),
                  words[3],
                  reply.number(1),
                  Long.valueOf(words[4]),
                  words[2]));
      return quick(reply.number(0), grant, true, reply.number(2), reply.number(3));
    }
    if (said.size() == QUICK_SETTLEMENT) {
      ScriptReply settled = new ScriptReply(said.subList(3, said.size()));
      return quick(reply.number(0), settled, false, reply.number(1), reply.number(2));
    }
    int at = 0;
    return new ScriptResult(
        reply.number(at++),
        reply.number(at++),
        reply.number(at++),
        news(reply.list(at++)),
        reply.list(at++),
        reply.number(at++) == 1,
        reply.number(at++),
        reply.number(at));
  }

  /** Where nobody is in line. */
  private static ScriptResult quick(
      long micros, ScriptReply result, boolean asked, long refilled, long level) {
    return new ScriptResult(micros, -1, 0, List.of(), result, asked, refilled, level);
  }

  private static List<ScriptResult.TicketDecision> news(ScriptReply said) {
    List<ScriptResult.TicketDecision> news = new ArrayList<>();
    for (Object each : said.parts()) {
      unlessItFails(
          () -> news.add(ScriptResult.TicketDecision.of(new ScriptReply((List<?>) each))));
    }
    return news;
  }

  /** One after the other; one that cannot be made use of is logged. */
  void forEachNews(Consumer<ScriptResult.TicketDecision> heard) {
    news.forEach(each -> unlessItFails(() -> heard.accept(each)));
  }

  /** News are of others' tickets: they must not fail a call that Redis has done. */
  private static void unlessItFails(Runnable work) {
    try {
      work.run();
    } catch (RuntimeException failure) {
      LOG.warn("cannot parse a notification from Redis about a ticket", failure);
    }
  }

  /** Of the time of the books. */
  static long nanos(long micros) {
    return micros * NANOS_PER_MICRO;
  }

  long nanos() {
    return nanos(micros);
  }
}
