package dev.sluice.cli.commands;

import dev.sluice.cli.runtime.CommandContext;
import dev.sluice.cli.runtime.CommandGroup;
import dev.sluice.cli.runtime.ExitCodes;
import dev.sluice.cli.runtime.ServerCommand;
import dev.sluice.cli.text.JsonWriter;
import dev.sluice.cli.text.TerminalText;
import dev.sluice.cli.text.TextTable;
import dev.sluice.client.SluiceClient;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code sluice config}. */
@Command(name = "config", description = "Set and read the config entries that hooks read.")
public final class ConfigCommands extends CommandGroup {
  private ConfigCommands() {}

  public static CommandLine of(CommandContext context) {
    return new CommandLine(new ConfigCommands())
        .addSubcommand(new SetValue(context))
        .addSubcommand(new GetValue(context))
        .addSubcommand(new ListValues(context))
        .addSubcommand(new Delete(context));
  }

  /** A command about one name. */
  abstract static class KeyCommand extends ServerCommand {
    @Parameters(index = "0", paramLabel = "KEY", description = "The key.")
    String key = "";

    KeyCommand(CommandContext context) {
      super(context);
    }
  }

  /** {@code sluice config set}. */
  @Command(name = "set", description = "Set a config entry.")
  static final class SetValue extends ConfigCommands.KeyCommand {
    @Parameters(index = "1", paramLabel = "VALUE", description = "The value.")
    private String value = "";

    SetValue(CommandContext context) {
      super(context);
    }

    @Override
    public int run(SluiceClient client) {
      client.admin().setConfig(key, value);
      return say(JsonWriter.object().put("key", key).put("value", value), "set " + key);
    }
  }

  /** {@code sluice config get}. */
  @Command(name = "get", description = "Print the value of a config entry.")
  static final class GetValue extends ConfigCommands.KeyCommand {
    GetValue(CommandContext context) {
      super(context);
    }

    @Override
    public int run(SluiceClient client) {
      String value = client.admin().config(key);
      if (json) {
        out().println(JsonWriter.object().put("key", key).put("value", value));
      } else {
        // Programs need the exact value.
        out().println(context.terminals().screen() ? TerminalText.lines(value) : value);
      }
      return ExitCodes.OK;
    }
  }

  /** {@code sluice config list}. */
  @Command(name = "list", description = "List config entries by key.")
  static final class ListValues extends ServerCommand {
    private static final TextTable<Map.Entry<String, String>> TABLE =
        new TextTable<>(
            2, List.of("KEY", "VALUE"), entry -> List.of(entry.getKey(), entry.getValue()));

    @Option(names = "--prefix", paramLabel = "TEXT", description = "Only keys with this prefix.")
    private String prefix = "";

    ListValues(CommandContext context) {
      super(context);
    }

    @Override
    public int run(SluiceClient client) {
      SortedMap<String, String> values = client.admin().listConfig(prefix);
      if (json) {
        List<JsonWriter> entries =
            values.entrySet().stream()
                .map(
                    each ->
                        JsonWriter.object().put("key", each.getKey()).put("value", each.getValue()))
                .toList();
        out().println(JsonWriter.object().putObjects("entries", entries));
      } else {
        TABLE.print(values.entrySet(), out());
      }
      return ExitCodes.OK;
    }
  }

  /** {@code sluice config delete}. */
  @Command(name = "delete", description = "Delete a config entry.")
  static final class Delete extends ConfigCommands.KeyCommand {
    Delete(CommandContext context) {
      super(context);
    }

    @Override
    public int run(SluiceClient client) {
      client.admin().removeConfig(key);
      return say(JsonWriter.object().put("key", key).put("deleted", true), "deleted " + key);
    }
  }
}
