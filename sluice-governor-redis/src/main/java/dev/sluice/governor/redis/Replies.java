package dev.sluice.governor.redis;

import dev.sluice.governor.AuditReport;
import dev.sluice.governor.Counts;
import dev.sluice.governor.Dimension;
import dev.sluice.governor.Explanation;
import dev.sluice.governor.GovernorStatus;
import dev.sluice.governor.ModelQueue;
import dev.sluice.governor.OpenWork;
import dev.sluice.governor.Outcome;
import dev.sluice.governor.ProviderStanding;
import dev.sluice.governor.Settlement;
import dev.sluice.governor.StoreTerms;
import dev.sluice.governor.TokenOwner;
import dev.sluice.governor.TokenRequest;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** What the scripts say about one model, in the words of the governor. */
final class Replies {
  /** Refused as it was asked for: with the figure that was exceeded. */
  private static final int WITH_FIGURE = 8;

  /** Where a status begins with the classes. */
  private static final int CLASSES_AT = 13;

  private static final int EXCESS_AT = 12;

  private static final long MICROS_PER_MILLI = 1_000;

  private final String model;
  private final String tag;

  Replies(String model) {
    this.model = model;
    this.tag = StoreTerms.tagOf(model);
  }

  /** Rounds up. */
  private static long millis(long micros) {
    return Math.floorDiv(micros + MICROS_PER_MILLI - 1, MICROS_PER_MILLI);
  }

  /** Less than zero is unknown. */
  private static OptionalLong known(long micros) {
    return micros < 0 ? OptionalLong.empty() : OptionalLong.of(millis(micros));
  }

  String ticket(String id) {
    return "t" + tag + '-' + id;
  }

  String reservation(String id) {
    return "r" + tag + '-' + id;
  }

  /** What Redis knows a ticket or a reservation by. */
  static String idIn(String name) {
    return name.substring(name.indexOf('-') + 1);
  }

  /** Returns an idempotency key that the scripts name; null for none. */
  static @Nullable String keyOf(String word) {
    return word.isEmpty() ? null : word;
  }

  // ---- outcomes

  /** Of a request. */
  Outcome outcome(TokenRequest request, Reply said, ModelTerms terms) {
    if (said.kind() != 'r' || said.size() < WITH_FIGURE) {
      return outcome(said, terms);
    }
    Outcome.Reason reason = Outcome.Reason.valueOf(said.text(5));
    String message =
        reason == Outcome.Reason.LINE_FULL
            ? StoreTerms.lineFull((int) said.number(6), model)
            : StoreTerms.tooMany(
                said.number(6), request.priority(), StoreTerms.reserved(terms.budget(), request));
    return new Outcome.Refused(
        model, request.priority(), request.tokens(), said.number(4), reason, message);
  }

  /** Of a ticket. */
  Outcome outcome(Reply said, ModelTerms terms) {
    String priority = said.text(3);
    long asked = said.number(2);
    long left = said.number(4);
    return switch (said.kind()) {
      case 'g' ->
          new Outcome.Granted(
              model, priority, said.number(5), asked, left, reservation(said.text(1)));
      case 'q' ->
          new Outcome.Queued(
              model,
              priority,
              asked,
              left,
              known(said.number(5)),
              (int) said.number(6),
              known(said.number(7)),
              Dimension.valueOf(said.text(8)),
              ticket(said.text(1)));
      default -> refused(priority, asked, left, Outcome.Reason.valueOf(said.text(5)), terms);
    };
  }

  /** What the news say. */
  Outcome outcome(Answer.Decided news, ModelTerms terms) {
    return news.granted()
        ? new Outcome.Granted(
            model,
            news.priority(),
            news.tokens(),
            news.asked(),
            news.left(),
            reservation(news.id()))
        : refused(
            news.priority(),
            news.asked(),
            news.left(),
            Outcome.Reason.valueOf(news.reason()),
            terms);
  }

  /** What became of one that was in line. */
  Outcome.Refused refused(OpenWork.Place place, Outcome.Reason reason, ModelTerms terms) {
    return refused(place.request().priority(), place.request().tokens(), 0, reason, terms);
  }

  /** The place of a ticket in line, at that time of this node. */
  OpenWork.Place place(Reply said, long nowNanos) {
    TokenRequest request =
        TokenRequest.of(model, said.number(2), said.text(3)).withTenant(said.text(10));
    long left = said.number(9);
    return new OpenWork.Place(
        ticket(said.text(1)),
        said.text(11).isEmpty() ? request : request.withIdempotencyKey(said.text(11)),
        said.number(12),
        nowNanos - Answer.nanos(said.number(13)),
        left > 0 ? nowNanos + Answer.nanos(left) : Long.MAX_VALUE);
  }

  /**
   * Returns when a ticket was asked for, by the clock of the books. The clock of this node is of no
   * use for the order of tickets: it may have stood still before an answer was read.
   */
  static long askedMicros(Reply said, long micros) {
    return micros - said.number(13);
  }

