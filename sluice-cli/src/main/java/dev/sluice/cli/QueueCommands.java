package dev.sluice.cli;

import dev.sluice.client.QueueSettings;
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
@Command(name = "queue", description = "Make, change, show and remove queues.")
final class QueueCommands extends CommandGroup {
  private QueueCommands() {}

  static CommandLine of(Surroundings surroundings) {
    return new CommandLine(new QueueCommands())
        .addSubcommand(new Create(surroundings))
        .addSubcommand(new Update(surroundings))
        .addSubcommand(new Delete(surroundings))
        .addSubcommand(new ListAll(surroundings))
        .addSubcommand(new Show(surroundings))
        .addSubcommand(new Stats(surroundings))
        .addSubcommand(new Purge(surroundings));
  }

  /** A command about one queue. */
  abstract static class OfQueue extends ServerAction {
    @Parameters(paramLabel = "QUEUE", description = "The queue's name.")
    String queue = "";

    OfQueue(Surroundings surroundings) {
      super(surroundings);
    }

    @Override
    final String queueName() {
      return queue;
    }
  }

  /** {@code sluice queue create}. */
  @Command(name = "create", description = "Make a queue, and QUEUE.dlq for its dead letters.")
  static final class Create extends OfQueue {
    @Mixin private final QueueOptions options = new QueueOptions();

    Create(Surroundings surroundings) {
      super(surroundings);
    }

    @Override
    int run(SluiceClient client) {
      client.createQueue(queue, options.settings(surroundings.input()));
      return say(Json.object().put("name", queue).put("created", true), "created " + queue);
    }
  }

  /** {@code sluice queue update}. */
  @Command(name = "update", description = "Change what is given and leave the rest as it is.")
  static final class Update extends OfQueue {
    @Mixin private final QueueOptions options = new QueueOptions();

    @Option(
        names = "--revision",
        paramLabel = "REVISION",
        description = "As show prints it: fails if the queue has been changed since.")
    private String revision = "";

    Update(Surroundings surroundings) {
      super(surroundings);
    }

    @Override
    int run(SluiceClient client) {
      QueueSettings changes = options.settings(surroundings.input());
      if (!changes.hasChanges()) {
        throw new InvalidInputException("name at least one setting to change, such as --lease 1m");
      }
      String changed = client.changeQueue(queue, changes, revision);
      return say(
          Json.object().put("name", queue).put("updated", true).put("revision", changed),
          "updated " + queue);
    }
  }

  /** {@code sluice queue delete}. */
  @Command(name = "delete", description = "Remove a queue and all its messages.")
  static final class Delete extends OfQueue {
    @Option(names = "--yes", description = "Do not ask.")
    private boolean yes;

    Delete(Surroundings surroundings) {
      super(surroundings);
    }

    @Override
    int run(SluiceClient client) {
      confirm(yes, "Delete queue " + Quoted.of(queue) + " and all its messages?");
      client.deleteQueue(queue);
      return say(Json.object().put("name", queue).put("deleted", true), "deleted " + queue);
    }
  }

  /** {@code sluice queue list}. */
  @Command(name = "list", description = "All queues by name, with their depths.")
  static final class ListAll extends ServerAction {
    private static final Table<QueueSummary> TABLE =
        new Table<>(
            1,
            List.of("QUEUE", "DEPTH", "IN FLIGHT", "CONSUMERS"),
            queue ->
                List.of(
                    queue.name(),
                    Long.toString(queue.depth()),
                    Long.toString(queue.inFlight()),
                    Integer.toString(queue.consumers())));

    ListAll(Surroundings surroundings) {
      super(surroundings);
    }

    @Override
    int run(SluiceClient client) {
      List<QueueSummary> queues = client.queues();
      if (json) {
        out()
            .println(
                Json.object()
                    .putObjects("queues", queues.stream().map(QueueText::summary).toList()));
      } else {
        TABLE.print(queues, out());
      }
      return ExitCodes.OK;
    }
  }

  /** {@code sluice queue show}. */
  @Command(name = "show", description = "The settings of a queue, and how it stands.")
  static final class Show extends OfQueue {
    Show(Surroundings surroundings) {
      super(surroundings);
    }

    @Override
    int run(SluiceClient client) {
      QueueStatus status = client.queue(queue);
      if (json) {
        out().println(QueueText.json(status));
      } else {
        QueueText.printSettings(status, out());
        QueueText.printCounts(status, out());
      }
      return ExitCodes.OK;
    }
  }

  /** {@code sluice queue stats}. */
  @Command(name = "stats", description = "How a queue stands, and the keys that wait in it.")
  static final class Stats extends OfQueue {
    Stats(Surroundings surroundings) {
      super(surroundings);
    }

    @Override
    int run(SluiceClient client) {
      QueueStatus status = client.queue(queue);
      if (json) {
        out().println(QueueText.stats(status));
      } else {
        QueueText.printCounts(status, out());
        QueueText.printKeys(status, out());
      }
      return ExitCodes.OK;
    }
  }

  /** {@code sluice queue purge}. */
  @Command(name = "purge", description = "Remove the messages of a queue that are not leased.")
  static final class Purge extends OfQueue {
    @Option(names = "--yes", description = "Do not ask.")
    private boolean yes;

    Purge(Surroundings surroundings) {
      super(surroundings);
    }

    @Override
    int run(SluiceClient client) {
      confirm(yes, "Remove all messages of " + Quoted.of(queue) + " that are not leased?");
      long purged = client.purgeQueue(queue);
      return say(Json.object().put("purged", purged), "removed " + purged);
    }
  }
}
