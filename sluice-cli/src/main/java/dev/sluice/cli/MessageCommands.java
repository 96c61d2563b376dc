package dev.sluice.cli;

import dev.sluice.client.Lease;
import dev.sluice.client.PeekedMessage;
import dev.sluice.client.SluiceClient;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code sluice message}. */
@Command(name = "message", description = "Send, receive and settle messages.")
final class MessageCommands extends CommandGroup {
  private MessageCommands() {}

  static CommandLine of(Surroundings surroundings) {
    return new CommandLine(new MessageCommands())
        .addSubcommand(new SendCommand(surroundings))
        .addSubcommand(new ReceiveCommand(surroundings))
        .addSubcommand(new Peek(surroundings))
        .addSubcommand(new Ack(surroundings))
        .addSubcommand(new Nack(surroundings))
        .addSubcommand(new Extend(surroundings));
  }

  /** {@code sluice message peek}. */
  @Command(name = "peek", description = "Show the oldest messages without leasing them.")
  static final class Peek extends QueueCommands.OfQueue {
    @Option(
        names = "--count",
        paramLabel = "N",
        converter = Converters.SmallNumberConverter.class,
        description = "How many, from 1 to 1000. Default: 10.")
    private int count = 10;

    Peek(Surroundings surroundings) {
      super(surroundings);
    }

    @Override
    int run(SluiceClient client) {
      if (count == 0) {
        throw new InvalidInputException("--count must be positive: 0");
      }
      for (PeekedMessage message : client.peek(queue, count)) {
        out().println(json ? MessageText.json(message) : text(message));
      }
      return ExitCodes.OK;
    }

    private String text(PeekedMessage message) {
      boolean screen = surroundings.terminals().screen();
      return Printable.line(message.id()) + "  " + MessageText.payload(message.payload(), screen);
    }
  }

  /** A command about one leased message. */
  abstract static class OfLease extends QueueCommands.OfQueue {
    @Parameters(index = "1", paramLabel = "ID", description = "The message's id.")
    String id = "";

    @Parameters(
        index = "2",
        arity = "0..1",
        paramLabel = "LEASE",
        description = "As it was received. Default: whichever lease there is.")
    private String lease = "";

    private final String done;

    OfLease(Surroundings surroundings, String done) {
      super(surroundings);
      this.done = done;
    }

    /** Settles it. */
    abstract void settle(Lease held);

    @Override
    final int run(SluiceClient client) {
      settle(client.lease(queue, id, lease));
      return say(Json.object().put("id", id).put(done, true), done + " " + id);
    }
  }

  /** {@code sluice message ack}. */
  @Command(name = "ack", description = "Say that a received message is done: it is removed.")
  static final class Ack extends OfLease {
    Ack(Surroundings surroundings) {
      super(surroundings, "acked");
    }

    @Override
    void settle(Lease held) {
      await(held.ack());
    }
  }

  /** {@code sluice message nack}. */
  @Command(name = "nack", description = "Say that a received message failed.")
  static final class Nack extends OfLease {
    @Option(names = "--error", paramLabel = "TEXT", description = "Why.")
    private String error = "";

    @Option(
        names = "--delay",
        paramLabel = "DURATION",
        converter = Converters.DurationConverter.class,
        description = "How long it waits before it is tried again. Default: as the queue says.")
    private @Nullable Duration delay;

    Nack(Surroundings surroundings) {
      super(surroundings, "nacked");
    }

    @Override
    void settle(Lease held) {
      await(delay == null ? held.nack(error) : held.nack(error, delay));
    }
  }

  /** {@code sluice message extend}. */
  @Command(name = "extend", description = "Hold a received message longer.")
  static final class Extend extends OfLease {
    @Option(
        names = "--for",
        paramLabel = "DURATION",
        converter = Converters.DurationConverter.class,
        description = "How long from now on. Default: 30s.")
    private Duration time = Duration.ofSeconds(30);

    Extend(Surroundings surroundings) {
      super(surroundings, "extended");
    }

    @Override
    void settle(Lease held) {
      await(held.extend(time));
    }
  }
}
