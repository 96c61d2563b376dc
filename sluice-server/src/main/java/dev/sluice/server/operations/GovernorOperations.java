package dev.sluice.server.operations;

import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.Governor;
import dev.sluice.governor.GovernorStatus;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.ProviderResponse;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenExplanation;
import dev.sluice.governor.TokenOwner;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.TokenSettlement;
import dev.sluice.governor.WaitingListStatus;
import dev.sluice.server.auth.Caller;
import dev.sluice.server.auth.Credential;
import dev.sluice.server.auth.Permission.Kind;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.ErrorKind;
import dev.sluice.server.support.Futures;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Operations of the governor for all protocols: checks permissions and calls the governor.
 *
 * <p>A request needs {@code governor} on the names of its model, its tenant and its class; so does
 * every call with its ticket or reservation. To a caller without such a permission, the ticket or
 * reservation does not exist, so that it cannot find out which ones do.
 *
 * <p>What is not allowed is refused at once; the rest is answered when the governor has answered.
 */
public final class GovernorOperations {
  private static final int MAX_NAME_BYTES = 256;
  private static final int MAX_HEADER_CHARS = 4_096;
  private static final Duration MAX_DEADLINE = Duration.ofDays(1);

  /**
   * The patterns with which a caller may use every ticket, so that its owner need not be looked up.
   */
  private static final List<String> OWNED = List.of("model:*", "tenant:*", "class:*");

  private final Governor governor;
  private final BudgetFileSource budgets;
  private final TicketWaiters waits;
  private final GovernorCalls calls;

  public GovernorOperations(
      Governor governor, BudgetFileSource budgets, TicketWaiters waits, GovernorCalls calls) {
    this.governor = governor;
    this.budgets = budgets;
    this.waits = waits;
    this.calls = calls;
  }

  /**
   * A request for tokens as received.
   *
   * @param maxWaitMs 0 for none
   * @param idempotencyKey empty for none
   * @param expectedTokens 0 for all of them
   */
  public record TokenRequestSpec(
      String model,
      long tokens,
      String priority,
      String tenant,
      long maxWaitMs,
      String idempotencyKey,
      long expectedTokens) {
    /** Checked. */
    TokenRequest toRequest() {
      requireName("model", model, 1);
      requireName("priority", priority, 0);
      requireName("tenant", tenant, 0);
      requireName("idempotencyKey", idempotencyKey, 0);
      QueueOperations.requireBetween("maxWaitMs", maxWaitMs, 0, MAX_DEADLINE.toMillis());
      TokenRequest request =
          TokenRequest.of(model, tokens).withPriorityClass(priority).withTenant(tenant);
      if (maxWaitMs != 0) {
        request = request.withMaxWait(Duration.ofMillis(maxWaitMs));
      }
      if (!idempotencyKey.isEmpty()) {
        request = request.withIdempotencyKey(idempotencyKey);
      }
      return expectedTokens == 0 ? request : request.withExpectedTokens(expectedTokens);
    }
  }

  /** Also without control characters, which would make two names look like one. */
  private static void requireName(String what, String name, int least) {
    int bytes = name.getBytes(StandardCharsets.UTF_8).length;
    if (bytes < least || bytes > MAX_NAME_BYTES) {
      throw ApiException.invalid(
          "%s must have %d to %d bytes, but had %d".formatted(what, least, MAX_NAME_BYTES, bytes));
    }
    if (name.chars().anyMatch(Character::isISOControl)) {
      throw ApiException.invalid(what + " must have no control characters");
    }
  }

  /**
   * Names the class of a request without one, the least urgent of the model: the caller needs a
   * permission for it. The models of a route have the same classes.
   */
  private TokenRequest withClass(TokenRequest request) {
    if (!request.priorityClass().isEmpty()) {
      return request;
    }
    BudgetConfig config = budgets.current();
    List<String> models = config.routes().getOrDefault(request.model(), List.of(request.model()));
    @Nullable ModelBudget budget = config.models().get(models.get(0));
    return budget == null ? request : request.withPriorityClass(budget.leastUrgentClass());
  }

  private static void requireUse(Caller caller, TokenRequest request) {
    caller.require(Kind.GOVERNOR, "model:" + request.model());
    caller.require(Kind.GOVERNOR, "tenant:" + request.tenant());
    caller.require(Kind.GOVERNOR, "class:" + request.priorityClass());
  }

