package dev.sluice.cli.commands;

import dev.sluice.Decision;
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
@Command(name = "limit", description = "Set named limits and decide requests.")
public final class LimitCommands extends CommandGroup {
  private LimitCommands() {}

  public static CommandLine of(CommandContext context) {
    return new CommandLine(new LimitCommands())
        .addSubcommand(new SetLimit(context))
        .addSubcommand(new Remove(context))
        .addSubcommand(new ListLimits(context))
        .addSubcommand(new Decide(context));
  }

  private static JsonWriter json(String name, Limit limit) {
    JsonWriter json = JsonWriter.object().put("name", name);
    return limit instanceof Limit.Rate rate
        ? json.put("rate_per_second", rate.perSecond()).put("burst", rate.burst())
        : json;
  }

  /** A command about one limit. */
  abstract static class LimitCommand extends ServerCommand {
    @Parameters(index = "0", paramLabel = "NAME", description = "The limit's name.")
    String name = "";

    LimitCommand(CommandContext context) {
      super(context);
    }
  }

  /** {@code sluice limit set}. */
  @Command(
      name = "set",
      description = "Set the limit of a name, or of all names with a prefix: 'tenant:*'.")
  static final class SetLimit extends LimitCommand {
    @Mixin private final RateOptions options = new RateOptions();

    SetLimit(CommandContext context) {
      super(context);
    }

    @Override
    public int run(SluiceClient client) {
      Limit.Rate limit = options.limit();
      client.setLimit(name, limit);
      return say(json(name, limit), "set " + name);
    }
  }

  /** {@code sluice limit remove}. */
  @Command(name = "remove", description = "Remove a limit and its buckets.")
  static final class Remove extends LimitCommand {
    Remove(CommandContext context) {
      super(context);
    }

    @Override
    public int run(SluiceClient client) {
      client.removeLimit(name);
      return say(JsonWriter.object().put("name", name).put("removed", true), "removed " + name);
    }
  }

  /** {@code sluice limit list}. */
  @Command(name = "list", description = "List all limits by name.")
  static final class ListLimits extends ServerCommand {
    private static final TextTable<Map.Entry<String, Limit>> TABLE =
        new TextTable<>(1, List.of("NAME", "RATE/S", "BURST"), ListLimits::cells);

    ListLimits(CommandContext context) {
      super(context);
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
      description = "Take the tokens of all names, or none; exits with 3 unless granted.")
  static final class Decide extends ServerCommand {
    @Parameters(
        arity = "1..*",
        paramLabel = "NAME[=TOKENS]",
        description = "A limit and its tokens. Default: 1.")
    private List<String> costs = new ArrayList<>();

    @Option(names = "--peek", description = "Print the decision without taking tokens.")
    private boolean peek;

    Decide(CommandContext context) {
      super(context);
    }

    @Override
    public int run(SluiceClient client) {
      Map<String, Long> wanted = CostArguments.parse(costs);
      Decision decision = peek ? client.peek(wanted) : client.decide(wanted);
      say(json(decision), text(decision));
      return decision.isGranted() ? ExitCodes.OK : ExitCodes.LIMITED;
    }

    private static JsonWriter json(Decision decision) {
      if (decision instanceof Decision.Denied denied) {
        return refusal("DENIED", denied.limitName())
            .put("retry_after_ns", denied.retryAfter().toNanos());
      }
      if (decision instanceof Decision.Depleted depleted) {
        return refusal("DEPLETED", depleted.limitName());
      }
      if (decision instanceof Decision.Impossible impossible) {
        return refusal("IMPOSSIBLE", impossible.limitName()).put("capacity", impossible.capacity());
      }
      return JsonWriter.object()
          .put("outcome", "GRANTED")
          .put("remaining", ((Decision.Granted) decision).remaining());
    }

    private static JsonWriter refusal(String outcome, String key) {
      return JsonWriter.object().put("outcome", outcome).put("limit_name", key);
    }

    private static String text(Decision decision) {
      if (decision instanceof Decision.Denied denied) {
        return "denied by %s: retry in %s"
            .formatted(denied.limitName(), Durations.format(denied.retryAfter().toNanos()));
      }
      if (decision instanceof Decision.Depleted depleted) {
        return "depleted: %s does not refill".formatted(depleted.limitName());
      }
      return decision instanceof Decision.Impossible impossible
          ? "impossible: %s has at most %s tokens"
              .formatted(impossible.limitName(), impossible.capacity())
          : "granted";
    }
  }
}
