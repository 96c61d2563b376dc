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
    description = "Request and settle tokens of LLM models, and inspect their budgets.")
public final class GovernorCommands extends CommandGroup {
  private GovernorCommands() {}

  public static CommandLine of(CommandContext context) {
    return new CommandLine(new GovernorCommands())
        .addSubcommand(new GovernorInitCommand())
        .addSubcommand(new TokenRequestCommand.Request(context))
        .addSubcommand(new TokenRequestCommand.Ticket(context))
        .addSubcommand(new Cancel(context))
        .addSubcommand(new Settle(context))
        .addSubcommand(new Extend(context))
        .addSubcommand(new Explain(context))
        .addSubcommand(new Status(context))
        .addSubcommand(new Feedback(context))
        .addSubcommand(new Reload(context));
  }

  /** {@code sluice governor cancel}. */
  @Command(
      name = "cancel",
      description = "Remove a request from the waiting list, or return its grant.")
  static final class Cancel extends ServerCommand {
    @Parameters(paramLabel = "TICKET", description = "The ticket that request printed.")
    private String ticket = "";

    Cancel(CommandContext context) {
      super(context);
    }

    @Override
    public int run(SluiceClient client) {
      client.governor().cancel(ticket);
      return say(
          JsonWriter.object().put("ticket", ticket).put("canceled", true), "canceled " + ticket);
    }
  }

  /** A command about one reservation. */
  abstract static class ReservationCommand extends ServerCommand {
    @Parameters(
        index = "0",
        paramLabel = "RESERVATION",
        description = "The reservation that request printed.")
    String reservation = "";

    ReservationCommand(CommandContext context) {
      super(context);
    }
  }

  /** {@code sluice governor settle}. */
  @Command(name = "settle", description = "Settle a reservation with the tokens that were used.")
  static final class Settle extends GovernorCommands.ReservationCommand {
    @Parameters(
        index = "1",
        paramLabel = "TOKENS",
        converter = OptionConverters.WholeNumberConverter.class,
        description = "The used tokens; 0 if none.")
    private long tokens;

    Settle(CommandContext context) {
      super(context);
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
  @Command(name = "extend", description = "Restart the timeout of a reservation.")
  static final class Extend extends GovernorCommands.ReservationCommand {
    Extend(CommandContext context) {
      super(context);
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
      description = "Predict the decision of a request; exits with 3 unless it is a grant.")
  static final class Explain extends ServerCommand {
    @Mixin private final TokenRequestOptions options = new TokenRequestOptions();

    Explain(CommandContext context) {
      super(context);
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
  @Command(
      name = "status",
      description = "Show the budgets, waiting lists and alerts of the models.")
  static final class Status extends ServerCommand {
    Status(CommandContext context) {
      super(context);
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
  @Command(
      name = "feedback",
      description = "Report the provider's response to a call, to slow down if it says so.")
  static final class Feedback extends ServerCommand {
    @Parameters(paramLabel = "MODEL", description = "The model that was called.")
    private String model = "";

    @Option(
        names = "--status",
        paramLabel = "CODE",
        required = true,
        converter = OptionConverters.SmallNumberConverter.class,
        description = "The HTTP status of the response, such as 429.")
    private int status;

    @Option(
        names = "--header",
        paramLabel = "NAME=VALUE",
        description = "A header of the response, such as retry-after=5; may be repeated.")
    private Map<String, String> headers = new LinkedHashMap<>();

    Feedback(CommandContext context) {
      super(context);
    }

    @Override
    public int run(SluiceClient client) {
      client.governor().feedback(model, status, headers);
      return say(
          JsonWriter.object().put("model", model).put("reported", true), "reported for " + model);
    }
  }

  /** {@code sluice governor reload}. */
  @Command(
      name = "reload",
      description = "Make the server read its budget file again; levels and waiting lists stay.")
  static final class Reload extends ServerCommand {
    Reload(CommandContext context) {
      super(context);
    }

    @Override
    public int run(SluiceClient client) {
      List<String> ignoredKeys = client.governor().reload();
      return say(
          JsonWriter.object().putTexts("ignoredKeys", ignoredKeys),
          Stream.concat(Stream.of("reloaded"), ignoredKeys.stream().map(each -> "ignored: " + each))
              .toArray(String[]::new));
    }
  }
}
