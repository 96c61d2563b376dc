package dev.sluice.cli;

import dev.sluice.client.GovernorStatus;
import dev.sluice.client.SluiceClient;
import dev.sluice.client.TokenExplanation;
import dev.sluice.client.TokenSettlement;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code sluice governor}. */
@Command(
    name = "governor",
    description = "Token budgets of LLM models: who may call now, who waits, and for how long.")
final class GovernorCommands extends CommandGroup {
  private GovernorCommands() {}

  static CommandLine of(Surroundings surroundings) {
    return new CommandLine(new GovernorCommands())
        .addSubcommand(new BudgetInitCommand())
        .addSubcommand(new TokenCommand.Request(surroundings))
        .addSubcommand(new TokenCommand.Ticket(surroundings))
        .addSubcommand(new Cancel(surroundings))
        .addSubcommand(new Settle(surroundings))
        .addSubcommand(new Extend(surroundings))
        .addSubcommand(new Explain(surroundings))
        .addSubcommand(new Status(surroundings))
        .addSubcommand(new Feedback(surroundings))
        .addSubcommand(new Reload(surroundings));
  }

  /** {@code sluice governor cancel}. */
  @Command(name = "cancel", description = "Leave the line, or give back what was granted.")
  static final class Cancel extends ServerAction {
    @Parameters(paramLabel = "TICKET", description = "As the request printed it.")
    private String ticket = "";

    Cancel(Surroundings surroundings) {
      super(surroundings);
    }

    @Override
    int run(SluiceClient client) {
      client.governor().cancel(ticket);
      return say(Json.object().put("ticket", ticket).put("cancelled", true), "cancelled " + ticket);
    }
  }

  /** A command about one reservation. */
  abstract static class OfReservation extends ServerAction {
    @Parameters(index = "0", paramLabel = "RESERVATION", description = "As the grant printed it.")
    String reservation = "";

    OfReservation(Surroundings surroundings) {
      super(surroundings);
    }
  }

  /** {@code sluice governor settle}. */
  @Command(name = "settle", description = "Say what was used of a grant.")
  static final class Settle extends OfReservation {
    @Parameters(
        index = "1",
        paramLabel = "TOKENS",
        converter = Converters.WholeNumberConverter.class,
        description = "What was used; 0 if nothing was.")
    private long tokens;

    Settle(Surroundings surroundings) {
      super(surroundings);
    }

    @Override
    int run(SluiceClient client) {
      TokenSettlement settled = client.governor().settle(reservation, tokens);
      return say(
          GovernorText.json(settled),
          "settled: %d of %d tokens used, %d refunded, %d overused%s"
              .formatted(
                  settled.actualTokens(),
                  settled.reservedTokens(),
                  settled.refundedTokens(),
                  settled.overusedTokens(),
                  settled.excessTokens() == 0
                      ? ""
                      : ", %d not charged".formatted(settled.excessTokens())));
    }
  }

  /** {@code sluice governor extend}. */
  @Command(name = "extend", description = "Let a reservation live as long again.")
  static final class Extend extends OfReservation {
    Extend(Surroundings surroundings) {
      super(surroundings);
    }

    @Override
    int run(SluiceClient client) {
      client.governor().extend(reservation);
      return say(
          Json.object().put("reservation", reservation).put("extended", true),
          "extended " + reservation);
    }
  }

  /** {@code sluice governor explain}. */
  @Command(
      name = "explain",
      description = "What would become of a request, and why; exits with 3 unless granted.")
  static final class Explain extends ServerAction {
    @Mixin private final TokenOptions options = new TokenOptions();

    Explain(Surroundings surroundings) {
      super(surroundings);
    }

    @Override
    int run(SluiceClient client) {
      TokenExplanation explanation = client.governor().explain(options.request());
      if (json) {
        out().println(GovernorText.json(explanation));
      } else {
        GovernorText.print(explanation, out());
      }
      return explanation.verdict() == TokenExplanation.Verdict.GRANTED
          ? ExitCodes.OK
          : ExitCodes.LIMITED;
    }
  }

  /** {@code sluice governor status}. */
  @Command(name = "status", description = "How the models stand, and what to look at.")
  static final class Status extends ServerAction {
    Status(Surroundings surroundings) {
      super(surroundings);
    }

    @Override
    int run(SluiceClient client) {
      GovernorStatus status = client.governor().status();
      if (json) {
        out().println(GovernorText.json(status));
      } else {
        GovernorText.print(status, out());
      }
      return ExitCodes.OK;
    }
  }

  /** {@code sluice governor feedback}. */
  @Command(name = "feedback", description = "Tell how a model's provider answered a call.")
  static final class Feedback extends ServerAction {
    @Parameters(paramLabel = "MODEL", description = "Whose provider.")
    private String model = "";

    @Option(
        names = "--status",
        paramLabel = "CODE",
        required = true,
        converter = Converters.SmallNumberConverter.class,
        description = "Of HTTP, such as 429.")
    private int status;

    @Option(
        names = "--header",
        paramLabel = "NAME=VALUE",
        description = "A header, such as retry-after=5; may be given again.")
    private Map<String, String> headers = new LinkedHashMap<>();

    Feedback(Surroundings surroundings) {
      super(surroundings);
    }

    @Override
    int run(SluiceClient client) {
      client.governor().feedback(model, status, headers);
      return say(Json.object().put("model", model).put("told", true), "told " + model);
    }
  }

  /** {@code sluice governor reload}. */
  @Command(
      name = "reload",
      description = "Have the server read its budget file anew; levels and lines stay.")
  static final class Reload extends ServerAction {
    Reload(Surroundings surroundings) {
      super(surroundings);
    }

    @Override
    int run(SluiceClient client) {
      List<String> withoutEffect = client.governor().reload();
      return say(
          Json.object().putTexts("withoutEffect", withoutEffect),
          Stream.concat(
                  Stream.of("reloaded"),
                  withoutEffect.stream().map(each -> "without effect: " + each))
              .toArray(String[]::new));
    }
  }
}
