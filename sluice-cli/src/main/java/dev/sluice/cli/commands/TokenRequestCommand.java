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

/** A command that is told how a request for tokens stands; it may wait in line. */
abstract class TokenRequestCommand extends ServerCommand {
  @Option(names = "--wait", description = "Stay in line until it is granted or refused.")
  boolean wait;

  TokenRequestCommand(CommandContext surroundings) {
    super(surroundings);
  }

  /** Waits, showing how it stands to whoever watches. */
  final TokenDecision watched(
      Function<Consumer<TokenDecision.Queued>, CompletableFuture<TokenDecision>> waiting) {
    try (StatusLine line = new StatusLine(err(), surroundings.terminals().error())) {
      return await(waiting.apply(queued -> line.show(GovernorOutput.standing(queued))));
    }
  }

  /** Exits with 3 if the answer is anything but go. */
  public final int say(TokenDecision outcome) {
    say(GovernorOutput.json(outcome), GovernorOutput.lines(outcome));
    return outcome.isGranted() ? ExitCodes.OK : ExitCodes.LIMITED;
  }

  /** {@code sluice governor request}. */
  @Command(
      name = "request",
      description = "Ask for tokens of a model; exits with 3 unless they are granted.",
      footer = {
        "",
        "A grant is a reservation, to be settled with what was used. Without --wait a request that",
        "must wait prints its ticket, which leaves the line if nobody asks for it.",
        "",
        "Examples:",
        "  sluice governor request deepseek-r1 --tokens 5000 --wait --deadline 30s",
        "  sluice governor request deepseek-r1 --tokens 5000 --priority P2_batch --json"
      })
  static final class Request extends TokenRequestCommand {
    private static final int ANSWER_SECONDS = 2;

    @Mixin private final TokenRequestOptions options = new TokenRequestOptions();

    Request(CommandContext surroundings) {
      super(surroundings);
    }

    @Override
    public int run(SluiceClient client) {
      GovernorClient governor = client.governor();
      if (!wait) {
        return say(governor.request(options.request()));
      }
      CompletableFuture<String> ticket = new CompletableFuture<>();
      Thread farewell = new Thread(() -> leave(governor, ticket), "sluice-leave");
      Runtime.getRuntime().addShutdownHook(farewell);
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
        forget(farewell);
      }
    }

    /** After Ctrl-C others need not wait until this one is missed; its place may be on its way. */
    private static void leave(GovernorClient governor, CompletableFuture<String> ticket) {
      try {
        governor.cancel(ticket.get(ANSWER_SECONDS, TimeUnit.SECONDS));
      } catch (SluiceClientException | ExecutionException | TimeoutException missedSoon) {
        // If there is a ticket, it leaves the line by itself.
      } catch (InterruptedException ending) {
        Thread.currentThread().interrupt();
      }
    }

    private static void forget(Thread farewell) {
      try {
        Runtime.getRuntime().removeShutdownHook(farewell);
      } catch (IllegalStateException ending) {
        // It runs already.
      }
    }
  }

  /** {@code sluice governor ticket}. */
  @Command(
      name = "ticket",
      description = "How a place in line stands; exits with 3 unless it is granted.")
  static final class Ticket extends TokenRequestCommand {
    @Parameters(paramLabel = "TICKET", description = "As the request printed it.")
    private String ticket = "";

    Ticket(CommandContext surroundings) {
      super(surroundings);
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