  public CompletableFuture<TokenDecision> request(
      Caller caller, GovernorOperations.TokenRequestSpec wanted) {
    TokenRequest request = withClass(wanted.toRequest());
    requireUse(caller, request);
    return calls.call(caller, () -> governor.request(request));
  }

  public CompletableFuture<TokenExplanation> explain(
      Caller caller, GovernorOperations.TokenRequestSpec wanted) {
    TokenRequest request = withClass(wanted.toRequest());
    requireUse(caller, request);
    return calls.call(caller, () -> governor.explain(request));
  }

  // ---- tickets and reservations

  /** Returns whether the caller may make the request to which a ticket or reservation belongs. */
  private boolean mayUse(Caller caller, TokenOwner owner) {
    return mayUseModel(caller, owner.model())
        && caller.may(Kind.GOVERNOR, "tenant:" + owner.tenant())
        && caller.may(Kind.GOVERNOR, "class:" + owner.priorityClass());
  }

  /** Returns whether the caller may use a model, by its name or by a route to it. */
  private boolean mayUseModel(Caller caller, String model) {
    return caller.may(Kind.GOVERNOR, "model:" + model)
        || budgets.current().routes().entrySet().stream()
            .anyMatch(
                route ->
                    route.getValue().contains(model)
                        && caller.may(Kind.GOVERNOR, "model:" + route.getKey()));
  }

  private CompletableFuture<Boolean> isHeldBy(Caller caller, String id) {
    return caller.mayAll(Kind.GOVERNOR, OWNED)
        ? CompletableFuture.completedFuture(true)
        : governor
            .owner(id)
            .thenApply(owner -> owner.filter(known -> mayUse(caller, known)).isPresent());
  }

  private static void requireKnown(boolean known, Supplier<ApiException> otherwise) {
    if (!known) {
      throw otherwise.get();
    }
  }

  /**
   * Starts {@code call} if the caller may use the ticket or reservation; else it is unknown. A call
   * that has been allowed is made even if the caller has left meanwhile.
   */
  private <T> CompletableFuture<T> callHolder(
      Caller caller,
      String id,
      Supplier<ApiException> unknown,
      Supplier<CompletableFuture<T>> call) {
    caller.requireSome(Kind.GOVERNOR);
    // The id is kept while the call waits, and repeated in the refusal of an unknown one.
    QueueOperations.requireBetween("the length of an id", id.length(), 0, MAX_NAME_BYTES);
    return calls.call(
        caller,
        () ->
            isHeldBy(caller, id)
                .thenCompose(
                    held -> {
                      requireKnown(held, unknown);
                      return call.get();
                    }));
  }

  /** Starts a waiting call as {@link #callHolder} does; canceling the future ends the wait. */
  private <T> CompletableFuture<T> startHolder(
      Caller caller, String ticket, Supplier<CompletableFuture<T>> start) {
    CompletableFuture<T> answer = new CompletableFuture<>();
    Futures.when(
        callHolder(
            caller,
            ticket,
            () -> TicketWaiters.unknown(ticket),
            () -> CompletableFuture.completedFuture(true)),
        held -> {
          CompletableFuture<T> started = started(start);
          Futures.when(started, answer::complete, answer::completeExceptionally);
          Futures.whenOver(answer, () -> started.cancel(false));
        },
        answer::completeExceptionally);
    return answer;
  }

  private static <T> CompletableFuture<T> started(Supplier<CompletableFuture<T>> start) {
    try {
      return start.get();
    } catch (RuntimeException refused) {
      return CompletableFuture.failedFuture(refused);
    }
  }

  /**
   * Returns the state of a ticket once it is decided, or after {@code waitMs}; canceling ends the
   * wait.
   */
  public CompletableFuture<TokenDecision> poll(Credential key, String ticket, long waitMs) {
    key.caller().requireSome(Kind.GOVERNOR);
    QueueOperations.requireBetween("waitMs", waitMs, 0, TicketWaiters.LONGEST.toMillis());
    return startHolder(
        key.caller(), ticket, () -> waits.poll(key, ticket, Duration.ofMillis(waitMs)));
  }

  /** Opens a watch of a ticket, which the caller must close. */
  public CompletableFuture<TicketWatch> watch(Caller caller, String ticket) {
    return startHolder(caller, ticket, () -> waits.watch(caller, ticket));
  }

  public CompletableFuture<Void> cancel(Caller caller, String ticket) {
    Supplier<ApiException> unknown = () -> TicketWaiters.unknown(ticket);
    return callHolder(caller, ticket, unknown, () -> governor.cancel(ticket))
        .thenAccept(there -> requireKnown(there, unknown));
  }

