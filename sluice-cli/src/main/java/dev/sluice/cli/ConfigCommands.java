package dev.sluice.cli;

import dev.sluice.client.SluiceClient;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code sluice config}. */
@Command(name = "config", description = "Values that the scripts of queues read.")
final class ConfigCommands extends CommandGroup {
  private ConfigCommands() {}

  static CommandLine of(Surroundings surroundings) {
    return new CommandLine(new ConfigCommands())
        .addSubcommand(new SetValue(surroundings))
        .addSubcommand(new GetValue(surroundings))
        .addSubcommand(new ListValues(surroundings))
        .addSubcommand(new Delete(surroundings));
  }

  /** A command about one key. */
  abstract static class OfKey extends ServerAction {
    @Parameters(index = "0", paramLabel = "KEY", description = "Its key.")
    String key = "";

    OfKey(Surroundings surroundings) {
      super(surroundings);
    }
  }

  /** {@code sluice config set}. */
  @Command(name = "set", description = "Set a value.")
  static final class SetValue extends OfKey {
    @Parameters(index = "1", paramLabel = "VALUE", description = "Its value.")
    private String value = "";

    SetValue(Surroundings surroundings) {
      super(surroundings);
    }

    @Override
    int run(SluiceClient client) {
      client.administration().setConfig(key, value);
      return say(Json.object().put("key", key).put("value", value), "set " + key);
    }
  }

  /** {@code sluice config get}. */
  @Command(name = "get", description = "Print a value.")
  static final class GetValue extends OfKey {
    GetValue(Surroundings surroundings) {
      super(surroundings);
    }

    @Override
    int run(SluiceClient client) {
      String value = client.administration().config(key);
      if (json) {
        out().println(Json.object().put("key", key).put("value", value));
      } else {
        // A script wants it as it is.
        out().println(surroundings.terminals().screen() ? Printable.lines(value) : value);
      }
      return ExitCodes.OK;
    }
  }

  /** {@code sluice config list}. */
  @Command(name = "list", description = "All values by key.")
  static final class ListValues extends ServerAction {
    private static final Table<Map.Entry<String, String>> TABLE =
        new Table<>(2, List.of("KEY", "VALUE"), entry -> List.of(entry.getKey(), entry.getValue()));

    @Option(names = "--prefix", paramLabel = "TEXT", description = "Only keys that begin so.")
    private String prefix = "";

    ListValues(Surroundings surroundings) {
      super(surroundings);
    }

    @Override
    int run(SluiceClient client) {
      SortedMap<String, String> values = client.administration().listConfig(prefix);
      if (json) {
        List<Json> entries =
            values.entrySet().stream()
                .map(each -> Json.object().put("key", each.getKey()).put("value", each.getValue()))
                .toList();
        out().println(Json.object().putObjects("entries", entries));
      } else {
        TABLE.print(values.entrySet(), out());
      }
      return ExitCodes.OK;
    }
  }

  /** {@code sluice config delete}. */
  @Command(name = "delete", description = "Remove a value.")
  static final class Delete extends OfKey {
    Delete(Surroundings surroundings) {
      super(surroundings);
    }

    @Override
    int run(SluiceClient client) {
      client.administration().removeConfig(key);
      return say(Json.object().put("key", key).put("deleted", true), "deleted " + key);
    }
  }
}
