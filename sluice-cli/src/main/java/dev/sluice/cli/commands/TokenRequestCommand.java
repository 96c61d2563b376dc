package dev.sluice.cli.commands;

import dev.sluice.cli.runtime.CommandContext;
import dev.sluice.cli.runtime.ExitCodes;
import dev.sluice.cli.runtime.ServerCommand;
import dev.sluice.cli.runtime.StatusLine;
import dev.sluice.client.GovernorClient;
import dev.sluice.client.SluiceClient;
import dev.sluice.client.SluiceClientException;
import dev.sluice.client.TokenDecision;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Function;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** A command that prints the decision of a token request, and may wait for it. */
abstract class TokenRequestCommand extends ServerCommand {
  @Option(
      names = "--wait",
      description = "Wait until the request is granted, denied or impossible.")
  boolean wait;

  TokenRequestCommand(CommandContext context) {
    super(context);
  }

  /** Waits for the decision and shows the progress on a terminal. */
  final TokenDecision watched(
      Function<Consumer<TokenDecision.Queued>, CompletableFuture<TokenDecision>> waiting) {
    try (StatusLine line = new StatusLine(err(), context.terminals().error())) {
      return await(waiting.apply(queued -> line.show(GovernorOutput.progress(queued))));
    }
  }

  /** Prints the decision; the exit code is 3 unless it is a grant. */
  public final int say(TokenDecision outcome) {
    say(GovernorOutput.json(outcome), GovernorOutput.lines(outcome));
    return outcome.isGranted() ? ExitCodes.OK : ExitCodes.LIMITED;
  }

  /** {@code sluice governor request}. */
  @Command(
      name = "request",
      description = "Request tokens of a model; exits with 3 unless they are granted.",
      footer = {
        "",
        "A grant prints a reservation: settle it with the tokens that were used. Without --wait, a",
        "request that must wait prints a ticket; the server removes tickets that are not polled.",
        "",
        "Examples:",
        "  sluice governor request deepseek-r1 --tokens 5000 --wait --max-wait 30s",
        "  sluice governor request deepseek-r1 --tokens 5000 --priority-class P2_batch --json"
      })
  static final class Request extends TokenRequestCommand {
    private static final int TICKET_SECONDS = 2;

    @Mixin private final TokenRequestOptions options = new TokenRequestOptions();

    Request(CommandContext context) {
      super(context);
    }

    @Override
    public int run(SluiceClient client) {
      GovernorClient governor = client.governor();
      if (!wait) {
        return say(governor.request(options.request()));
      }
      CompletableFuture<String> ticket = new CompletableFuture<>();
      Thread cancelHook = new Thread(() -> leave(governor, ticket), "sluice-leave");
      Runtime.getRuntime().addShutdownHook(cancelHook);
      try {
        return say(
            watched(
                progress ->
                    governor.acquireAsync(
                        options.request(),
                        queued -> {
                          ticket.complete(queued.ticket());
                          progress.accept(queued);
                        })));
      } finally {
        forget(cancelHook);
      }
    }

    /**
     * Cancels the ticket on Ctrl-C, so that other requests need not wait until the server finds it
     * abandoned. The ticket may still be on its way.
     */
    private static void leave(GovernorClient governor, CompletableFuture<String> ticket) {
      try {
        governor.cancel(ticket.get(TICKET_SECONDS, TimeUnit.SECONDS));
      } catch (SluiceClientException | ExecutionException | TimeoutException abandoned) {
        // The server removes an abandoned ticket.
      } catch (InterruptedException ending) {
        Thread.currentThread().interrupt();
      }
    }

    private static void forget(Thread cancelHook) {
      try {
        Runtime.getRuntime().removeShutdownHook(cancelHook);
      } catch (IllegalStateException ending) {
        // The hook runs already.
      }
    }
  }

  /** {@code sluice governor ticket}. */
  @Command(
      name = "ticket",
      description = "Show the state of a ticket; exits with 3 unless it is granted.")
  static final class Ticket extends TokenRequestCommand {
    @Parameters(paramLabel = "TICKET", description = "The ticket that request printed.")
    private String ticket = "";

    Ticket(CommandContext context) {
      super(context);
    }

    @Override
    public int run(SluiceClient client) {
      GovernorClient governor = client.governor();
      return say(
          wait
              ? watched(progress -> governor.awaitAsync(ticket, progress))
              : governor.poll(ticket));
    }
  }
}
