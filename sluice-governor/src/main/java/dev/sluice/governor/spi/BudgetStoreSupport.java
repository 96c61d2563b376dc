package dev.sluice.governor.spi;

import static dev.sluice.internal.util.Preconditions.requireBetween;

import dev.sluice.governor.BudgetDimension;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.WaitingListConfig;
import dev.sluice.governor.WaitingListStatus;
import java.util.Collection;

/**
 * Calculations and messages that all implementations of {@link BudgetStore} share.
 *
 * @since 0.1
 */
public final class BudgetStoreSupport {
  private BudgetStoreSupport() {}

  // ---- names

  /**
   * Returns the tag in the ids of all tickets and reservations of a model.
   *
   * @param model its name
   * @return ten letters
   */
  public static String tagOf(String model) {
    return TicketIds.tagOf(model);
  }

  /**
   * Returns a short text that identifies a long one, the same in every process.
   *
   * @param text of any length
   * @return 64 letters
   */
  public static String fingerprint(String text) {
    return Fingerprint.of(text);
  }

  // ---- figures

  /**
   * Returns the limits that the waiting list of a model keeps.
   *
   * @param budget of the model
   * @return the limits
   */
  public static ModelLimits limits(ModelBudget budget) {
    return ModelLimits.of(budget);
  }

  /**
   * Returns the tokens that a grant of a request reserves.
   *
   * @param budget of the model
   * @param request of a known class
   * @return tokens
   */
  public static long reserved(ModelBudget budget, TokenRequest request) {
    return budget.reserved(request);
  }

  /**
   * Checks the reported usage of a reservation.
   *
   * @param actualTokens the reported tokens
   * @throws IllegalArgumentException if the number is out of range
   */
  public static void requireActual(long actualTokens) {
    requireBetween("actual tokens", actualTokens, 0, TokenRequest.MAX_TOKENS);
  }

  /**
   * Checks the requested part of a waiting list.
   *
   * @param offset the number of tickets to skip
   * @param limit the most tickets to return
   * @throws IllegalArgumentException if a number is out of range
   */
  public static void requirePage(int offset, int limit) {
    requireBetween("offset", offset, 0, Integer.MAX_VALUE);
    requireBetween("limit", limit, 1, WaitingListStatus.MAX_TICKETS);
  }

  // ---- misuse

  /**
   * Returns an exception for an unknown model.
   *
   * @param models the known models
   * @param model the requested one
   * @return the exception
   */
  public static IllegalArgumentException unknownModel(Collection<String> models, String model) {
    return new IllegalArgumentException(
        models.isEmpty()
            ? "no model has a budget: model=%s; add it to the budget file".formatted(model)
            : "model must be one of %s, but was %s".formatted(models, model));
  }

  /**
   * Returns an exception for an unknown priority class.
   *
   * @param classes the known classes
   * @param priority the requested one
   * @return the exception
   */
  public static IllegalArgumentException unknownClass(Collection<String> classes, String priority) {
    return new IllegalArgumentException(
        "priority must be one of %s, but was %s".formatted(classes, priority));
  }

  /**
   * Returns an exception for an idempotency key that belongs to another request.
   *
   * @param again the later request
   * @param tokens the tokens of the first request
   * @param priority the class of the first request
   * @return the exception
   */
  public static IllegalArgumentException otherRequest(
      TokenRequest again, long tokens, String priority) {
    return new IllegalArgumentException(
        "idempotency key %s must be of one request: it was of %d tokens as %s, not of %d as %s"
            .formatted(
                again.idempotencyKey(), tokens, priority, again.tokens(), again.priorityClass()));
  }

  // ---- words

  /** The message for a waiting request that a new configuration can never grant. */
  public static final String IMPOSSIBLE = "more than can ever be granted";

  /**
   * Returns the message for a request that can never be granted.
   *
   * @param largest the most tokens that can be granted
   * @param priority the class of the request
   * @param tokens the tokens that it would reserve
   * @return the message
   */
  public static String tooMany(long largest, String priority, long tokens) {
    return "tokens must be at most %d for class %s, but was %d"
        .formatted(largest, priority, tokens);
  }

  /**
   * Returns the message for a full waiting list.
   *
   * @param maxWaiting the most waiting requests
   * @param model the model
   * @return the message
   */
  public static String waitingListFull(int maxWaiting, String model) {
    return "the waiting list of model %s is full: at most %d requests may wait, one tenant at most nine times the free places"
        .formatted(model, maxWaiting);
  }

  /**
   * Returns the message for a reason of a denial.
   *
   * @param reason the reason
   * @param config the settings of the waiting list
   * @return the message
   */
  public static String inWords(TokenDecision.Reason reason, WaitingListConfig config) {
    return reason.inWords().formatted(config.ticketIdleTimeout());
  }

  /**
   * Returns the message for a predicted decision.
   *
   * @param binding the dimension that determines the wait; none for a grant
   * @return the message
   */
  public static String inWords(BudgetDimension binding) {
    return binding == BudgetDimension.NONE ? "it would be granted now" : binding.inWords();
  }
}
