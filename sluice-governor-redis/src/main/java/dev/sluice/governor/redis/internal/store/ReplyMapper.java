package dev.sluice.governor.redis.internal.store;

import dev.sluice.Limit;
import dev.sluice.governor.BudgetDimension;
import dev.sluice.governor.GovernorStatus;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenExplanation;
import dev.sluice.governor.TokenExplanation.Outcome;
import dev.sluice.governor.TokenOwner;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.TokenSettlement;
import dev.sluice.governor.WaitingListStatus;
import dev.sluice.governor.spi.BudgetStoreSupport;
import dev.sluice.governor.spi.ModelLimits;
import dev.sluice.governor.spi.StoreSnapshot;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Maps replies of the scripts of one model to types of the governor. */
public final class ReplyMapper {
  /** The size of the denial of a request, which has the limit that was exceeded. */
  private static final int WITH_FIGURE = 8;

  /** The position of the first class in a status. */
  private static final int CLASSES_AT = 13;

  private static final int EXCESS_AT = 12;

  private static final long MICROS_PER_MILLI = 1_000;

  private final String model;
  private final String tag;

  ReplyMapper(String model) {
    this.model = model;
    this.tag = BudgetStoreSupport.tagOf(model);
  }

  /** Rounds up. */
  private static long millis(long micros) {
    return Math.floorDiv(micros + MICROS_PER_MILLI - 1, MICROS_PER_MILLI);
  }

  /** Returns a duration; empty for a negative time, which is unknown. */
  private static Optional<Duration> known(long micros) {
    return micros < 0 ? Optional.empty() : Optional.of(Duration.ofMillis(millis(micros)));
  }

  // ---- names

  /** The name in scripts of the denial of a request that can never be granted. */
  private static final String EXCEEDS_CAPACITY = "EXCEEDS_CAPACITY";

  /**
   * Returns the reason for a name of the scripts. The names are also stored in tickets, and stay
   * when names in Java change.
   */
  public static TokenDecision.Reason reason(String storedName) {
    return switch (storedName) {
      case "LINE_FULL" -> TokenDecision.Reason.TOO_MANY_WAITERS;
      case "DEADLINE" -> TokenDecision.Reason.TIMEOUT;
      default -> TokenDecision.Reason.valueOf(storedName);
    };
  }

  /** Returns the dimension for a name of the scripts. */
  public static BudgetDimension dimension(String storedName) {
    return switch (storedName) {
      case "CLASS" -> BudgetDimension.PRIORITY_CLASS;
      case "LINE" -> BudgetDimension.WAITING_LIST;
      default -> BudgetDimension.valueOf(storedName);
    };
  }

  String ticket(String id) {
    return "t" + tag + '-' + id;
  }

  String reservation(String id) {
    return "r" + tag + '-' + id;
  }

  /** Returns the id that Redis uses for a ticket or a reservation. */
  public static String idIn(String name) {
    return name.substring(name.indexOf('-') + 1);
  }

  /** Returns an idempotency key that the scripts name; null for none. */
  static @Nullable String keyOf(String key) {
    return key.isEmpty() ? null : key;
  }

  // ---- outcomes

  /** Maps the decision for a request. */
  TokenDecision outcome(TokenRequest request, ScriptReply reply, ModelScriptConfig config) {
    if (reply.kind() != 'r' || reply.size() < WITH_FIGURE) {
      return outcome(reply, config);
    }
    String storedName = reply.text(5);
    long left = reply.number(4);
    if (storedName.equals(EXCEEDS_CAPACITY)) {
      long tokens = BudgetStoreSupport.reserved(config.budget(), request);
      return new TokenDecision.Impossible(
          model,
          request.priorityClass(),
          request.tokens(),
          left,
          BudgetStoreSupport.tooMany(reply.number(6), request.priorityClass(), tokens));
    }
    return new TokenDecision.Denied(
        model,
        request.priorityClass(),
        request.tokens(),
        left,
        reason(storedName),
        BudgetStoreSupport.waitingListFull((int) reply.number(6), model));
  }

  /** Maps the state of a ticket. */
  TokenDecision outcome(ScriptReply reply, ModelScriptConfig config) {
    String priority = reply.text(3);
    long asked = reply.number(2);
    long left = reply.number(4);
    return switch (reply.kind()) {
      case 'g' ->
          new TokenDecision.Granted(
              model, priority, reply.number(5), left, asked, reservation(reply.text(1)));
      case 'q' ->
          new TokenDecision.Queued(
              model,
              priority,
              asked,
              left,
              known(reply.number(5)),
              (int) reply.number(6),
              known(reply.number(7)),
              dimension(reply.text(8)),
              ticket(reply.text(1)));
      default -> refused(priority, asked, left, reply.text(5), config);
    };
  }

