package dev.sluice.cli;

import dev.sluice.client.SluiceClient;
import dev.sluice.client.ThrottleRate;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code sluice throttle}. */
@Command(
    name = "throttle",
    description = "How fast messages with a throttle key are delivered, over all queues.")
final class ThrottleCommands extends CommandGroup {
  private ThrottleCommands() {}

  static CommandLine of(Surroundings surroundings) {
    return new CommandLine(new ThrottleCommands())
        .addSubcommand(new SetRate(surroundings))
        .addSubcommand(new ListRates(surroundings))
        .addSubcommand(new Remove(surroundings));
  }

  static Json json(ThrottleRate rate) {
    return Json.object()
        .put("key", rate.key())
        .put("rate_per_second", rate.ratePerSecond())
        .put("burst", rate.burst())
        .put("tokens", rate.tokens());
  }

  /** {@code sluice throttle set}. */
  @Command(name = "set", description = "Set the rate of a throttle key.")
  static final class SetRate extends ConfigCommands.OfKey {
    @Mixin private final RateOptions options = new RateOptions();

    SetRate(Surroundings surroundings) {
      super(surroundings);
    }

    @Override
    int run(SluiceClient client) {
      client.administration().setThrottle(key, options.rate(), options.burst());
      Json json =
          Json.object()
              .put("key", key)
              .put("rate_per_second", options.rate())
              .put("burst", options.burst());
      return say(json, "set " + key);
    }
  }

  /** {@code sluice throttle list}. */
  @Command(name = "list", description = "The rates of all throttle keys.")
  static final class ListRates extends ServerAction {
    private static final Table<ThrottleRate> TABLE =
        new Table<>(
            1,
            List.of("KEY", "RATE/S", "BURST", "TOKENS"),
            rate ->
                List.of(
                    rate.key(),
                    WholeNumbers.format(rate.ratePerSecond()),
                    WholeNumbers.format(rate.burst()),
                    WholeNumbers.format(Math.floor(rate.tokens() * 10) / 10)));

    ListRates(Surroundings surroundings) {
      super(surroundings);
    }

    @Override
    int run(SluiceClient client) {
      List<ThrottleRate> rates = client.administration().throttles();
      if (json) {
        List<Json> all = rates.stream().map(ThrottleCommands::json).toList();
        out().println(Json.object().putObjects("throttles", all));
      } else {
        TABLE.print(rates, out());
      }
      return ExitCodes.OK;
    }
  }

  /** {@code sluice throttle remove}. */
  @Command(name = "remove", description = "Remove the rate of a throttle key.")
  static final class Remove extends ConfigCommands.OfKey {
    Remove(Surroundings surroundings) {
      super(surroundings);
    }

    @Override
    int run(SluiceClient client) {
      client.administration().removeThrottle(key);
      return say(Json.object().put("key", key).put("removed", true), "removed " + key);
    }
  }
}
