package dev.sluice.cli.commands;

import dev.sluice.cli.runtime.CommandContext;
import dev.sluice.cli.runtime.CommandGroup;
import dev.sluice.cli.runtime.ExitCodes;
import dev.sluice.cli.runtime.OptionConverters;
import dev.sluice.cli.runtime.ServerCommand;
import dev.sluice.cli.text.JsonWriter;
import dev.sluice.client.GovernorStatus;
import dev.sluice.client.SluiceClient;
import dev.sluice.client.TokenExplanation;
import dev.sluice.client.TokenExplanation.Outcome;
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
public final class GovernorCommands extends CommandGroup {
  private GovernorCommands() {}

  public static CommandLine of(CommandContext surroundings) {
    return new CommandLine(new GovernorCommands())
        .addSubcommand(new GovernorInitCommand())
        .addSubcommand(new TokenRequestCommand.Request(surroundings))
        .addSubcommand(new TokenRequestCommand.Ticket(surroundings))
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
  static final class Cancel extends ServerCommand {
    @Parameters(paramLabel = "TICKET", description = "As the request printed it.")
    private String ticket = "";

    Cancel(CommandContext surroundings) {
      super(surroundings);
    }

    @Override
    public int run(SluiceClient client) {
      client.governor().cancel(ticket);
      return say(
          JsonWriter.object().put("ticket", ticket).put("cancelled", true), "cancelled " + ticket);
    }
  }

  /** A command about one reservation. */
  abstract static class ReservationCommand extends ServerCommand {
    @Parameters(index = "0", paramLabel = "RESERVATION", description = "As the grant printed it.")
    String reservation = "";

    ReservationCommand(CommandContext surroundings) {
      super(surroundings);
    }
  }

  /** {@code sluice governor settle}. */
  @Command(name = "settle", description = "Say what was used of a grant.")
  static final class Settle extends GovernorCommands.ReservationCommand {
    @Parameters(
        index = "1",
        paramLabel = "TOKENS",
        converter = OptionConverters.WholeNumberConverter.class,
        description = "What was used; 0 if nothing was.")
    private long tokens;

    Settle(CommandContext surroundings) {
      super(surroundings);
    }

    @Override
    public int run(SluiceClient client) {
      TokenSettlement settled = client.governor().settle(reservation, tokens);
      return say(
          GovernorOutput.json(settled),
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
  static final class Extend extends GovernorCommands.ReservationCommand {
    Extend(CommandContext surroundings) {
      super(surroundings);
    }

    @Override
    public int run(SluiceClient client) {
      client.governor().extend(reservation);
      return say(
          JsonWriter.object().put("reservation", reservation).put("extended", true),
          "extended " + reservation);
    }
  }

  /** {@code sluice governor explain}. */
  @Command(
      name = "explain",
      description = "What would become of a request, and why; exits with 3 unless granted.")
  static final class Explain extends ServerCommand {
    @Mixin private final TokenRequestOptions options = new TokenRequestOptions();

    Explain(CommandContext surroundings) {
      super(surroundings);
    }

    @Override
    public int run(SluiceClient client) {
      TokenExplanation explanation = client.governor().explain(options.request());
      if (json) {
        out().println(GovernorOutput.json(explanation));
      } else {
        GovernorOutput.print(explanation, out());
      }
      return explanation.outcome() == Outcome.GRANTED ? ExitCodes.OK : ExitCodes.LIMITED;
    }
  }

  /** {@code sluice governor status}. */
  @Command(name = "status", description = "How the models stand, and what to look at.")
  static final class Status extends ServerCommand {
    Status(CommandContext surroundings) {
      super(surroundings);
    }

    @Override
    public int run(SluiceClient client) {
      GovernorStatus status = client.governor().status();
      if (json) {
        out().println(GovernorOutput.json(status));
      } else {
        GovernorOutput.print(status, out());
      }
      return ExitCodes.OK;
    }
  }

  /** {@code sluice governor feedback}. */
  @Command(name = "feedback", description = "Tell how a model's provider answered a call.")
  static final class Feedback extends ServerCommand {
    @Parameters(paramLabel = "MODEL", description = "Whose provider.")
    private String model = "";

    @Option(
        names = "--status",
        paramLabel = "CODE",
        required = true,
        converter = OptionConverters.SmallNumberConverter.class,
        description = "Of HTTP, such as 429.")
    private int status;

    @Option(
        names = "--header",
        paramLabel = "NAME=VALUE",
        description = "A header, such as retry-after=5; may be given again.")
    private Map<String, String> headers = new LinkedHashMap<>();

    Feedback(CommandContext surroundings) {
      super(surroundings);
    }

    @Override
    public int run(SluiceClient client) {
      client.governor().feedback(model, status, headers);
      return say(JsonWriter.object().put("model", model).put("told", true), "told " + model);
    }
  }

  /** {@code sluice governor reload}. */
  @Command(
      name = "reload",
      description = "Have the server read its budget file anew; levels and lines stay.")
  static final class Reload extends ServerCommand {
    Reload(CommandContext surroundings) {
      super(surroundings);
    }

    @Override
    public int run(SluiceClient client) {
      List<String> withoutEffect = client.governor().reload();
      return say(
          JsonWriter.object().putTexts("withoutEffect", withoutEffect),
          Stream.concat(
                  Stream.of("reloaded"),
                  withoutEffect.stream().map(each -> "without effect: " + each))
              .toArray(String[]::new));
    }
  }
}