  /** Maps a decision about a ticket. */
  TokenDecision outcome(ScriptResult.TicketDecision decision, ModelScriptConfig config) {
    return decision.granted()
        ? new TokenDecision.Granted(
            model,
            decision.priority(),
            decision.tokens(),
            decision.left(),
            decision.asked(),
            reservation(decision.id()))
        : refused(
            decision.priority(), decision.asked(), decision.left(), decision.reason(), config);
  }

  /** Maps the denial of a ticket that was waiting. */
  TokenDecision.Denied refused(
      StoreSnapshot.OpenTicket place, TokenDecision.Reason reason, ModelScriptConfig config) {
    return refused(place.request().priorityClass(), place.request().tokens(), 0, reason, config);
  }

  /** Returns the denial of a request that was waiting, for a stored reason. */
  TokenDecision refused(
      StoreSnapshot.OpenTicket place, String storedName, ModelScriptConfig config) {
    TokenRequest request = place.request();
    return refused(request.priorityClass(), request.tokens(), 0, storedName, config);
  }

  /** Returns a waiting ticket, at that time of this node. */
  StoreSnapshot.OpenTicket place(ScriptReply reply, long nowNanos) {
    TokenRequest request =
        TokenRequest.of(model, reply.number(2))
            .withPriorityClass(reply.text(3))
            .withTenant(reply.text(10));
    long left = reply.number(9);
    return new StoreSnapshot.OpenTicket(
        ticket(reply.text(1)),
        reply.text(11).isEmpty() ? request : request.withIdempotencyKey(reply.text(11)),
        reply.number(12),
        nowNanos - ScriptResult.nanos(reply.number(13)),
        left > 0 ? nowNanos + ScriptResult.nanos(left) : Long.MAX_VALUE);
  }

  /**
   * Returns the time of the request of a ticket, by the clock of the model state. The clock of this
   * node cannot order tickets: it may have stood still before an answer was read.
   */
  public static long askedMicros(ScriptReply reply, long micros) {
    return micros - reply.number(13);
  }

  /** Returns the denial of a request about which Redis could not be asked. */
  TokenDecision.Denied unavailable(TokenRequest request, long left, String message) {
    return new TokenDecision.Denied(
        model,
        request.priorityClass(),
        request.tokens(),
        left,
        TokenDecision.Reason.UNAVAILABLE,
        message);
  }

  private TokenDecision refused(
      String priority, long asked, long left, String storedName, ModelScriptConfig config) {
    return storedName.equals(EXCEEDS_CAPACITY)
        ? new TokenDecision.Impossible(model, priority, asked, left, BudgetStoreSupport.IMPOSSIBLE)
        : refused(priority, asked, left, reason(storedName), config);
  }

  private TokenDecision.Denied refused(
      String priority,
      long asked,
      long left,
      TokenDecision.Reason reason,
      ModelScriptConfig config) {
    return new TokenDecision.Denied(
        model,
        priority,
        asked,
        left,
        reason,
        BudgetStoreSupport.inWords(reason, config.waitingList()));
  }

  // ---- other replies

  Optional<TokenOwner> owner(ScriptReply reply) {
    return reply.size() == 0
        ? Optional.empty()
        : Optional.of(new TokenOwner(model, reply.text(0), reply.text(1)));
  }

  TokenSettlement settlement(ScriptReply reply, long actual) {
    return TokenSettlement.of(
        model, reply.text(2), reply.number(1), reply.number(0), actual, reply.number(3));
  }

  TokenExplanation explanation(TokenRequest request, ScriptReply reply, ModelScriptConfig config) {
    long tokens = BudgetStoreSupport.reserved(config.budget(), request);
    BudgetDimension binding = dimension(reply.text(1));
    Outcome outcome =
        switch (reply.kind()) {
          case 'g' -> Outcome.GRANTED;
          case 'q' -> Outcome.QUEUED;
          default -> binding == BudgetDimension.WAITING_LIST ? Outcome.DENIED : Outcome.IMPOSSIBLE;
        };
    String message = BudgetStoreSupport.inWords(binding);
    if (outcome == Outcome.DENIED) {
      message = BudgetStoreSupport.waitingListFull((int) reply.number(2), model);
    } else if (outcome == Outcome.IMPOSSIBLE) {
      message = BudgetStoreSupport.tooMany(reply.number(2), request.priorityClass(), tokens);
    }
    return new TokenExplanation(
        model,
        request.priorityClass(),
        tokens,
        outcome,
        binding,
        (int) reply.number(4),
        known(reply.number(3)),
        known(reply.number(5)),
        message,
        new ScriptReply(reply.parts().subList(6, reply.size()))
            .lists().stream().map(ReplyMapper::part).toList());
  }

  private static TokenExplanation.DimensionStatus part(ScriptReply reply) {
    return new TokenExplanation.DimensionStatus(
        dimension(reply.text(0)),
        reply.number(1),
        reply.number(2),
        reply.number(3),
        known(reply.number(4)));
  }

