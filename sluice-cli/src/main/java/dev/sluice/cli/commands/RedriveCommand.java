package dev.sluice.cli.commands;

import dev.sluice.cli.runtime.CommandContext;
import dev.sluice.cli.runtime.OptionConverters;
import dev.sluice.cli.runtime.ProgressLine;
import dev.sluice.cli.text.InvalidInputException;
import dev.sluice.cli.text.JsonWriter;
import dev.sluice.client.SluiceClient;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code sluice redrive}. */
@Command(
    name = "redrive",
    description = "Move dead letters of QUEUE, such as mail.dlq, back to their queue.")
public final class RedriveCommand extends QueueCommands.QueueCommand {
  /** Small enough to show progress and to finish within the call timeout. */
  private static final long BATCH = 500;

  @Option(
      names = "--count",
      paramLabel = "N",
      converter = OptionConverters.WholeNumberConverter.class,
      description = "The most messages to move. Default: as many as there are now.")
  private long count = Long.MAX_VALUE;

  @Option(names = "--run-hook", description = "Run the queue's on_enqueue hook again.")
  private boolean runHook;

  public RedriveCommand(CommandContext context) {
    super(context);
  }

  @Override
  public int run(SluiceClient client) {
    if (count == 0) {
      throw new InvalidInputException("--count must be positive, but was 0");
    }
    // The bound keeps messages that fail again meanwhile from being moved twice.
    long total = Math.min(count, Math.max(1, client.queue(queue).depth()));
    long moved = 0;
    try (ProgressLine progress = new ProgressLine(err(), context.terminals().error(), total)) {
      for (long last = BATCH; moved < total && last == BATCH; moved += last) {
        progress.show(moved, moved);
        last = client.redrive(queue, Math.min(BATCH, total - moved), runHook);
      }
    }
    return say(JsonWriter.object().put("redriven", moved), "moved " + moved);
  }
}
