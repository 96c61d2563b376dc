package dev.sluice.governor.redis.store;

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
  /** Refused as it was asked for: with the figure that was exceeded. */
  private static final int WITH_FIGURE = 8;

  /** Where a status begins with the classes. */
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

  /** Less than zero is unknown. */
  private static Optional<Duration> known(long micros) {
    return micros < 0 ? Optional.empty() : Optional.of(Duration.ofMillis(millis(micros)));
  }

  // ---- names

  /** The name in scripts of the denial of a request that can never be granted. */
  private static final String EXCEEDS_CAPACITY = "EXCEEDS_CAPACITY";

  /**
   * Returns the reason that the scripts call {@code word}. Their names are also in tickets that are
   * stored in Redis, and stay when names in Java change.
   */
  public static TokenDecision.Reason reason(String word) {
    return switch (word) {
      case "LINE_FULL" -> TokenDecision.Reason.TOO_MANY_WAITERS;
      case "DEADLINE" -> TokenDecision.Reason.TIMEOUT;
      default -> TokenDecision.Reason.valueOf(word);
    };
  }

  /** Returns the dimension that the scripts call {@code word}. */
  public static BudgetDimension dimension(String word) {
    return switch (word) {
      case "CLASS" -> BudgetDimension.PRIORITY_CLASS;
      case "LINE" -> BudgetDimension.WAITING_LIST;
      default -> BudgetDimension.valueOf(word);
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
  static @Nullable String keyOf(String word) {
    return word.isEmpty() ? null : word;
  }

  // ---- outcomes

  /** Of a request. */
  TokenDecision outcome(TokenRequest request, ScriptReply said, ModelScriptConfig config) {
    if (said.kind() != 'r' || said.size() < WITH_FIGURE) {
      return outcome(said, config);
    }
    String word = said.text(5);
    long left = said.number(4);
    if (word.equals(EXCEEDS_CAPACITY)) {
      long tokens = BudgetStoreSupport.reserved(config.budget(), request);
      return new TokenDecision.Impossible(
          model,
          request.priorityClass(),
          request.tokens(),
          left,
          BudgetStoreSupport.tooMany(said.number(6), request.priorityClass(), tokens));
    }
    return new TokenDecision.Denied(
        model,
        request.priorityClass(),
        request.tokens(),
        left,
        reason(word),
        BudgetStoreSupport.waitingListFull((int) said.number(6), model));
  }

  /** Of a ticket. */
  TokenDecision outcome(ScriptReply said, ModelScriptConfig config) {
    String priority = said.text(3);
    long asked = said.number(2);
    long left = said.number(4);
    return switch (said.kind()) {
      case 'g' ->
          new TokenDecision.Granted(
              model, priority, said.number(5), left, asked, reservation(said.text(1)));
      case 'q' ->
          new TokenDecision.Queued(
              model,
              priority,
              asked,
              left,
              known(said.number(5)),
              (int) said.number(6),
              known(said.number(7)),
              dimension(said.text(8)),
              ticket(said.text(1)));
      default -> refused(priority, asked, left, said.text(5), config);
    };
  }

  /** Maps a decision about a ticket. */
  TokenDecision outcome(ScriptResult.TicketDecision news, ModelScriptConfig config) {
    return news.granted()
        ? new TokenDecision.Granted(
            model,
            news.priority(),
            news.tokens(),
            news.left(),
            news.asked(),
            reservation(news.id()))
        : refused(news.priority(), news.asked(), news.left(), news.reason(), config);
  }

  /** Maps the denial of a ticket that was waiting. */
  TokenDecision.Denied refused(
      StoreSnapshot.OpenTicket place, TokenDecision.Reason reason, ModelScriptConfig config) {
    return refused(place.request().priorityClass(), place.request().tokens(), 0, reason, config);
  }

  /** Returns the denial of a request that was waiting, for the reason that the scripts name. */
  TokenDecision refused(StoreSnapshot.OpenTicket place, String word, ModelScriptConfig config) {
    TokenRequest request = place.request();
    return refused(request.priorityClass(), request.tokens(), 0, word, config);
  }

  /** The place of a ticket in line, at that time of this node. */
  StoreSnapshot.OpenTicket place(ScriptReply said, long nowNanos) {
    TokenRequest request =
        TokenRequest.of(model, said.number(2))
            .withPriorityClass(said.text(3))
            .withTenant(said.text(10));
    long left = said.number(9);
    return new StoreSnapshot.OpenTicket(
        ticket(said.text(1)),
        said.text(11).isEmpty() ? request : request.withIdempotencyKey(said.text(11)),
        said.number(12),
        nowNanos - ScriptResult.nanos(said.number(13)),
        left > 0 ? nowNanos + ScriptResult.nanos(left) : Long.MAX_VALUE);
  }

  /**
   * Returns when a ticket was asked for, by the clock of the books. The clock of this node is of no
   * use for the order of tickets: it may have stood still before an answer was read.
   */
  public static long askedMicros(ScriptReply said, long micros) {
    return micros - said.number(13);
  }

  /** Of a request that nobody could be asked for. */
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
      String priority, long asked, long left, String word, ModelScriptConfig config) {
    return word.equals(EXCEEDS_CAPACITY)
        ? new TokenDecision.Impossible(model, priority, asked, left, BudgetStoreSupport.IMPOSSIBLE)
        : refused(priority, asked, left, reason(word), config);
  }

  private TokenDecision.Denied refused(
      String priority,
      long asked,
      long left,
      TokenDecision.Reason reason,
      ModelScriptConfig config) {
    return new TokenDecision.Denied(
        model, priority, asked, left, reason, BudgetStoreSupport.inWords(reason, config.waitingList()));
  }

  // ---- the rest

  Optional<TokenOwner> owner(ScriptReply said) {
    return said.size() == 0
        ? Optional.empty()
        : Optional.of(new TokenOwner(model, said.text(0), said.text(1)));
  }

  TokenSettlement settlement(ScriptReply said, long actual) {
    return TokenSettlement.of(
        model, said.text(2), said.number(1), said.number(0), actual, said.number(3));
  }

  TokenExplanation explanation(TokenRequest request, ScriptReply said, ModelScriptConfig config) {
    long tokens = BudgetStoreSupport.reserved(config.budget(), request);
    BudgetDimension binding = dimension(said.text(1));
    Outcome outcome =
        switch (said.kind()) {
          case 'g' -> Outcome.GRANTED;
          case 'q' -> Outcome.QUEUED;
          default -> binding == BudgetDimension.WAITING_LIST ? Outcome.DENIED : Outcome.IMPOSSIBLE;
        };
    String message = BudgetStoreSupport.inWords(binding);
    if (outcome == Outcome.DENIED) {
      message = BudgetStoreSupport.waitingListFull((int) said.number(2), model);
    } else if (outcome == Outcome.IMPOSSIBLE) {
      message = BudgetStoreSupport.tooMany(said.number(2), request.priorityClass(), tokens);
    }
    return new TokenExplanation(
        model,
        request.priorityClass(),
        tokens,
        outcome,
        binding,
        (int) said.number(4),
        known(said.number(3)),
        known(said.number(5)),
        message,
        new ScriptReply(said.parts().subList(6, said.size()))
            .lists().stream().map(ReplyMapper::part).toList());
  }

  private static TokenExplanation.DimensionStatus part(ScriptReply said) {
    return new TokenExplanation.DimensionStatus(
        dimension(said.text(0)),
        said.number(1),
        said.number(2),
        said.number(3),
        known(said.number(4)));
  }

  /** Maps the waiting list. */
  WaitingListStatus waitingList(ScriptReply said) {
    Map<String, Duration> etas = new LinkedHashMap<>();
    Map<String, BudgetDimension> bindings = new LinkedHashMap<>();
    ScriptReply classes = said.list(1);
    for (int at = 0; at < classes.size(); at += 3) {
      String name = classes.text(at);
      known(classes.number(at + 1)).ifPresent(eta -> etas.put(name, eta));
      bindings.put(name, dimension(classes.text(at + 2)));
    }
    return new WaitingListStatus(
        model,
        (int) said.number(0),
        etas,
        bindings,
        new ScriptReply(said.parts().subList(2, said.size()))
            .lists().stream().map(this::place).toList());
  }

  private WaitingListStatus.QueuedTicket place(ScriptReply said) {
    return new WaitingListStatus.QueuedTicket(
        ticket(said.text(0)),
        said.text(1),
        said.text(2),
        said.number(3),
        (int) said.number(4),
        known(said.number(5)),
        dimension(said.text(6)),
        Duration.ofMillis(millis(said.number(7))));
  }

  /** Returns the status of a model that is not known at all. */
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

  /** The status of a node's share, with the figures of the whole budget. */
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

  /** With the limits that are in force, which another node may have told. */
  GovernorStatus.Model status(ScriptReply said, ModelScriptConfig config) {
    Map<String, Integer> lengths = new LinkedHashMap<>();
    config.classes().forEach(name -> lengths.put(name, 0));
    for (int at = CLASSES_AT; at < said.size(); at += 2) {
      lengths.put(said.text(at), (int) said.number(at + 1));
    }
    long total = said.number(2);
    long accepted = said.number(3);
    return new GovernorStatus.Model(
        model,
        said.number(7),
        said.number(0),
        said.number(8),
        Instant.now().minus(said.number(6), ChronoUnit.MICROS),
        lengths,
        (int) said.number(1),
        new GovernorStatus.Counts(
            total, accepted, total - accepted, said.number(4), said.number(5)),
        new GovernorStatus.Audit(0, 0, said.number(EXCESS_AT), 0, 0),
        GovernorStatus.Provider.UNKNOWN,
        exhaustion(said),
        List.of());
  }

  private static Optional<GovernorStatus.Exhaustion> exhaustion(ScriptReply said) {
    String dimension = said.text(9);
    return dimension.isEmpty()
        ? Optional.empty()
        : Optional.of(
            new GovernorStatus.Exhaustion(
                dimension(dimension),
                said.number(10),
                Duration.of(said.number(11), ChronoUnit.MICROS)));
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
