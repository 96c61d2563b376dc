package dev.sluice.cli.commands;

import dev.sluice.cli.runtime.CommandContext;
import dev.sluice.cli.runtime.ExitCodes;
import dev.sluice.cli.runtime.OptionConverters;
import dev.sluice.cli.runtime.ServerCommand;
import dev.sluice.cli.text.InvalidInputException;
import dev.sluice.cli.text.TerminalText;
import dev.sluice.client.Delivery;
import dev.sluice.client.MessageConsumer;
import dev.sluice.client.SluiceClient;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code sluice message receive}. */
@Command(
    name = "receive",
    description = "Receive messages; without --ack they stay leased until the lease ends.",
    footer = {
      "",
      "Prints id, lease token and payload; with --ack only the payload. With --ack a message is",
      "deleted after it was printed.",
      "",
      "Examples:",
      "  sluice message receive mail --count 10 --wait 5s --ack",
      "  sluice message receive mail --follow --ack --json"
    })
final class ReceiveCommand extends QueueCommands.QueueCommand {
  private static final int MAX_BATCH = 1_000;

  /** The most messages that are printed and not yet acknowledged, while following. */
  private static final int PREFETCH = 64;

  /** The longest wait for messages before a check whether the output is closed. */
  private static final Duration POLL_INTERVAL = Duration.ofMillis(500);

  @Option(
      names = "--count",
      paramLabel = "N",
      converter = OptionConverters.SmallNumberConverter.class,
      description = "The most messages. Default: 1; with --follow no limit.")
  private @Nullable Integer count;

  @Option(
      names = "--wait",
      paramLabel = "DURATION",
      converter = OptionConverters.DurationConverter.class,
      description = "The longest wait for messages, at most 30s. Default: 1s.")
  private Duration wait = Duration.ofSeconds(1);

  @Option(names = "--ack", description = "Acknowledge each message once it is printed.")
  private boolean ack;

  @Option(names = "--follow", description = "Continue until Ctrl-C; requires --ack.")
  private boolean follow;

  ReceiveCommand(CommandContext context) {
    super(context);
  }

  @Override
  public int run(SluiceClient client) {
    if (count != null && count == 0) {
      throw new InvalidInputException("--count must be positive, but was 0");
    }
    if (follow && !ack) {
      throw new InvalidInputException(
          "--follow requires --ack: without it the messages would not be settled");
    }
    if (follow) {
      follow(client);
    } else {
      receive(client, count == null ? 1 : count);
    }
    return ExitCodes.OK;
  }

  private void receive(SluiceClient client, int most) {
    for (int left = most; left > 0; ) {
      List<Delivery> batch = client.receive(queue, Math.min(left, MAX_BATCH), wait);
      if (batch.isEmpty() || !printed(batch)) {
        return;
      }
      left -= batch.size();
    }
  }

  private void follow(SluiceClient client) {
    // Fails at once without a server; a consumer would wait for it.
    client.admin().serverInfo();
    long left = count == null ? Long.MAX_VALUE : count;
    try (MessageConsumer consumer = client.consume(queue, PREFETCH)) {
      while (left > 0 && !outputClosed()) {
        List<Delivery> batch = consumer.poll((int) Math.min(left, PREFETCH), POLL_INTERVAL);
        if (!printed(batch)) {
          return;
        }
        left -= batch.size();
      }
    }
  }

  /** Prints messages; releases them and returns false if the output is closed. */
  private boolean printed(List<Delivery> batch) {
    batch.forEach(message -> out().println(json ? MessageOutput.json(message) : text(message)));
    boolean seen = !outputClosed();
    List<CompletableFuture<Void>> settled = new ArrayList<>();
    if (!seen || ack) {
      batch.forEach(message -> settled.add(seen ? message.ack() : message.release()));
    }
    settled.forEach(ServerCommand::await);
    return seen;
  }

  private String text(Delivery message) {
    String payload = MessageOutput.payload(message.payload(), context.terminals().screen());
    return ack
        ? payload
        : TerminalText.line(message.id() + "  " + message.leaseToken()) + "  " + payload;
  }
}
