package dev.sluice.server;

import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.ModelQueue;
import dev.sluice.governor.Outcome;
import dev.sluice.server.Permission.Kind;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/**
 * The governor over HTTP. {@code RateLimit} and {@code RateLimit-Policy} are as for limits: of the
 * model's tokens, q is the burst, w the seconds in which it accrues, r what is left, and t the
 * seconds until nothing is missing. {@code Retry-After} is when it is a request's turn, and absent
 * if that is unknown.
 */
final class HttpGovernor implements HttpRoute.Group {
  private static final int OK = 200;
  private static final int ACCEPTED = 202;
  private static final int GONE = 410;
  private static final int UNPROCESSABLE = 422;
  private static final int TOO_MANY_REQUESTS = 429;
  private static final int UNAVAILABLE = 503;
  private static final double MINUTE_SECONDS = 60;
  private static final long MILLIS = 1_000;

  private static final String ROOT = "/v1/governor";
  private static final String TICKET = ROOT + "/tickets/{id}";
  private static final String RESERVATION = ROOT + "/reservations/{id}";

  private final GovernorApi governor;

  HttpGovernor(GovernorApi governor) {
    this.governor = governor;
  }

  @Override
  public List<HttpRoute> routes() {
    return List.of(
        HttpRoute.of("POST", ROOT + "/requests", this::request).needingSome(Kind.GOVERNOR),
        HttpRoute.of("POST", ROOT + "/explain", this::explain).needingSome(Kind.GOVERNOR),
        HttpRoute.of("GET", TICKET, this::poll).taking("waitMs"),
        HttpRoute.of("DELETE", TICKET, this::cancel),
        HttpRoute.of("GET", TICKET + "/events", this::watch),
        HttpRoute.of("POST", RESERVATION + "/settle", this::settle).needingSome(Kind.GOVERNOR),
        HttpRoute.of("POST", RESERVATION + "/extend", this::extend).needingSome(Kind.GOVERNOR),
        HttpRoute.of("POST", ROOT + "/models/{model}/feedback", this::feedback)
            .needingSome(Kind.GOVERNOR),
        HttpRoute.of("GET", ROOT + "/models/{model}/queue", this::queue).taking("offset", "limit"),
        HttpRoute.of("GET", ROOT + "/status", this::status),
        HttpRoute.of("POST", ROOT + "/reload", this::reload).needingAdminOfAll());
  }

  private static String id(HttpRequest request) {
    return request.parameter("id");
  }

  private static GovernorApi.Wanted wanted(HttpRequest request) {
    return request
        .readCamel(JsonGovernor.Ask.class)
        .toWanted(request.header().apply("Idempotency-Key").orElse(null));
  }

  private HttpReply request(HttpRequest request) {
    return HttpReply.later(
        governor.request(request.caller(), wanted(request)),
        outcome -> answer(outcome, TOO_MANY_REQUESTS));
  }

  private HttpReply poll(HttpRequest request) {
    return HttpReply.waiting(
        governor.poll(request.key(), id(request), request.queryInt("waitMs", 0)),
        outcome -> answer(outcome, ACCEPTED));
  }

  private HttpAnswer answer(Outcome outcome, int inLine) {
    int status = OK;
    Map<String, String> headers = fields(outcome);
    if (outcome instanceof Outcome.Queued queued) {
      status = inLine;
      queued.etaMs().ifPresent(eta -> headers.put("Retry-After", atLeastOne(eta)));
    } else if (outcome instanceof Outcome.Refused refused) {
      status = status(refused.reason());
      if (status == UNAVAILABLE) {
        headers.put("Retry-After", "1");
      }
    }
    return HttpAnswer.camel(status, JsonGovernor.of(outcome)).with(headers);
  }

  /** In seconds, rounded up: a client that comes back then is not too early. */
  private static String atLeastOne(long millis) {
    return Long.toString(Math.max(1, millis / MILLIS + (millis % MILLIS == 0 ? 0 : 1)));
  }

  private static int status(Outcome.Reason reason) {
    return switch (reason) {
      case LINE_FULL -> TOO_MANY_REQUESTS;
      case EXCEEDS_CAPACITY -> UNPROCESSABLE;
      case DEADLINE, ABANDONED, CANCELLED, REMOVED -> GONE;
      // Closed, or Redis does not answer: it may be otherwise in a moment.
      default -> UNAVAILABLE;
    };
  }

  private Map<String, String> fields(Outcome outcome) {
    Map<String, String> headers = new LinkedHashMap<>();
    governor
        .budget(outcome.model())
        .ifPresent(
            budget -> {
              headers.put(
                  "RateLimit-Policy",
                  "\"tpm\";q=%d;w=%d"
                      .formatted(budget.burstTpm(), accrues(budget, budget.burstTpm())));
              long missing = budget.burstTpm() - outcome.remaining();
              headers.put(
                  "RateLimit",
                  "\"tpm\";r=%d;t=%d"
                      .formatted(
                          Math.max(0, outcome.remaining()), accrues(budget, Math.max(0, missing))));
            });
    return headers;
  }

  /** In how many seconds, rounded up. */
  private static long accrues(ModelBudget budget, long tokens) {
    return (long) Math.ceil(tokens * MINUTE_SECONDS / budget.targetTpm());
  }

  private HttpReply watch(HttpRequest request) {
    TicketWatch watch = begun(governor.watch(request.caller(), id(request)));
    request.ends().accept(watch::close);
    return new HttpReply.Events((connection, key) -> TicketEvents.begin(key, connection, watch));
  }

  /** Waits: whether there are events to come has to be known before the answer begins. */
  private static TicketWatch begun(CompletableFuture<TicketWatch> watch) {
    try {
      return watch.join();
    } catch (CompletionException refused) {
      throw ApiException.of(refused);
    }
  }

  private static HttpReply nothing(CompletableFuture<Void> done) {
    return HttpReply.later(done, unused -> HttpAnswer.nothing());
  }

  private static <T> HttpReply told(CompletableFuture<T> value) {
    return HttpReply.later(value, each -> HttpAnswer.camel(OK, each));
  }

  private HttpReply cancel(HttpRequest request) {
    return nothing(governor.cancel(request.caller(), id(request)));
  }

  private HttpReply settle(HttpRequest request) {
    long used = request.readCamel(JsonGovernor.Usage.class).tokens();
    return told(governor.settle(request.caller(), id(request), used));
  }

  private HttpReply extend(HttpRequest request) {
    return nothing(governor.extend(request.caller(), id(request)));
  }

  private HttpReply explain(HttpRequest request) {
    return told(
        governor.explain(request.caller(), wanted(request)).thenApply(JsonGovernor.Foretold::of));
  }

  private HttpReply feedback(HttpRequest request) {
    JsonGovernor.Answer answer = request.readCamel(JsonGovernor.Answer.class);
    return nothing(
        governor.feedback(
            request.caller(), request.parameter("model"), answer.code(), answer.fields()));
  }

  private HttpReply queue(HttpRequest request) {
    return told(
        governor
            .queue(
                request.caller(),
                request.parameter("model"),
                request.queryInt("offset", 0),
                request.queryInt("limit", ModelQueue.MAX_TICKETS))
            .thenApply(JsonGovernor.Line::of));
  }

  private HttpReply status(HttpRequest request) {
    return told(governor.status(request.caller()).thenApply(JsonGovernor.Status::of));
  }

  private HttpReply reload(HttpRequest request) {
    return told(governor.reload(request.caller()).thenApply(JsonGovernor.Reloaded::new));
  }
}
