package dev.sluice.cli.commands;

import dev.sluice.Limit;
import dev.sluice.cli.runtime.CommandContext;
import dev.sluice.cli.runtime.CommandGroup;
import dev.sluice.cli.runtime.ExitCodes;
import dev.sluice.cli.runtime.ServerCommand;
import dev.sluice.cli.text.CostArguments;
import dev.sluice.cli.text.Durations;
import dev.sluice.cli.text.JsonWriter;
import dev.sluice.cli.text.Numbers;
import dev.sluice.cli.text.TextTable;
import dev.sluice.client.LimitDecision;
import dev.sluice.client.SluiceClient;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code sluice limit}. */
@Command(name = "limit", description = "Limits by key, and decisions on them.")
public final class LimitCommands extends CommandGroup {
  private LimitCommands() {}

  public static CommandLine of(CommandContext surroundings) {
    return new CommandLine(new LimitCommands())
        .addSubcommand(new SetLimit(surroundings))
        .addSubcommand(new Remove(surroundings))
        .addSubcommand(new ListLimits(surroundings))
        .addSubcommand(new Decide(surroundings));
  }

  private static JsonWriter json(String name, Limit limit) {
    JsonWriter json = JsonWriter.object().put("key", name);
    return limit instanceof Limit.Rate rate
        ? json.put("rate_per_second", rate.perSecond()).put("burst", rate.burst())
        : json;
  }

  /** {@code sluice limit set}. */
  @Command(
      name = "set",
      description = "Set the limit of a key, or of all that begin alike, such as 'tenant:*'.")
  static final class SetLimit extends ConfigCommands.KeyCommand {
    @Mixin private final RateOptions options = new RateOptions();

    SetLimit(CommandContext surroundings) {
      super(surroundings);
    }

    @Override
    public int run(SluiceClient client) {
      Limit.Rate limit = options.limit();
      client.setLimit(key, limit);
      return say(json(key, limit), "set " + key);
    }
  }

  /** {@code sluice limit remove}. */
  @Command(name = "remove", description = "Remove a limit; what was consumed is forgotten.")
  static final class Remove extends ConfigCommands.KeyCommand {
    Remove(CommandContext surroundings) {
      super(surroundings);
    }

    @Override
    public int run(SluiceClient client) {
      client.removeLimit(key);
      return say(JsonWriter.object().put("key", key).put("removed", true), "removed " + key);
    }
  }

  /** {@code sluice limit list}. */
  @Command(name = "list", description = "All limits by key.")
  static final class ListLimits extends ServerCommand {
    private static final TextTable<Map.Entry<String, Limit>> TABLE =
        new TextTable<>(1, List.of("KEY", "RATE/S", "BURST"), ListLimits::cells);

    ListLimits(CommandContext surroundings) {
      super(surroundings);
    }

    @Override
    public int run(SluiceClient client) {
      SortedMap<String, Limit> limits = client.limits();
      if (json) {
        List<JsonWriter> all =
            limits.entrySet().stream()
                .map(limit -> LimitCommands.json(limit.getKey(), limit.getValue()))
                .toList();
        out().println(JsonWriter.object().putObjects("limits", all));
      } else {
        TABLE.print(List.copyOf(limits.entrySet()), out());
      }
      return ExitCodes.OK;
    }

    private static List<String> cells(Map.Entry<String, Limit> limit) {
      return limit.getValue() instanceof Limit.Rate rate
          ? List.of(limit.getKey(), Numbers.format(rate.perSecond()), Numbers.format(rate.burst()))
          : List.of(limit.getKey(), "", "");
    }
  }

  /** {@code sluice limit decide}. */
  @Command(
      name = "decide",
      description = "Take tokens of all keys, or of none; exits with 3 if a limit says no.")
  static final class Decide extends ServerCommand {
    @Parameters(
        arity = "1..*",
        paramLabel = "KEY[=TOKENS]",
        description = "Of which key, and how many tokens. Default: 1.")
    private List<String> costs = new ArrayList<>();

    @Option(names = "--dry-run", description = "Say what would be decided, and take nothing.")
    private boolean dryRun;

    Decide(CommandContext surroundings) {
      super(surroundings);
    }

    @Override
    public int run(SluiceClient client) {
      Map<String, Long> wanted = CostArguments.parse(costs);
      LimitDecision decision = dryRun ? client.peek(wanted) : client.decide(wanted);
      say(json(decision), text(decision));
      return decision.isGranted() ? ExitCodes.OK : ExitCodes.LIMITED;
    }

    private static JsonWriter json(LimitDecision decision) {
      if (decision instanceof LimitDecision.Denied denied) {
        return refused("DENIED", denied.bindingKey())
            .put("retry_after_ns", denied.retryAfter().toNanos());
      }
      if (decision instanceof LimitDecision.Depleted depleted) {
        return refused("DEPLETED", depleted.bindingKey());
      }
      return decision instanceof LimitDecision.Impossible impossible
          ? refused("IMPOSSIBLE", impossible.bindingKey()).put("burst", impossible.burst())
          : JsonWriter.object().put("outcome", "GRANTED");
    }

    private static JsonWriter refused(String outcome, String key) {
      return JsonWriter.object().put("outcome", outcome).put("binding_key", key);
    }

    private static String text(LimitDecision decision) {
      if (decision instanceof LimitDecision.Denied denied) {
        return "denied by %s: retry in %s"
            .formatted(denied.bindingKey(), Durations.format(denied.retryAfter().toNanos()));
      }
      if (decision instanceof LimitDecision.Depleted depleted) {
        return "depleted: no token of %s comes back by itself".formatted(depleted.bindingKey());
      }
      return decision instanceof LimitDecision.Impossible impossible
          ? "impossible: %s never has more than %s"
              .formatted(impossible.bindingKey(), Numbers.format(impossible.burst()))
          : "granted";
    }
  }
}
