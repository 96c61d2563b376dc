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
  /** The beginning of Netty's message for a response without TLS. */
  private static final String NO_TLS = "not an SSL/TLS record";

  public final CommandContext context;

  @Option(names = "--json", description = "Print JSON with the names of the HTTP interface.")
  public boolean json;

  @Mixin private final ConnectionOptions serverOptions = new ConnectionOptions();

  public ServerCommand(CommandContext context) {
    this.context = context;
  }

  /** Runs the command and returns the exit code. */
  public abstract int run(SluiceClient client);

  /** Returns the queue of the command, for suggestions if it does not exist. */
  public @Nullable String queueName() {
    return null;
  }

  public final ConnectionOptions serverOptions() {
    return serverOptions;
  }

  @Override
  public Integer call() {
    try (SluiceClient client = serverOptions.connect(context.environment())) {
      try {
        return run(client);
      } catch (SluiceClientException refused) {
        throw explained(client, refused);
      }
    }
  }

  /** Blocks until the future completes. */
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

  /** Prints the object with --json, and the lines otherwise. */
  public final int say(JsonWriter object, String... lines) {
    if (json) {
      out().println(object);
    } else {
      Stream.of(lines).map(TerminalText::line).forEach(out()::println);
    }
    return ExitCode.OK;
  }

  /** Asks for confirmation before data is deleted. */
  public final void confirm(boolean yes, String question) {
    if (yes) {
      return;
    }
    if (!context.terminals().input() || !context.terminals().error()) {
      throw new InvalidInputException("confirmation needs a terminal or --yes: " + question);
    }
    err().print(question + " [y/N] ");
    err().flush();
    String answer = InputFiles.line(context.input());
    if (!answer.strip().equalsIgnoreCase("y") && !answer.strip().equalsIgnoreCase("yes")) {
      throw new CommandFailedException(ExitCodes.FAILED, "canceled: nothing was done");
    }
  }

  private CommandFailedException explained(SluiceClient client, SluiceClientException refused) {
    String message = String.valueOf(refused.getMessage());
    String address = serverOptions.address(context.environment());
    if (message.startsWith("http2 exception")) {
      return new CommandFailedException(
          ExitCodes.UNREACHABLE,
          "%s does not speak gRPC: --server takes the gRPC port, not the HTTP port"
              .formatted(address));
    }
    return switch (refused.code()) {
      case UNAVAILABLE ->
          new CommandFailedException(ExitCodes.UNREACHABLE, unreachable(address, refused));
      case DEADLINE_EXCEEDED ->
          new CommandFailedException(
              ExitCodes.UNREACHABLE, "no response in time from " + address + ": " + message);
      case UNAUTHENTICATED ->
          new CommandFailedException(
              ExitCodes.FAILED,
              serverOptions.hasKey(context.environment())
                  ? "the server rejects this API key: " + message
                  : "the server requires an API key: --api-key, --api-key-file or SLUICE_API_KEY");
      default ->
          new CommandFailedException(ExitCodes.FAILED, message + hint(client, refused.code()));
    };
  }

  private String unreachable(String address, SluiceClientException refused) {
    String reason = reason(refused);
    return serverOptions.overTls()
        ? "cannot reach a server over TLS at %s: %s; --tls-ca is the issuer of its certificate,"
                .formatted(address, reason)
            + " --tls-cert and --tls-key are the client's certificate"
        : "cannot reach a server at %s: %s; TLS needs --tls-ca, ./sluice serve starts a server"
            .formatted(address, reason);
  }

  /** Returns the reason of the operating system or of TLS if there is one, else that of gRPC. */
  private static String reason(SluiceClientException refused) {
    Throwable first = refused;
    while (first.getCause() != null) {
      first = first.getCause();
    }
    if (first instanceof UnknownHostException) {
      return "unknown host";
    }
    Throwable specific = first instanceof IOException ? first : refused;
    // The lines after the first are internals of gRPC.
    String message = String.valueOf(specific.getMessage()).lines().findFirst().orElse("");
    if (message.startsWith(NO_TLS)) {
      return NO_TLS;
    }
    // The system call precedes the colon.
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
      List<String> names = client.queues().stream().map(QueueSummary::name).toList();
      List<String> near = names.contains(wanted) ? List.of() : Suggestions.of(wanted, names);
      return near.isEmpty() ? "" : "; did you mean " + String.join(" or ", near) + "?";
    } catch (SluiceClientException notAllowed) {
      return "";
    }
  }
}
