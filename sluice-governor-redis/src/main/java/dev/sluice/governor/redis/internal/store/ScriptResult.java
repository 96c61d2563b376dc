package dev.sluice.governor.redis.internal.store;

import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.redis.RedisBudgets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The parts that the replies of all scripts have.
 *
 * @param micros the time of the model state
 * @param waitMicros the time until the waiting list should be checked; negative if it is empty
 * @param waiting the number of waiters
 * @param decisions the decisions about tickets that the call has made
 * @param result the result of the call
 * @param asked whether the call counts as a request
 * @param refilled the new tokens that the call found
 * @param level the number of tokens then
 */
public record ScriptResult(
    long micros,
    long waitMicros,
    long waiting,
    List<ScriptResult.TicketDecision> decisions,
    ScriptReply result,
    boolean asked,
    long refilled,
    long level) {
  private static final Logger LOG = LoggerFactory.getLogger(RedisBudgets.class);
  private static final long NANOS_PER_MICRO = 1_000;

  /** The sizes of short replies, which no other reply has. */
  private static final int FAST_GRANT = 4;

  private static final int FAST_SETTLEMENT = 9;

  /**
   * The decision about a ticket.
   *
   * @param id the id without its kind and its model
   * @param granted whether the ticket was granted; otherwise it was denied
   * @param reason the stored name of the reason of a denial
   * @param tokens the tokens that were charged
   * @param asked the tokens that the request asked for
   * @param priority the priority class
   * @param tenant the tenant
   * @param waitedMicros the time since the request
   * @param left the tokens that the model had left then
   * @param claimed whether this node has claimed the grant and may deliver it
   * @param key the idempotency key; empty for none
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
    // In the order of the script.
    static ScriptResult.TicketDecision of(ScriptReply reply) {
      int at = 0;
      return new ScriptResult.TicketDecision(
          reply.text(at++),
          reply.text(at++).equals("g"),
          reply.text(at++),
          reply.number(at++),
          reply.number(at++),
          reply.text(at++),
          reply.text(at++),
          reply.number(at++),
          reply.number(at++),
          reply.number(at++) == 1,
          reply.text(at));
    }

    /** Returns the request, as far as Redis knows it. */
    TokenRequest request(String model) {
      TokenRequest request =
          TokenRequest.of(model, asked).withPriorityClass(priority).withTenant(tenant);
      return key.isEmpty() ? request : request.withIdempotencyKey(key);
    }

    long waitedNanos() {
      return nanos(waitedMicros);
    }
  }

  /** Returns whether Redis has no state of the model that this node knows. */
  static boolean isUnknown(List<?> reply) {
    return reply.size() == 1;
  }

  /** Parses the reply to a call with these arguments. */
  public static ScriptResult of(List<?> values, String... args) {
    ScriptReply reply = new ScriptReply(values);
    if (values.size() == FAST_GRANT) {
      ScriptReply grant =
          new ScriptReply(
              List.of(
                  "g",
                  args[0],
                  Long.valueOf(args[5]),
                  args[3],
                  reply.number(1),
                  Long.valueOf(args[4]),
                  args[2]));
      return fast(reply.number(0), grant, true, reply.number(2), reply.number(3));
    }
    if (values.size() == FAST_SETTLEMENT) {
      ScriptReply settled = new ScriptReply(values.subList(3, values.size()));
      return fast(reply.number(0), settled, false, reply.number(1), reply.number(2));
    }
    int at = 0;
    return new ScriptResult(
        reply.number(at++),
        reply.number(at++),
        reply.number(at++),
        decisions(reply.list(at++)),
        reply.list(at++),
        reply.number(at++) == 1,
        reply.number(at++),
        reply.number(at));
  }

  /** Returns the result of a fast script, which runs only without waiters. */
  private static ScriptResult fast(
      long micros, ScriptReply result, boolean asked, long refilled, long level) {
    return new ScriptResult(micros, -1, 0, List.of(), result, asked, refilled, level);
  }

  private static List<ScriptResult.TicketDecision> decisions(ScriptReply reply) {
    List<ScriptResult.TicketDecision> decisions = new ArrayList<>();
    for (Object each : reply.parts()) {
      logFailure(
          () -> decisions.add(ScriptResult.TicketDecision.of(new ScriptReply((List<?>) each))));
    }
    return decisions;
  }

  /** Runs an action for each decision in order; failures are logged. */
  void forEachDecision(Consumer<ScriptResult.TicketDecision> action) {
    decisions.forEach(each -> logFailure(() -> action.accept(each)));
  }

  /** Decisions are about tickets of other callers: they must not fail a call that has run. */
  private static void logFailure(Runnable work) {
    try {
      work.run();
    } catch (RuntimeException failure) {
      LOG.warn("cannot parse a notification from Redis about a ticket", failure);
    }
  }

  /** Converts a time of the model state. */
  static long nanos(long micros) {
    return micros * NANOS_PER_MICRO;
  }

  long nanos() {
    return nanos(micros);
  }
}
