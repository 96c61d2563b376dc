package dev.sluice.examples;

import dev.sluice.TokenBucket;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.time.Instant;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeParseException;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

/** docs/recipes/http-client.md: waits for its turn, and goes away for as long as it is told to. */
public final class WaitingHttpClient {
  private final HttpClient http;
  private final TokenBucket turns;
  private final int attempts;
  private final AtomicReference<CompletableFuture<Void>> open =
      new AtomicReference<>(CompletableFuture.completedFuture(null));

  public WaitingHttpClient(HttpClient http, TokenBucket turns, int attempts) {
    this.http = http;
    this.turns = turns;
    this.attempts = attempts;
  }

  /** Completes with the last answer, also if that is a refusal. */
  public <T> CompletableFuture<HttpResponse<T>> send(
      HttpRequest request, HttpResponse.BodyHandler<T> body) {
    return attempt(request, body, attempts);
  }

  private <T> CompletableFuture<HttpResponse<T>> attempt(
      HttpRequest request, HttpResponse.BodyHandler<T> body, int left) {
    return open.get()
        .thenCompose(opened -> turns.acquireAsync(1)) // first come, first served; no thread waits
        .thenCompose(
            turn ->
                open.get().isDone()
                    ? sendNow(request, body, left)
                    : attempt(request, body, left)); // another call was refused meanwhile
  }

  private <T> CompletableFuture<HttpResponse<T>> sendNow(
      HttpRequest request, HttpResponse.BodyHandler<T> body, int left) {
    return http.sendAsync(request, body)
        .thenCompose(
            response -> {
              Optional<Duration> pause = pause(response);
              pause.ifPresent(this::pauseAll);
              return pause.isEmpty() || left == 1
                  ? CompletableFuture.completedFuture(response)
                  : attempt(request, body, left - 1);
            });
  }

  /** The server refuses one caller and means all who use its quota. */
  private void pauseAll(Duration pause) {
    CompletableFuture<Void> over =
        new CompletableFuture<Void>()
            .completeOnTimeout(null, TimeUnit.MILLISECONDS.convert(pause), TimeUnit.MILLISECONDS);
    open.updateAndGet(before -> CompletableFuture.allOf(before, over));
  }

  private static Optional<Duration> pause(HttpResponse<?> response) {
    if (response.statusCode() != 429 && response.statusCode() != 503) {
      return Optional.empty();
    }
    return response
        .headers()
        .firstValue("Retry-After")
        .flatMap(WaitingHttpClient::fromNow)
        .or(() -> Optional.of(Duration.ofSeconds(1)));
  }

  /** Seconds, or a date; what is neither says nothing. */
  private static Optional<Duration> fromNow(String retryAfter) {
    try {
      if (retryAfter.matches("[0-9]+")) {
        return Optional.of(Duration.ofSeconds(Long.parseLong(retryAfter)));
      }
      ZonedDateTime date = ZonedDateTime.parse(retryAfter, DateTimeFormatter.RFC_1123_DATE_TIME);
      Duration wait = Duration.between(Instant.now(), date);
      return Optional.of(wait.isNegative() ? Duration.ZERO : wait);
    } catch (NumberFormatException | DateTimeParseException malformed) {
      return Optional.empty();
    }
  }
}
