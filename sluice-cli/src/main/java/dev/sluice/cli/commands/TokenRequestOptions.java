package dev.sluice.cli.commands;

import dev.sluice.cli.runtime.OptionConverters;
import dev.sluice.cli.text.InvalidInputException;
import dev.sluice.client.TokenRequest;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** The options of a token request. */
final class TokenRequestOptions {
  @Parameters(paramLabel = "MODEL", description = "A model or a route of the budget file.")
  private String model = "";

  @Option(
      names = "--tokens",
      paramLabel = "N",
      required = true,
      converter = OptionConverters.WholeNumberConverter.class,
      description = "The most tokens of input and output together.")
  private long tokens;

  @Option(
      names = "--expected-tokens",
      paramLabel = "N",
      converter = OptionConverters.WholeNumberConverter.class,
      description = "The probable usage, reserved instead of --tokens.")
  private @Nullable Long expectedTokens;

  @Option(
      names = "--priority-class",
      paramLabel = "CLASS",
      description = "A priority class of the budget file. Default: the least urgent of the model.")
  private @Nullable String priorityClass;

  @Option(
      names = "--tenant",
      paramLabel = "NAME",
      description = "The tenant, which shares fairly and may have a budget.")
  private @Nullable String tenant;

  @Option(
      names = "--max-wait",
      paramLabel = "DURATION",
      converter = OptionConverters.DurationConverter.class,
      description = "The longest time in the waiting list. Default: unlimited.")
  private @Nullable Duration maxWait;

  @Option(
      names = "--idempotency-key",
      paramLabel = "KEY",
      description = "A repeated request with this key finds its ticket or its grant.")
  private @Nullable String idempotencyKey;

  TokenRequest request() {
    if (idempotencyKey != null && idempotencyKey.isEmpty()) {
      throw new InvalidInputException("--idempotency-key must not be empty");
    }
    try {
      TokenRequest request = TokenRequest.of(model, tokens);
      request = expectedTokens == null ? request : request.withExpectedTokens(expectedTokens);
      request = priorityClass == null ? request : request.withPriorityClass(priorityClass);
      request = tenant == null ? request : request.withTenant(tenant);
      request = maxWait == null ? request : request.withMaxWait(maxWait);
      return idempotencyKey == null ? request : request.withIdempotencyKey(idempotencyKey);
    } catch (IllegalArgumentException invalid) {
      throw new InvalidInputException(String.valueOf(invalid.getMessage()));
    }
  }
}
