package dev.sluice.cli.commands;

import dev.sluice.cli.runtime.CommandContext;
import dev.sluice.cli.runtime.CommandGroup;
import dev.sluice.cli.runtime.ExitCodes;
import dev.sluice.cli.runtime.ServerCommand;
import dev.sluice.cli.text.InvalidInputException;
import dev.sluice.cli.text.JsonWriter;
import dev.sluice.cli.text.Quoting;
import dev.sluice.cli.text.TextTable;
import dev.sluice.client.QueueConfig;
import dev.sluice.client.QueueStatus;
import dev.sluice.client.QueueSummary;
import dev.sluice.client.SluiceClient;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code sluice queue}. */
@Command(name = "queue", description = "Create, change, show and delete queues.")
public final class QueueCommands extends CommandGroup {
  private QueueCommands() {}

  public static CommandLine of(CommandContext context) {
    return new CommandLine(new QueueCommands())
        .addSubcommand(new Create(context))
        .addSubcommand(new Update(context))
        .addSubcommand(new Delete(context))
        .addSubcommand(new ListAll(context))
        .addSubcommand(new Show(context))
        .addSubcommand(new Stats(context))
        .addSubcommand(new Purge(context));
  }

  /** A command about one queue. */
  abstract static class QueueCommand extends ServerCommand {
    @Parameters(paramLabel = "QUEUE", description = "The queue's name.")
    String queue = "";

    QueueCommand(CommandContext context) {
      super(context);
    }

    @Override
    public final String queueName() {
      return queue;
    }
  }

  /** {@code sluice queue create}. */
  @Command(name = "create", description = "Create a queue, and QUEUE.dlq for its dead letters.")
  static final class Create extends QueueCommands.QueueCommand {
    @Mixin private final QueueConfigOptions options = new QueueConfigOptions();

    Create(CommandContext context) {
      super(context);
    }

    @Override
    public int run(SluiceClient client) {
      client.createQueue(queue, options.config(context.input()));
      return say(JsonWriter.object().put("name", queue).put("created", true), "created " + queue);
    }
  }

  /** {@code sluice queue update}. */
  @Command(
      name = "update",
      description = "Change the given settings of a queue and leave the others.")
  static final class Update extends QueueCommands.QueueCommand {
    @Mixin private final QueueConfigOptions options = new QueueConfigOptions();

    @Option(
        names = "--revision",
        paramLabel = "REVISION",
        description = "The revision that show prints: fails if the queue has changed since.")
    private String revision = "";

    Update(CommandContext context) {
      super(context);
    }

    @Override
    public int run(SluiceClient client) {
      QueueConfig changes = options.config(context.input());
      if (!changes.hasChanges()) {
        throw new InvalidInputException(
            "at least one setting is required, such as --lease-timeout 1m");
      }
      String changed = client.updateQueue(queue, changes, revision);
      return say(
          JsonWriter.object().put("name", queue).put("updated", true).put("revision", changed),
          "updated " + queue);
    }
  }

  /** {@code sluice queue delete}. */
  @Command(name = "delete", description = "Delete a queue and all its messages.")
  static final class Delete extends QueueCommands.QueueCommand {
    @Option(names = "--yes", description = "Do not ask for confirmation.")
    private boolean yes;

    Delete(CommandContext context) {
      super(context);
    }

    @Override
    public int run(SluiceClient client) {
      confirm(yes, "Delete queue " + Quoting.of(queue) + " and all its messages?");
      client.deleteQueue(queue);
      return say(JsonWriter.object().put("name", queue).put("deleted", true), "deleted " + queue);
    }
  }

  /** {@code sluice queue list}. */
  @Command(name = "list", description = "List all queues with their depths.")
  static final class ListAll extends ServerCommand {
    private static final TextTable<QueueSummary> TABLE =
        new TextTable<>(
            1,
            List.of("QUEUE", "DEPTH", "IN FLIGHT", "CONSUMERS"),
            queue ->
                List.of(
                    queue.name(),
                    Long.toString(queue.depth()),
                    Long.toString(queue.inFlight()),
                    Integer.toString(queue.consumers())));

    ListAll(CommandContext context) {
      super(context);
    }

    @Override
    public int run(SluiceClient client) {
      List<QueueSummary> queues = client.queues();
      if (json) {
        out()
            .println(
                JsonWriter.object()
                    .putObjects("queues", queues.stream().map(QueueOutput::summary).toList()));
      } else {
        TABLE.print(queues, out());
      }
      return ExitCodes.OK;
    }
  }

  /** {@code sluice queue show}. */
  @Command(name = "show", description = "Show the configuration and the totals of a queue.")
  static final class Show extends QueueCommands.QueueCommand {
    Show(CommandContext context) {
      super(context);
    }

    @Override
    public int run(SluiceClient client) {
      QueueStatus status = client.queue(queue);
      if (json) {
        out().println(QueueOutput.json(status));
      } else {
        QueueOutput.printConfig(status, out());
        QueueOutput.printCounts(status, out());
      }
      return ExitCodes.OK;
    }
  }

  /** {@code sluice queue stats}. */
  @Command(
      name = "stats",
      description = "Show the totals of a queue and its waiting fairness keys.")
  static final class Stats extends QueueCommands.QueueCommand {
    Stats(CommandContext context) {
      super(context);
    }

    @Override
    public int run(SluiceClient client) {
      QueueStatus status = client.queue(queue);
      if (json) {
        out().println(QueueOutput.stats(status));
      } else {
        QueueOutput.printCounts(status, out());
        QueueOutput.printKeys(status, out());
      }
      return ExitCodes.OK;
    }
  }

  /** {@code sluice queue purge}. */
  @Command(name = "purge", description = "Delete the messages of a queue that are not in flight.")
  static final class Purge extends QueueCommands.QueueCommand {
    @Option(names = "--yes", description = "Do not ask for confirmation.")
    private boolean yes;

    Purge(CommandContext context) {
      super(context);
    }

    @Override
    public int run(SluiceClient client) {
      confirm(yes, "Delete all messages of " + Quoting.of(queue) + " that are not in flight?");
      long purged = client.purgeQueue(queue);
      return say(JsonWriter.object().put("purged", purged), "deleted " + purged);
    }
  }
}
