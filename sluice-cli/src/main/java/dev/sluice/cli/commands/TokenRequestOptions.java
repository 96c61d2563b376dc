package dev.sluice.cli.commands;

import dev.sluice.cli.runtime.OptionConverters;
import dev.sluice.cli.text.InvalidInputException;
import dev.sluice.client.TokenRequest;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** What is asked of the governor. */
final class TokenRequestOptions {
  @Parameters(paramLabel = "MODEL", description = "A model of the budget file, or a route.")
  private String model = "";

  @Option(
      names = "--tokens",
      paramLabel = "N",
      required = true,
      converter = OptionConverters.WholeNumberConverter.class,
      description = "Input and output together, at the most.")
  private long tokens;

  @Option(
      names = "--expected",
      paramLabel = "N",
      converter = OptionConverters.WholeNumberConverter.class,
      description = "What it will probably use: that is reserved. Default: all of them.")
  private @Nullable Long expected;

  @Option(
      names = "--priority",
      paramLabel = "CLASS",
      description = "Its class, such as P0_clinical. Default: P1_user.")
  private @Nullable String priority;

  @Option(names = "--tenant", paramLabel = "NAME", description = "Whose turn and budget it is.")
  private @Nullable String tenant;

  @Option(
      names = "--deadline",
      paramLabel = "DURATION",
      converter = OptionConverters.DurationConverter.class,
      description = "How long it may be in line. Default: as long as it takes.")
  private @Nullable Duration deadline;

  @Option(
      names = "--key",
      paramLabel = "KEY",
      description = "Asked again with the same key it finds its place, or its grant.")
  private @Nullable String key;

  TokenRequest request() {
    if (key != null && key.isEmpty()) {
      throw new InvalidInputException("--key must not be empty");
    }
    try {
      TokenRequest request = TokenRequest.of(model, tokens);
      request = expected == null ? request : request.withExpectedTokens(expected);
      request = priority == null ? request : request.withPriorityClass(priority);
      request = tenant == null ? request : request.withTenant(tenant);
      request = deadline == null ? request : request.withMaxWait(deadline);
      return key == null ? request : request.withIdempotencyKey(key);
    } catch (IllegalArgumentException refused) {
      throw new InvalidInputException(String.valueOf(refused.getMessage()));
    }
  }
}
