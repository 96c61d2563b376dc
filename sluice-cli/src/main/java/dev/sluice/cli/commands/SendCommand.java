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
    description = "Send a message, or one for each line; prints ids once they are stored.",
    footer = {
      "",
      "Without PAYLOAD and --file the payload is read from standard input.",
      "",
      "Examples:",
      "  sluice message send mail hello --key tenant-a",
      "  sluice message send mail --lines < mails.txt"
    })
final class SendCommand extends QueueCommands.QueueCommand {
  @Parameters(index = "1", arity = "0..1", paramLabel = "PAYLOAD", description = "As UTF-8.")
  private @Nullable String payload;

  @Option(
      names = "--file",
      paramLabel = "FILE",
      description = "Read the payload from FILE; - is standard input.")
  private @Nullable String file;

  @Option(names = "--lines", description = "Each line is a message.")
  private boolean lines;

  @Mixin private final MessageOptions options = new MessageOptions();

  SendCommand(CommandContext surroundings) {
    super(surroundings);
  }

  @Override
  public int run(SluiceClient client) {
    if (payload != null && (file != null || lines)) {
      throw new InvalidInputException("PAYLOAD goes neither with --file nor with --lines");
    }
    if (lines && options.hasDedupeId()) {
      throw new InvalidInputException("--dedupe-id names one message, not many --lines");
    }
    if (payload == null && file == null && surroundings.terminals().input()) {
      throw new InvalidInputException("a payload is needed: PAYLOAD, --file or standard input");
    }
    String source = file == null ? "-" : file;
    return lines ? sendLines(client, source) : sendOne(client, source);
  }

  private int sendOne(SluiceClient client, String source) {
    byte[] content =
        payload == null
            ? InputFiles.bytes(source, surroundings.input())
            : payload.getBytes(StandardCharsets.UTF_8);
    String id = client.enqueue(queue, options.message(content));
    return say(JsonWriter.object().putTexts("ids", List.of(id)), id);
  }

  private int sendLines(SluiceClient client, String source) {
    // A producer would wait for a server that is away.
    client.admin().serverInfo();
    AtomicLong stored = new AtomicLong();
    AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    BiConsumer<String, @Nullable Throwable> answer =
        (id, failed) -> {
          if (failed == null) {
            stored.incrementAndGet();
          } else {
            failure.compareAndSet(null, failed);
          }
        };
    BufferedReader reader = InputFiles.lines(source, surroundings.input());
    try (Producer producer = client.producer(queue, ProducerConfig.defaults());
        ProgressLine progress =
            new ProgressLine(err(), surroundings.terminals().error(), InputFiles.size(source))) {
      long bytes = 0;
      for (String line;
          (line = InputFiles.next(reader, source)) != null && failure.get() == null; ) {
        byte[] content = line.getBytes(StandardCharsets.UTF_8);
        bytes += content.length + 1;
        CompletableFuture<String> unused =
            producer.send(options.message(content)).whenComplete(answer);
        progress.show(bytes, stored.get());
      }
    }
    Throwable failed = failure.get();
    if (failed instanceof SluiceClientException refused) {
      err().println(stored + " messages were stored before this:");
      throw refused;
    }
    return say(JsonWriter.object().put("sent", stored.get()), "sent " + stored);
  }
}
