package dev.sluice.governor.spi;

import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.BudgetDimension;
import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.Checks;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.WaitingListConfig;
import dev.sluice.governor.WaitingListStatus;
import dev.sluice.governor.local.LocalBudgetStore;
import java.util.Collection;

/**
 * What all stores of budgets reckon and say alike. For those who write a {@link BudgetStore}.
 *
 * @since 0.1
 */
public final class BudgetStoreSupport {
  private BudgetStoreSupport() {}

  // ---- names

  /**
   * What all tickets and reservations of a model have in common.
   *
   * @param model its name
   * @return ten letters
   */
  public static String tagOf(String model) {
    return TicketIds.tagOf(model);
  }

  /**
   * A short text that stands for a long one, in every process alike.
   *
   * @param text of any length
   * @return 64 letters
   */
  public static String fingerprint(String text) {
    return Fingerprint.of(text);
  }

  // ---- when the store is away

  /**
   * Opens budgets in this process for a store that cannot be asked for a while. Nothing is left of
   * any budget when they begin.
   *
   * @param timer closed with the store
   * @param config the models
   * @param listener is told what is decided here
   * @param open what is open when it begins: reservations take slots and are refunded nothing,
   *     tickets are in line in this order
   * @return to be ended by {@link OutageBudgetStore#handOver}
   */
  public static OutageBudgetStore standIn(
      StoreTimer timer, BudgetConfig config, BudgetListener listener, StoreSnapshot open) {
    return LocalBudgetStore.standIn(timer, config, listener, open);
  }

  // ---- figures

  /**
   * What a model's line has to keep.
   *
   * @param budget of the model
   * @return in figures
   */
  public static ModelLimits limits(ModelBudget budget) {
    return budget.limits();
  }

  /**
   * What is charged for a request in the end.
   *
   * @param budget of the model
   * @param request of a class that there is
   * @return tokens
   */
  public static long reserved(ModelBudget budget, TokenRequest request) {
    return budget.reserved(request);
  }

  /**
   * Checks what is said to have been used.
   *
   * @param actualTokens of a reservation
   * @throws IllegalArgumentException if nobody can have used that
   */
  public static void requireActual(long actualTokens) {
    Checks.between("actual tokens", actualTokens, 0, TokenRequest.MAX_TOKENS);
  }

  /**
   * Checks which part of a line is asked for.
   *
   * @param offset how many to leave out
   * @param limit how many to tell of
   * @throws IllegalArgumentException if there is no such part
   */
  public static void requirePage(int offset, int limit) {
    Checks.between("offset", offset, 0, Integer.MAX_VALUE);
    Checks.between("limit", limit, 1, WaitingListStatus.MAX_TICKETS);
  }

  // ---- misuse

  /**
   * There is no such model.
   *
   * @param models those that there are
   * @param model what was asked for
   * @return to be thrown
   */
  public static IllegalArgumentException unknownModel(Collection<String> models, String model) {
    return new IllegalArgumentException(
        models.isEmpty()
            ? "no model has a budget: model=%s; add it to the budget file".formatted(model)
            : "model must be one of %s: %s".formatted(models, model));
  }

  /**
   * There is no such class.
   *
   * @param classes those that there are
   * @param priority what was asked for
   * @return to be thrown
   */
  public static IllegalArgumentException unknownClass(Collection<String> classes, String priority) {
    return new IllegalArgumentException(
        "priority must be one of %s: %s".formatted(classes, priority));
  }

  /**
   * Its idempotency key was of another request.
   *
   * @param again the later one
   * @param tokens what the first asked for
   * @param priority the class of the first
   * @return to be thrown
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
   * More than can ever be granted.
   *
   * @param largest what can
   * @param priority its class
   * @param tokens what would be charged
   * @return in words
   */
  public static String tooMany(long largest, String priority, long tokens) {
    return "tokens must be at most %d for class %s: %d".formatted(largest, priority, tokens);
  }

  /**
   * Too many are in line.
   *
   * @param maxLine how many may be
   * @param model for which
   * @return in words
   */
  public static String lineFull(int maxLine, String model) {
    return "at most %d may be in line for %s, and one tenant no more than nine times what is free"
        .formatted(maxLine, model);
  }

  /**
   * Why somebody was refused.
   *
   * @param reason what kind of no
   * @param rules by which
   * @return in words
   */
  public static String inWords(TokenDecision.Reason reason, WaitingListConfig rules) {
    return reason.inWords().formatted(rules.ticketIdleTimeout());
  }

  /**
   * What would become of a request.
   *
   * @param binding what is short; nothing if it would go
   * @return in words
   */
  public static String inWords(BudgetDimension binding) {
    return binding == BudgetDimension.NONE ? "it would go now" : binding.inWords();
  }
}