  public CompletableFuture<TokenSettlement> settle(
      Caller caller, String reservation, long actualTokens) {
    caller.requireSome(Kind.GOVERNOR);
    QueueOperations.requireBetween("actualTokens", actualTokens, 0, TokenRequest.MAX_TOKENS);
    Supplier<ApiException> unknown = () -> unknownReservation(reservation);
    return callHolder(
            caller, reservation, unknown, () -> governor.settle(reservation, actualTokens))
        .thenApply(settled -> settled.orElseThrow(unknown));
  }

  public CompletableFuture<Void> extend(Caller caller, String reservation) {
    Supplier<ApiException> unknown = () -> unknownReservation(reservation);
    return callHolder(caller, reservation, unknown, () -> governor.extend(reservation))
        .thenAccept(there -> requireKnown(there, unknown));
  }

  private static ApiException unknownReservation(String reservation) {
    return ApiException.notFound("unknown, settled or expired reservation: " + reservation);
  }

  public CompletableFuture<Void> feedback(
      Caller caller, String model, int status, Map<String, String> headers) {
    requireName("model", model, 1);
    caller.require(Kind.GOVERNOR, "feedback:" + model);
    headers.forEach(
        (name, value) ->
            QueueOperations.requireBetween(
                "the length of a header", name.length() + value.length(), 0, MAX_HEADER_CHARS));
    ProviderResponse answer = new ProviderResponse(status, headers);
    return calls.call(caller, () -> governor.feedback(model, answer));
  }

  /** The models that the caller may see or use. */
  public CompletableFuture<GovernorStatus> status(Caller caller) {
    if (!caller.maySome(Kind.GOVERNOR)) {
      caller.requireSome(Kind.READ);
    }
    return calls.callForMuch(caller, governor::status).thenApply(all -> shown(caller, all));
  }

  private static GovernorStatus shown(Caller caller, GovernorStatus all) {
    return new GovernorStatus(
        shown(caller, all.models()), shown(caller, all.closed()), all.timestamp());
  }

  private static <T> Map<String, T> shown(Caller caller, Map<String, T> byModel) {
    Map<String, T> shown = new LinkedHashMap<>(byModel);
    shown
        .keySet()
        .removeIf(
            model ->
                !caller.may(Kind.READ, nameOf(model)) && !caller.may(Kind.GOVERNOR, nameOf(model)));
    return shown;
  }

  /**
   * Returns the line of a model. Only callers with {@code admin} on {@code *} see the tickets,
   * because any caller that may make such a request can use a ticket that it knows.
   */
  public CompletableFuture<WaitingListStatus> queue(
      Caller caller, String model, int offset, int limit) {
    caller.require(Kind.READ, nameOf(model));
    return calls
        .callForMuch(caller, () -> governor.waitingList(model, offset, limit))
        .thenApply(line -> caller.mayAll(Kind.ADMIN) ? line : withoutTickets(line));
  }

  private static WaitingListStatus withoutTickets(WaitingListStatus line) {
    return new WaitingListStatus(
        line.model(),
        line.total(),
        line.eta(),
        line.binding(),
        line.tickets().stream()
            .map(
                each ->
                    new WaitingListStatus.QueuedTicket(
                        "",
                        each.tenant(),
                        each.priorityClass(),
                        each.tokens(),
                        each.queuePosition(),
                        each.eta(),
                        each.binding(),
                        each.waited()))
            .toList());
  }

  /** Returns the name of a model in permissions. */
  private static String nameOf(String model) {
    return "model:" + model;
  }

  /** Returns the keys of the file that have no effect. */
  public CompletableFuture<List<String>> reload(Caller caller) {
    caller.requireAdminOfAll();
    return calls.call(
        caller,
        () ->
            budgets
                .reload(governor::reload)
                .thenApply(
                    reloaded -> {
                      requireOpen(governor.closedModels());
                      return reloaded.ignoredKeys();
                    }));
  }

  /** Fails a reload that left models closed, though everything else was reloaded. */
  private static void requireOpen(Map<String, String> closed) {
    if (!closed.isEmpty()) {
      throw new ApiException(
          ErrorKind.FAILED_PRECONDITION, "reloaded, but " + String.join("; ", closed.values()));
    }
  }

  /** Returns the budget of a model, for the headers of a response about it. */
  public Optional<ModelBudget> budget(String model) {
    @Nullable ModelBudget budget = budgets.current().models().get(model);
    return Optional.ofNullable(budget);
  }
}
