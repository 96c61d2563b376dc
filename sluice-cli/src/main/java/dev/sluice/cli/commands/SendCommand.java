package dev.sluice.cli.commands;

import dev.sluice.cli.runtime.CommandContext;
import dev.sluice.cli.runtime.InputFiles;
import dev.sluice.cli.runtime.ProgressLine;
import dev.sluice.cli.text.InvalidInputException;
import dev.sluice.cli.text.JsonWriter;
import dev.sluice.client.Producer;
import dev.sluice.client.ProducerConfig;
import dev.sluice.client.SluiceClient;
import dev.sluice.client.SluiceClientException;
import java.io.BufferedReader;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code sluice message send}. */
@Command(
    name = "send",
    description = "Enqueue a message, or one per line; prints ids once they are stored.",
    footer = {
      "",
      "Without PAYLOAD and --file, the payload is read from standard input.",
      "",
      "Examples:",
      "  sluice message send mail hello --fairness-key tenant-a",
      "  sluice message send mail --lines < mails.txt"
    })
final class SendCommand extends QueueCommands.QueueCommand {
  @Parameters(
      index = "1",
      arity = "0..1",
      paramLabel = "PAYLOAD",
      description = "The payload, as UTF-8.")
  private @Nullable String payload;

  @Option(
      names = "--file",
      paramLabel = "FILE",
      description = "Read the payload from FILE; - is standard input.")
  private @Nullable String file;

  @Option(names = "--lines", description = "Send each line as a message.")
  private boolean lines;

  @Mixin private final MessageOptions options = new MessageOptions();

  SendCommand(CommandContext context) {
    super(context);
  }

  @Override
  public int run(SluiceClient client) {
    if (payload != null && (file != null || lines)) {
      throw new InvalidInputException("PAYLOAD cannot be combined with --file or --lines");
    }
    if (lines && options.hasDedupeId()) {
      throw new InvalidInputException(
          "--dedupe-id cannot be combined with --lines: each message needs its own");
    }
    if (payload == null && file == null && context.terminals().input()) {
      throw new InvalidInputException("a payload is required: PAYLOAD, --file or standard input");
    }
    String source = file == null ? "-" : file;
    return lines ? sendLines(client, source) : sendOne(client, source);
  }

  private int sendOne(SluiceClient client, String source) {
    byte[] content =
        payload == null
            ? InputFiles.bytes(source, context.input())
            : payload.getBytes(StandardCharsets.UTF_8);
    String id = client.enqueue(queue, options.message(content));
    return say(JsonWriter.object().putTexts("ids", List.of(id)), id);
  }

  private int sendLines(SluiceClient client, String source) {
    // Fails at once without a server; a producer would wait for it.
    client.admin().serverInfo();
    AtomicLong stored = new AtomicLong();
    AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    BiConsumer<String, @Nullable Throwable> count =
        (id, failed) -> {
          if (failed == null) {
            stored.incrementAndGet();
          } else {
            failure.compareAndSet(null, failed);
          }
        };
    BufferedReader reader = InputFiles.lines(source, context.input());
    try (Producer producer = client.producer(queue, ProducerConfig.defaults());
        ProgressLine progress =
            new ProgressLine(err(), context.terminals().error(), InputFiles.size(source))) {
      long bytes = 0;
      for (String line;
          (line = InputFiles.next(reader, source)) != null && failure.get() == null; ) {
        byte[] content = line.getBytes(StandardCharsets.UTF_8);
        bytes += content.length + 1;
        CompletableFuture<String> unused =
            producer.send(options.message(content)).whenComplete(count);
        progress.show(bytes, stored.get());
      }
    }
    Throwable failed = failure.get();
    if (failed instanceof SluiceClientException refused) {
      err().println(stored + " messages were stored before this failure:");
      throw refused;
    }
    return say(JsonWriter.object().put("sent", stored.get()), "sent " + stored);
  }
}