  /** Of a request that nobody could be asked for. */
  Outcome.Refused unavailable(TokenRequest request, long left, String message) {
    return new Outcome.Refused(
        model, request.priority(), request.tokens(), left, Outcome.Reason.UNAVAILABLE, message);
  }

  private Outcome.Refused refused(
      String priority, long asked, long left, Outcome.Reason reason, ModelTerms terms) {
    return new Outcome.Refused(
        model, priority, asked, left, reason, StoreTerms.inWords(reason, terms.rules()));
  }

  // ---- the rest

  Optional<TokenOwner> owner(Reply said) {
    return said.size() == 0
        ? Optional.empty()
        : Optional.of(new TokenOwner(model, said.text(0), said.text(1)));
  }

  Settlement settlement(Reply said, long actual) {
    return Settlement.of(
        model, said.text(2), said.number(1), said.number(0), actual, said.number(3));
  }

  Explanation explanation(TokenRequest request, Reply said, ModelTerms terms) {
    long tokens = StoreTerms.reserved(terms.budget(), request);
    Dimension binding = Dimension.valueOf(said.text(1));
    Explanation.Verdict verdict =
        switch (said.kind()) {
          case 'g' -> Explanation.Verdict.GRANTED;
          case 'q' -> Explanation.Verdict.QUEUED;
          default -> Explanation.Verdict.REFUSED;
        };
    String message = StoreTerms.inWords(binding);
    if (verdict == Explanation.Verdict.REFUSED) {
      message =
          binding == Dimension.LINE
              ? StoreTerms.lineFull((int) said.number(2), model)
              : StoreTerms.tooMany(said.number(2), request.priority(), tokens);
    }
    return new Explanation(
        model,
        request.priority(),
        tokens,
        verdict,
        binding,
        (int) said.number(4),
        known(said.number(3)),
        known(said.number(5)),
        message,
        new Reply(said.parts().subList(6, said.size()))
            .lists().stream().map(Replies::part).toList());
  }

  private static Explanation.Part part(Reply said) {
    return new Explanation.Part(
        Dimension.valueOf(said.text(0)),
        said.number(1),
        said.number(2),
        said.number(3),
        known(said.number(4)));
  }

  /** Who is in line. */
  ModelQueue queue(Reply said) {
    Map<String, Long> etas = new LinkedHashMap<>();
    Map<String, Dimension> bindings = new LinkedHashMap<>();
    Reply classes = said.list(1);
    for (int at = 0; at < classes.size(); at += 3) {
      String name = classes.text(at);
      known(classes.number(at + 1)).ifPresent(eta -> etas.put(name, eta));
      bindings.put(name, Dimension.valueOf(classes.text(at + 2)));
    }
    return new ModelQueue(
        model,
        (int) said.number(0),
        etas,
        bindings,
        new Reply(said.parts().subList(2, said.size())).lists().stream().map(this::place).toList());
  }

  private ModelQueue.Place place(Reply said) {
    return new ModelQueue.Place(
        ticket(said.text(0)),
        said.text(1),
        said.text(2),
        said.number(3),
        (int) said.number(4),
        known(said.number(5)),
        Dimension.valueOf(said.text(6)),
        millis(said.number(7)));
  }

  /** As far as anybody knows. */
  GovernorStatus.Model nothingLeft(ModelTerms terms) {
    Map<String, Integer> lengths = new LinkedHashMap<>();
    terms.classes().forEach(name -> lengths.put(name, 0));
    return new GovernorStatus.Model(
        model,
        terms.budget().burstTpm(),
        0,
        terms.budget().targetTpm(),
        Instant.now(),
        lengths,
        0,
        new Counts(0, 0, 0, 0, 0),
        AuditReport.NONE,
        ProviderStanding.UNHEARD,
        Optional.empty(),
        List.of());
  }

  /** The status of a node's share, with the figures of the whole budget. */
  GovernorStatus.Model ofShare(GovernorStatus.Model here, ModelTerms terms) {
    return new GovernorStatus.Model(
        model,
        terms.budget().burstTpm(),
        here.available(),
        terms.budget().targetTpm(),
        here.lastRefill(),
        here.queueLengths(),
        here.running(),
        here.metrics(),
        here.audit(),
        here.provider(),
        here.exhaustion(),
        here.alerts());
  }

  /** With the limits that are in force, which another node may have told. */
  GovernorStatus.Model status(Reply said, ModelTerms terms) {
    Map<String, Integer> lengths = new LinkedHashMap<>();
    terms.classes().forEach(name -> lengths.put(name, 0));
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
        new Counts(total, accepted, total - accepted, said.number(4), said.number(5)),
        new AuditReport(0, 0, said.number(EXCESS_AT), 0, 0),
        ProviderStanding.UNHEARD,
        exhaustion(said),
        List.of());
  }

  private static Optional<GovernorStatus.Exhaustion> exhaustion(Reply said) {
    String dimension = said.text(9);
    return dimension.isEmpty()
        ? Optional.empty()
        : Optional.of(
            new GovernorStatus.Exhaustion(
                Dimension.valueOf(dimension),
                said.number(10),
                Duration.of(said.number(11), ChronoUnit.MICROS)));
  }
}
