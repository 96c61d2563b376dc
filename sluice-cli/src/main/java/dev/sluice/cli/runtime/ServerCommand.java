package dev.sluice.cli.runtime;

import dev.sluice.cli.text.InvalidInputException;
import dev.sluice.cli.text.JsonWriter;
import dev.sluice.cli.text.Suggestions;
import dev.sluice.cli.text.TerminalText;
import dev.sluice.client.QueueSummary;
import dev.sluice.client.SluiceClient;
import dev.sluice.client.SluiceClientException;
import dev.sluice.client.SluiceClientException.Code;
import java.io.IOException;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** A command that calls a server. */
public abstract class ServerCommand extends BaseCommand {
  /** What Netty says of an answer without TLS, before it shows the answer. */
  private static final String NO_TLS = "not an SSL/TLS record";

  public final CommandContext surroundings;

  @Option(names = "--json", description = "Print JSON, with the names of the HTTP interface.")
  public boolean json;

  @Mixin private final ConnectionOptions serverOptions = new ConnectionOptions();

  public ServerCommand(CommandContext surroundings) {
    this.surroundings = surroundings;
  }

  /** Does the work and returns the exit code. */
  public abstract int run(SluiceClient client);

  /** The queue that the command is about, for a hint when there is none of that name. */
  public @Nullable String queueName() {
    return null;
  }

  public final ConnectionOptions serverOptions() {
    return serverOptions;
  }

  @Override
  public Integer call() {
    try (SluiceClient client = serverOptions.connect(surroundings.environment())) {
      try {
        return run(client);
      } catch (SluiceClientException refused) {
        throw explained(client, refused);
      }
    }
  }

  /** Waits for the answer. */
  public static <T> T await(CompletableFuture<T> answer) {
    try {
      return answer.join();
    } catch (CompletionException failure) {
      if (failure.getCause() instanceof SluiceClientException refused) {
        throw refused;
      }
      throw failure;
    }
  }

  /** Prints the object, or else the lines. */
  public final int say(JsonWriter object, String... lines) {
    if (json) {
      out().println(object);
    } else {
      Stream.of(lines).map(TerminalText::line).forEach(out()::println);
    }
    return ExitCode.OK;
  }

  /** Asks before something is lost for good. */
  public final void confirm(boolean yes, String question) {
    if (yes) {
      return;
    }
    if (!surroundings.terminals().input() || !surroundings.terminals().error()) {
      throw new InvalidInputException("without a terminal to ask, --yes is needed: " + question);
    }
    err().print(question + " [y/N] ");
    err().flush();
    String answer = InputFiles.line(surroundings.input());
    if (!answer.strip().equalsIgnoreCase("y") && !answer.strip().equalsIgnoreCase("yes")) {
      throw new CommandFailedException(ExitCodes.FAILED, "nothing was done");
    }
  }

  private CommandFailedException explained(SluiceClient client, SluiceClientException refused) {
    String message = String.valueOf(refused.getMessage());
    String address = serverOptions.address(surroundings.environment());
    if (message.startsWith("http2 exception")) {
      return new CommandFailedException(
          ExitCodes.UNREACHABLE,
          "no gRPC is spoken at %s: --server takes the port of gRPC, not that of HTTP"
              .formatted(address));
    }
    return switch (refused.code()) {
      case UNAVAILABLE ->
          new CommandFailedException(ExitCodes.UNREACHABLE, unreachable(address, refused));
      case DEADLINE_EXCEEDED ->
          new CommandFailedException(
              ExitCodes.UNREACHABLE, "no answer came in time from " + address + ": " + message);
      case UNAUTHENTICATED ->
          new CommandFailedException(
              ExitCodes.FAILED,
              serverOptions.hasKey(surroundings.environment())
                  ? "the server does not take this key: " + message
                  : "the server wants a key: --api-key, --api-key-file or SLUICE_API_KEY");
      default ->
          new CommandFailedException(ExitCodes.FAILED, message + hint(client, refused.code()));
    };
  }

  private String unreachable(String address, SluiceClientException refused) {
    String reason = reason(refused);
    return serverOptions.overTls()
        ? "cannot reach a server over TLS at %s: %s; --tls-ca is who issued its certificate,"
                .formatted(address, reason)
            + " --tls-cert and --tls-key say who calls"
        : "cannot reach a server at %s: %s; one with TLS needs --tls-ca, ./sluice serve starts one"
            .formatted(address, reason);
  }

  /** What the operating system or TLS says, where gRPC only knows that something went wrong. */
  private static String reason(SluiceClientException refused) {
    Throwable first = refused;
    while (first.getCause() != null) {
      first = first.getCause();
    }
    if (first instanceof UnknownHostException) {
      return "unknown host";
    }
    Throwable telling = first instanceof IOException ? first : refused;
    // What follows the first line is of use to those who know gRPC from within.
    String message = String.valueOf(telling.getMessage()).lines().findFirst().orElse("");
    if (message.startsWith(NO_TLS)) {
      return NO_TLS;
    }
    // Which call of the system it was stands before the colon.
    return first instanceof SocketException
        ? message.substring(message.lastIndexOf(':') + 1).strip()
        : message;
  }

  private String hint(SluiceClient client, Code code) {
    String wanted = queueName();
    if (code != Code.NOT_FOUND || wanted == null) {
      return "";
    }
    try {
      List<String> there = client.queues().stream().map(QueueSummary::name).toList();
      List<String> near = there.contains(wanted) ? List.of() : Suggestions.of(wanted, there);
      return near.isEmpty() ? "" : "; did you mean " + String.join(" or ", near) + "?";
    } catch (SluiceClientException notAllowed) {
      return "";
    }
  }
}
