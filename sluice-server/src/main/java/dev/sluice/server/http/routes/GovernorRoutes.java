package dev.sluice.server.http.routes;

import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.WaitingListStatus;
import dev.sluice.server.auth.Permission.Kind;
import dev.sluice.server.http.HandlerResult;
import dev.sluice.server.http.HttpRequest;
import dev.sluice.server.http.HttpResponse;
import dev.sluice.server.http.HttpRoute;
import dev.sluice.server.operations.GovernorOperations;
import dev.sluice.server.operations.TicketWatch;
import dev.sluice.server.support.ApiException;
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
public final class GovernorRoutes implements HttpRoute.RouteGroup {
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

  private final GovernorOperations governor;

  public GovernorRoutes(GovernorOperations governor) {
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
        HttpRoute.of("GET", ROOT + "/models/{model}/waiting-list", this::queue)
            .taking("offset", "limit"),
        HttpRoute.of("GET", ROOT + "/status", this::status),
        HttpRoute.of("POST", ROOT + "/reload", this::reload).needingAdminOfAll());
  }

  private static String id(HttpRequest request) {
    return request.parameter("id");
  }

  private static GovernorOperations.TokenRequestSpec wanted(HttpRequest request) {
    return request
        .readCamel(GovernorJson.TokenRequestJson.class)
        .toWanted(request.header().apply("Idempotency-Key").orElse(null));
  }

  private HandlerResult request(HttpRequest request) {
    return HandlerResult.later(
        governor.request(request.caller(), wanted(request)),
        outcome -> answer(outcome, TOO_MANY_REQUESTS));
  }

  private HandlerResult poll(HttpRequest request) {
    return HandlerResult.waiting(
        governor.poll(request.key(), id(request), request.queryInt("waitMs", 0)),
        outcome -> answer(outcome, ACCEPTED));
  }

  private HttpResponse answer(TokenDecision outcome, int inLine) {
    int status = OK;
    Map<String, String> headers = fields(outcome);
    if (outcome instanceof TokenDecision.Queued queued) {
      status = inLine;
      queued.eta().ifPresent(eta -> headers.put("Retry-After", atLeastOne(eta.toMillis())));
    } else if (outcome instanceof TokenDecision.Impossible) {
      status = UNPROCESSABLE;
    } else if (outcome instanceof TokenDecision.Denied refused) {
      status = status(refused.reason());
      if (status == UNAVAILABLE) {
        headers.put("Retry-After", "1");
      }
    }
    return HttpResponse.camel(status, GovernorJson.of(outcome)).with(headers);
  }

  /** Returns seconds, rounded up, so that a client that retries then is not too early. */
  private static String atLeastOne(long millis) {
    return Long.toString(Math.max(1, millis / MILLIS + (millis % MILLIS == 0 ? 0 : 1)));
  }

  private static int status(TokenDecision.Reason reason) {
    return switch (reason) {
      case TOO_MANY_WAITERS -> TOO_MANY_REQUESTS;
      case TIMEOUT, ABANDONED, CANCELLED, REMOVED -> GONE;
      // Closed, or Redis does not answer: it may be otherwise in a moment.
      default -> UNAVAILABLE;
    };
  }

  private Map<String, String> fields(TokenDecision outcome) {
    Map<String, String> headers = new LinkedHashMap<>();
    governor
        .budget(outcome.model())
        .ifPresent(
            budget -> {
              headers.put(
                  "RateLimit-Policy",
                  "\"tpm\";q=%d;w=%d"
                      .formatted(
                          budget.tokens().capacity(), accrues(budget, budget.tokens().capacity())));
              long missing = budget.tokens().capacity() - outcome.remaining();
              headers.put(
                  "RateLimit",
                  "\"tpm\";r=%d;t=%d"
                      .formatted(
                          Math.max(0, outcome.remaining()), accrues(budget, Math.max(0, missing))));
            });
    return headers;
  }

  /** Returns the seconds in which {@code tokens} accrue, rounded up. */
  private static long accrues(ModelBudget budget, long tokens) {
    return (long) Math.ceil(tokens * MINUTE_SECONDS / budget.tokens().refillTokens());
  }

  private HandlerResult watch(HttpRequest request) {
    TicketWatch watch = begun(governor.watch(request.caller(), id(request)));
    request.ends().accept(watch::close);
    return new HandlerResult.EventStream(
        (connection, key) -> TicketEventStream.begin(key, connection, watch));
  }

  /** Waits: whether there are events to come has to be known before the answer begins. */
  private static TicketWatch begun(CompletableFuture<TicketWatch> watch) {
    try {
      return watch.join();
    } catch (CompletionException refused) {
      throw ApiException.of(refused);
    }
  }

  private static HandlerResult nothing(CompletableFuture<Void> done) {
    return HandlerResult.later(done, unused -> HttpResponse.nothing());
  }

  private static <T> HandlerResult told(CompletableFuture<T> value) {
    return HandlerResult.later(value, each -> HttpResponse.camel(OK, each));
  }

  private HandlerResult cancel(HttpRequest request) {
    return nothing(governor.cancel(request.caller(), id(request)));
  }

  private HandlerResult settle(HttpRequest request) {
    long used = request.readCamel(GovernorJson.UsageJson.class).tokens();
    return told(governor.settle(request.caller(), id(request), used));
  }

  private HandlerResult extend(HttpRequest request) {
    return nothing(governor.extend(request.caller(), id(request)));
  }

  private HandlerResult explain(HttpRequest request) {
    return told(
        governor
            .explain(request.caller(), wanted(request))
            .thenApply(GovernorJson.ExplanationJson::of));
  }

  private HandlerResult feedback(HttpRequest request) {
    GovernorJson.ProviderResponseJson answer =
        request.readCamel(GovernorJson.ProviderResponseJson.class);
    return nothing(
        governor.feedback(
            request.caller(), request.parameter("model"), answer.code(), answer.fields()));
  }

  private HandlerResult queue(HttpRequest request) {
    return told(
        governor
            .queue(
                request.caller(),
                request.parameter("model"),
                request.queryInt("offset", 0),
                request.queryInt("limit", WaitingListStatus.MAX_TICKETS))
            .thenApply(GovernorJson.WaitingListJson::of));
  }

  private HandlerResult status(HttpRequest request) {
    return told(governor.status(request.caller()).thenApply(GovernorJson.Status::of));
  }

  private HandlerResult reload(HttpRequest request) {
    return told(governor.reload(request.caller()).thenApply(GovernorJson.Reloaded::new));
  }
}
