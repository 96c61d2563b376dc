package dev.sluice.cli.commands;

import dev.sluice.cli.runtime.CommandContext;
import dev.sluice.cli.runtime.CommandGroup;
import dev.sluice.cli.runtime.ExitCodes;
import dev.sluice.cli.runtime.OptionConverters;
import dev.sluice.cli.text.InvalidInputException;
import dev.sluice.cli.text.JsonWriter;
import dev.sluice.cli.text.TerminalText;
import dev.sluice.client.LeaseHandle;
import dev.sluice.client.SluiceClient;
import dev.sluice.client.StoredMessage;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code sluice message}. */
@Command(name = "message", description = "Send, receive and settle messages.")
public final class MessageCommands extends CommandGroup {
  private MessageCommands() {}

  public static CommandLine of(CommandContext context) {
    return new CommandLine(new MessageCommands())
        .addSubcommand(new SendCommand(context))
        .addSubcommand(new ReceiveCommand(context))
        .addSubcommand(new MessageCommands.Browse(context))
        .addSubcommand(new Ack(context))
        .addSubcommand(new Nack(context))
        .addSubcommand(new Extend(context));
  }

  /** {@code sluice message browse}. */
  @Command(name = "browse", description = "Show the oldest messages without leasing them.")
  static final class Browse extends QueueCommands.QueueCommand {
    @Option(
        names = "--count",
        paramLabel = "N",
        converter = OptionConverters.SmallNumberConverter.class,
        description = "The most messages, 1 to 1000. Default: 10.")
    private int count = 10;

    Browse(CommandContext context) {
      super(context);
    }

    @Override
    public int run(SluiceClient client) {
      if (count == 0) {
        throw new InvalidInputException("--count must be positive, but was 0");
      }
      for (StoredMessage message : client.browse(queue, count)) {
        out().println(json ? MessageOutput.json(message) : text(message));
      }
      return ExitCodes.OK;
    }

    private String text(StoredMessage message) {
      boolean screen = context.terminals().screen();
      return TerminalText.line(message.id())
          + "  "
          + MessageOutput.payload(message.payload(), screen);
    }
  }

  /** A command about one leased message. */
  abstract static class LeaseCommand extends QueueCommands.QueueCommand {
    @Parameters(index = "1", paramLabel = "ID", description = "The message's id.")
    String id = "";

    @Parameters(
        index = "2",
        arity = "0..1",
        paramLabel = "LEASE_TOKEN",
        description = "The token that receive printed. Default: the present lease.")
    private String leaseToken = "";

    private final String done;

    LeaseCommand(CommandContext context, String done) {
      super(context);
      this.done = done;
    }

    /** Settles the message. */
    abstract void settle(LeaseHandle message);

    @Override
    public final int run(SluiceClient client) {
      settle(client.leaseHandle(queue, id, leaseToken));
      return say(JsonWriter.object().put("id", id).put(done, true), done + " " + id);
    }
  }

  /** {@code sluice message ack}. */
  @Command(name = "ack", description = "Acknowledge a received message, which deletes it.")
  static final class Ack extends MessageCommands.LeaseCommand {
    Ack(CommandContext context) {
      super(context, "acked");
    }

    @Override
    public void settle(LeaseHandle message) {
      await(message.ack());
    }
  }

  /** {@code sluice message nack}. */
  @Command(
      name = "nack",
      description = "Report that a received message failed: it is retried or dead-lettered.")
  static final class Nack extends MessageCommands.LeaseCommand {
    @Option(
        names = "--error",
        paramLabel = "TEXT",
        description = "The reason, kept with a dead letter.")
    private String error = "";

    @Option(
        names = "--delay",
        paramLabel = "DURATION",
        converter = OptionConverters.DurationConverter.class,
        description = "Delay before the retry. Default: that of the queue.")
    private @Nullable Duration delay;

    Nack(CommandContext context) {
      super(context, "nacked");
    }

    @Override
    public void settle(LeaseHandle message) {
      await(delay == null ? message.nack(error) : message.nack(error, delay));
    }
  }

  /** {@code sluice message extend}. */
  @Command(name = "extend", description = "Prolong the lease of a received message.")
  static final class Extend extends MessageCommands.LeaseCommand {
    @Option(
        names = "--for",
        paramLabel = "DURATION",
        converter = OptionConverters.DurationConverter.class,
        description = "The lease timeout from now on. Default: 30s.")
    private Duration time = Duration.ofSeconds(30);

    Extend(CommandContext context) {
      super(context, "extended");
    }

    @Override
    void settle(LeaseHandle message) {
      await(message.extend(time));
    }
  }
}