  /** Maps the waiting list. */
  WaitingListStatus waitingList(ScriptReply reply) {
    Map<String, Duration> etas = new LinkedHashMap<>();
    Map<String, BudgetDimension> bindings = new LinkedHashMap<>();
    ScriptReply classes = reply.list(1);
    for (int at = 0; at < classes.size(); at += 3) {
      String name = classes.text(at);
      known(classes.number(at + 1)).ifPresent(eta -> etas.put(name, eta));
      bindings.put(name, dimension(classes.text(at + 2)));
    }
    return new WaitingListStatus(
        model,
        (int) reply.number(0),
        etas,
        bindings,
        new ScriptReply(reply.parts().subList(2, reply.size()))
            .lists().stream().map(this::place).toList());
  }

  private WaitingListStatus.QueuedTicket place(ScriptReply reply) {
    return new WaitingListStatus.QueuedTicket(
        ticket(reply.text(0)),
        reply.text(1),
        reply.text(2),
        reply.number(3),
        (int) reply.number(4),
        known(reply.number(5)),
        dimension(reply.text(6)),
        Duration.ofMillis(millis(reply.number(7))));
  }

  /** Returns the status of a model about which nothing is known. */
  GovernorStatus.Model nothingLeft(ModelScriptConfig config) {
    Map<String, Integer> lengths = new LinkedHashMap<>();
    config.classes().forEach(name -> lengths.put(name, 0));
    return new GovernorStatus.Model(
        model,
        config.budget().tokens().capacity(),
        0,
        config.budget().tokens().refillTokens(),
        Instant.now(),
        lengths,
        0,
        new GovernorStatus.Counts(0, 0, 0, 0, 0),
        GovernorStatus.Audit.NONE,
        GovernorStatus.Provider.UNKNOWN,
        Optional.empty(),
        List.of());
  }

  /** Returns the status of a node's share, with the limits of the whole budget. */
  GovernorStatus.Model ofShare(GovernorStatus.Model here, ModelScriptConfig config) {
    return new GovernorStatus.Model(
        model,
        config.budget().tokens().capacity(),
        here.available(),
        config.budget().tokens().refillTokens(),
        here.lastRefill(),
        here.queueLengths(),
        here.running(),
        here.counts(),
        here.audit(),
        here.provider(),
        here.exhaustion(),
        here.alerts());
  }

  /** Maps the status, with the limits in force, which another node may have set. */
  GovernorStatus.Model status(ScriptReply reply, ModelScriptConfig config) {
    Map<String, Integer> lengths = new LinkedHashMap<>();
    config.classes().forEach(name -> lengths.put(name, 0));
    for (int at = CLASSES_AT; at < reply.size(); at += 2) {
      lengths.put(reply.text(at), (int) reply.number(at + 1));
    }
    long total = reply.number(2);
    long accepted = reply.number(3);
    return new GovernorStatus.Model(
        model,
        reply.number(7),
        reply.number(0),
        reply.number(8),
        Instant.now().minus(reply.number(6), ChronoUnit.MICROS),
        lengths,
        (int) reply.number(1),
        new GovernorStatus.Counts(
            total, accepted, total - accepted, reply.number(4), reply.number(5)),
        new GovernorStatus.Audit(0, 0, reply.number(EXCESS_AT), 0, 0),
        GovernorStatus.Provider.UNKNOWN,
        exhaustion(reply),
        List.of());
  }

  private static Optional<GovernorStatus.Exhaustion> exhaustion(ScriptReply reply) {
    String dimension = reply.text(9);
    return dimension.isEmpty()
        ? Optional.empty()
        : Optional.of(
            new GovernorStatus.Exhaustion(
                dimension(dimension),
                reply.number(10),
                Duration.of(reply.number(11), ChronoUnit.MICROS)));
  }

  /** Returns the denial of a request that the whole budget can never grant; null if it can. */
  @Nullable TokenDecision tooLarge(TokenRequest request, ModelBudget budget) {
    ModelLimits limits = BudgetStoreSupport.limits(budget);
    long most =
        limits.classes().stream()
            .filter(each -> each.name().equals(request.priorityClass()))
            .mapToLong(ModelLimits.ClassLimit::ceiling)
            .findFirst()
            .orElse(0);
    Limit.Balanced tenant = limits.tenants().getOrDefault(request.tenant(), limits.otherTenants());
    long largest = tenant == null ? most : Math.min(most, tenant.capacity());
    long tokens = BudgetStoreSupport.reserved(budget, request);
    return tokens <= largest
        ? null
        : new TokenDecision.Impossible(
            model,
            request.priorityClass(),
            request.tokens(),
            0,
            BudgetStoreSupport.tooMany(largest, request.priorityClass(), tokens));
  }
}
