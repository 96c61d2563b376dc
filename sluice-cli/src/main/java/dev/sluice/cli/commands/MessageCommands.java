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

  public static CommandLine of(CommandContext surroundings) {
    return new CommandLine(new MessageCommands())
        .addSubcommand(new SendCommand(surroundings))
        .addSubcommand(new ReceiveCommand(surroundings))
        .addSubcommand(new MessageCommands.Browse(surroundings))
        .addSubcommand(new Ack(surroundings))
        .addSubcommand(new Nack(surroundings))
        .addSubcommand(new Extend(surroundings));
  }

  /** {@code sluice message peek}. */
  @Command(name = "peek", description = "Show the oldest messages without leasing them.")
  static final class Browse extends QueueCommands.QueueCommand {
    @Option(
        names = "--count",
        paramLabel = "N",
        converter = OptionConverters.SmallNumberConverter.class,
        description = "How many, from 1 to 1000. Default: 10.")
    private int count = 10;

    Browse(CommandContext surroundings) {
      super(surroundings);
    }

    @Override
    public int run(SluiceClient client) {
      if (count == 0) {
        throw new InvalidInputException("--count must be positive: 0");
      }
      for (StoredMessage message : client.browse(queue, count)) {
        out().println(json ? MessageOutput.json(message) : text(message));
      }
      return ExitCodes.OK;
    }

    private String text(StoredMessage message) {
      boolean screen = surroundings.terminals().screen();
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
        paramLabel = "LEASE",
        description = "As it was received. Default: whichever lease there is.")
    private String lease = "";

    private final String done;

    LeaseCommand(CommandContext surroundings, String done) {
      super(surroundings);
      this.done = done;
    }

    /** Settles it. */
    abstract void settle(LeaseHandle held);

    @Override
    public final int run(SluiceClient client) {
      settle(client.leaseHandle(queue, id, lease));
      return say(JsonWriter.object().put("id", id).put(done, true), done + " " + id);
    }
  }

  /** {@code sluice message ack}. */
  @Command(name = "ack", description = "Say that a received message is done: it is removed.")
  static final class Ack extends MessageCommands.LeaseCommand {
    Ack(CommandContext surroundings) {
      super(surroundings, "acked");
    }

    @Override
    public void settle(LeaseHandle held) {
      await(held.ack());
    }
  }

  /** {@code sluice message nack}. */
  @Command(name = "nack", description = "Say that a received message failed.")
  static final class Nack extends MessageCommands.LeaseCommand {
    @Option(names = "--error", paramLabel = "TEXT", description = "Why.")
    private String error = "";

    @Option(
        names = "--delay",
        paramLabel = "DURATION",
        converter = OptionConverters.DurationConverter.class,
        description = "How long it waits before it is tried again. Default: as the queue says.")
    private @Nullable Duration delay;

    Nack(CommandContext surroundings) {
      super(surroundings, "nacked");
    }

    @Override
    public void settle(LeaseHandle held) {
      await(delay == null ? held.nack(error) : held.nack(error, delay));
    }
  }

  /** {@code sluice message extend}. */
  @Command(name = "extend", description = "Hold a received message longer.")
  static final class Extend extends MessageCommands.LeaseCommand {
    @Option(
        names = "--for",
        paramLabel = "DURATION",
        converter = OptionConverters.DurationConverter.class,
        description = "How long from now on. Default: 30s.")
    private Duration time = Duration.ofSeconds(30);

    Extend(CommandContext surroundings) {
      super(surroundings, "extended");
    }

    @Override
    void settle(LeaseHandle held) {
      await(held.extend(time));
    }
  }
}
