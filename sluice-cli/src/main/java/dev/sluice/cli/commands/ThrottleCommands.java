package dev.sluice.cli.commands;

import dev.sluice.Limit;
import dev.sluice.cli.runtime.CommandContext;
import dev.sluice.cli.runtime.CommandGroup;
import dev.sluice.cli.runtime.ExitCodes;
import dev.sluice.cli.runtime.ServerCommand;
import dev.sluice.cli.text.JsonWriter;
import dev.sluice.cli.text.Numbers;
import dev.sluice.cli.text.TextTable;
import dev.sluice.client.SluiceClient;
import dev.sluice.client.ThrottleRate;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code sluice throttle}. */
@Command(
    name = "throttle",
    description = "Set the limits at which queues deliver messages with a throttle key.")
public final class ThrottleCommands extends CommandGroup {
  private ThrottleCommands() {}

  public static CommandLine of(CommandContext context) {
    return new CommandLine(new ThrottleCommands())
        .addSubcommand(new SetRate(context))
        .addSubcommand(new ListRates(context))
        .addSubcommand(new Remove(context));
  }

  static JsonWriter json(ThrottleRate rate) {
    return JsonWriter.object()
        .put("key", rate.key())
        .put("rate_per_second", rate.ratePerSecond())
        .put("burst", rate.burst())
        .put("level", rate.tokens());
  }

  /** {@code sluice throttle set}. */
  @Command(name = "set", description = "Set the limit of a throttle key.")
  static final class SetRate extends ConfigCommands.KeyCommand {
    @Mixin private final RateOptions options = new RateOptions();

    SetRate(CommandContext context) {
      super(context);
    }

    @Override
    public int run(SluiceClient client) {
      Limit.Rate limit = options.limit();
      client.admin().setThrottle(key, limit);
      JsonWriter json =
          JsonWriter.object()
              .put("key", key)
              .put("rate_per_second", limit.perSecond())
              .put("burst", limit.burst());
      return say(json, "set " + key);
    }
  }

  /** {@code sluice throttle list}. */
  @Command(name = "list", description = "List the limits of all throttle keys.")
  static final class ListRates extends ServerCommand {
    private static final TextTable<ThrottleRate> TABLE =
        new TextTable<>(
            1,
            List.of("KEY", "RATE/S", "BURST", "LEVEL"),
            rate ->
                List.of(
                    rate.key(),
                    Numbers.format(rate.ratePerSecond()),
                    Numbers.format(rate.burst()),
                    Numbers.format(Math.floor(rate.tokens() * 10) / 10)));

    ListRates(CommandContext context) {
      super(context);
    }

    @Override
    public int run(SluiceClient client) {
      List<ThrottleRate> rates = client.admin().throttles();
      if (json) {
        List<JsonWriter> all = rates.stream().map(ThrottleCommands::json).toList();
        out().println(JsonWriter.object().putObjects("throttles", all));
      } else {
        TABLE.print(rates, out());
      }
      return ExitCodes.OK;
    }
  }

  /** {@code sluice throttle remove}. */
  @Command(name = "remove", description = "Remove the limit of a throttle key.")
  static final class Remove extends ConfigCommands.KeyCommand {
    Remove(CommandContext context) {
      super(context);
    }

    @Override
    public int run(SluiceClient client) {
      client.admin().removeThrottle(key);
      return say(JsonWriter.object().put("key", key).put("removed", true), "removed " + key);
    }
  }
}
