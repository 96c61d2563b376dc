package dev.sluice.cli;

import dev.sluice.client.Governor;
import dev.sluice.client.SluiceClient;
import dev.sluice.client.SluiceClientException;
import dev.sluice.client.TokenOutcome;
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
abstract class TokenCommand extends ServerAction {
  @Option(names = "--wait", description = "Stay in line until it is granted or refused.")
  boolean wait;

  TokenCommand(Surroundings surroundings) {
    super(surroundings);
  }

  /** Waits, showing how it stands to whoever watches. */
  final TokenOutcome watched(
      Function<Consumer<TokenOutcome.Queued>, CompletableFuture<TokenOutcome>> waiting) {
    try (RewrittenLine line = new RewrittenLine(err(), surroundings.terminals().error())) {
      return await(waiting.apply(queued -> line.show(GovernorText.standing(queued))));
    }
  }

  /** Exits with 3 if the answer is anything but go. */
  final int say(TokenOutcome outcome) {
    say(GovernorText.json(outcome), GovernorText.lines(outcome));
    return outcome.granted() ? ExitCodes.OK : ExitCodes.LIMITED;
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
  static final class Request extends TokenCommand {
    private static final int ANSWER_SECONDS = 2;

    @Mixin private final TokenOptions options = new TokenOptions();

    Request(Surroundings surroundings) {
      super(surroundings);
    }

    @Override
    int run(SluiceClient client) {
      Governor governor = client.governor();
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
    private static void leave(Governor governor, CompletableFuture<String> ticket) {
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
  static final class Ticket extends TokenCommand {
    @Parameters(paramLabel = "TICKET", description = "As the request printed it.")
    private String ticket = "";

    Ticket(Surroundings surroundings) {
      super(surroundings);
    }

    @Override
    int run(SluiceClient client) {
      Governor governor = client.governor();
      return say(
          wait
              ? watched(progress -> governor.awaitAsync(ticket, progress))
              : governor.poll(ticket));
    }
  }
}
