package dev.sluice.governor;

import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * Decides who may call a model now, who waits, and for how long: over tokens and requests in a time
 * and requests at once, in one step, with a line that those in it can see. For any number of
 * threads.
 *
 * @since 0.1
 */
public final class Governor implements AutoCloseable {
  private final GovernorTimer timer;
  private final Map<String, ModelDesk> desks = new LinkedHashMap<>();
  private final List<ModelDesk> byNumber = new ArrayList<>();

  private Governor(BudgetConfig config, GovernorTimer timer) {
    this.timer = timer;
    config
        .models()
        .forEach(
            (model, budget) -> {
              ModelDesk desk =
                  new ModelDesk(model, budget, config.rules(), timer, new Ids(byNumber.size()));
              desks.put(model, desk);
              byNumber.add(desk);
            });
  }

  /**
   * Begins with full budgets.
   *
   * @param config the models
   * @return to be closed
   */
  public static Governor create(BudgetConfig config) {
    return new Governor(config, GovernorTimer.system());
  }

  /** With another time. */
  static Governor create(BudgetConfig config, GovernorTimer timer) {
    return new Governor(config, timer);
  }

  /**
   * Asks for tokens: granted, put in line, or refused, at once.
   *
   * @param model which model
   * @param tokens input and output together
   * @param priority its class
   * @return what became of it
   * @throws IllegalArgumentException if there is no such model or class, or no tokens
   */
  public Outcome request(String model, long tokens, String priority) {
    return request(TokenRequest.of(model, tokens, priority));
  }

  /**
   * Asks for tokens: granted, put in line, or refused, at once.
   *
   * @param request what for
   * @return what became of it
   * @throws IllegalArgumentException if there is no such model or class, or no tokens
   */
  public Outcome request(TokenRequest request) {
    return desk(request.model()).request(request);
  }

  private ModelDesk desk(String model) {
    ModelDesk desk = desks.get(model);
    if (desk == null) {
      throw new IllegalArgumentException(
          "model must be one of %s: %s".formatted(desks.keySet(), model));
    }
    return desk;
  }

  private Optional<ModelDesk> deskOf(String id) {
    int number = Ids.deskOf(id);
    return number >= 0 && number < byNumber.size()
        ? Optional.of(byNumber.get(number))
        : Optional.empty();
  }

  /**
   * How a ticket stands. A grant that is returned is claimed by that, and the ticket over.
   *
   * @param ticket of {@link Outcome.Queued}
   * @return empty if there is no such ticket any more
   */
  public Optional<Outcome> poll(String ticket) {
    return deskOf(ticket).flatMap(desk -> desk.poll(ticket));
  }

  /**
   * What comes of a ticket.
   *
   * @param ticket of {@link Outcome.Queued}
   * @return completes when it is granted or refused; empty if there is no such ticket any more
   */
  public Optional<CompletableFuture<Outcome>> await(String ticket) {
    return deskOf(ticket).flatMap(desk -> desk.await(ticket));
  }

  /**
   * Leaves the line, or gives back what was granted and not claimed.
   *
   * @param ticket of {@link Outcome.Queued}
   * @return false if there is no such ticket any more
   */
  public boolean cancel(String ticket) {
    return deskOf(ticket).map(desk -> desk.cancel(ticket)).orElse(false);
  }

  /**
   * Says what was used of a grant.
   *
   * @param reservation of {@link Outcome.Granted}
   * @param actualTokens what was used; 0 if nothing was
   * @return what became of the rest; empty if it was settled before or has ended
   * @throws IllegalArgumentException if it is less than 0
   */
  public Optional<Settlement> settle(String reservation, long actualTokens) {
    if (actualTokens < 0) {
      throw new IllegalArgumentException("actual tokens must not be negative: " + actualTokens);
    }
    return deskOf(reservation).flatMap(desk -> desk.settleOnce(reservation, actualTokens));
  }

  /**
   * The call goes on: the reservation lives as long again from now.
   *
   * @param reservation of {@link Outcome.Granted}
   * @return false if it has ended
   */
  public boolean extend(String reservation) {
    return deskOf(reservation).map(desk -> desk.extend(reservation)).orElse(false);
  }

  /**
   * How all models stand.
   *
   * @return at this moment
   */
  public GovernorStatus status() {
    Map<String, GovernorStatus.Model> buckets = new LinkedHashMap<>();
    desks.forEach((model, desk) -> buckets.put(model, desk.status()));
    return new GovernorStatus(buckets, Instant.now());
  }

  /** Whoever is in line stays without an answer. */
  @Override
  public void close() {
    timer.close();
  }
}
