package dev.sluice.cli.commands;

import dev.sluice.cli.runtime.AlternateScreen;
import dev.sluice.cli.runtime.CommandContext;
import dev.sluice.cli.runtime.CommandTimer;
import dev.sluice.cli.runtime.ExitCodes;
import dev.sluice.cli.runtime.OptionConverters;
import dev.sluice.cli.runtime.ServerCommand;
import dev.sluice.cli.text.InvalidInputException;
import dev.sluice.cli.text.JsonWriter;
import dev.sluice.client.SluiceClient;
import dev.sluice.client.SluiceClientException;
import dev.sluice.client.SluiceClientException.Code;
import dev.sluice.client.ThrottleRate;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code sluice top}. */
@Command(
    name = "top",
    description = "Watch the deepest queues and the throttle keys without tokens.",
    footer = {
      "",
      "IN/S, OUT/S and ACKED/S are messages per second that are enqueued, delivered and",
      "acknowledged, from the second sample on. On a terminal the view is live until q or Ctrl-C;",
      "elsewhere, or with --once, it is printed once. With --json each sample is a line."
    })
public final class TopCommand extends ServerCommand {
  private static final int UNLIMITED_WIDTH = 1_000;

  /** The interval at which the keyboard is read. */
  private static final long KEY_POLL_NANOS = 100_000_000;

  @Option(names = "--once", description = "Print one sample and exit.")
  private boolean once;

  @Option(
      names = "--interval",
      paramLabel = "DURATION",
      converter = OptionConverters.PeriodConverter.class,
      description = "Time between samples. Default: 1s.")
  private Duration interval = Duration.ofSeconds(1);

  @Option(
      names = "--count",
      paramLabel = "N",
      converter = OptionConverters.WholeNumberConverter.class,
      description = "The number of samples. Default: unlimited.")
  private @Nullable Long count;

  public TopCommand(CommandContext context) {
    super(context);
  }

  @Override
  public int run(SluiceClient client) {
    if (count != null && count == 0) {
      throw new InvalidInputException("--count must be positive, but was 0");
    }
    try (CommandTimer timer = context.timers().get()) {
      if (json || once || !context.terminal()) {
        print(client, timer);
      } else {
        watch(client, timer);
      }
    }
    return ExitCodes.OK;
  }

  private void watch(SluiceClient client, CommandTimer timer) {
    long rounds = count == null ? Long.MAX_VALUE : count;
    TopSample before = null;
    TopSample now = sample(client, timer);
    try (AlternateScreen screen = new AlternateScreen(out(), context)) {
      for (long round = 1; ; round++) {
        AlternateScreen.Size size = screen.size();
        screen.show(TopView.lines(address(), before, now, size.width(), size.height()));
        if (round == rounds || !rest(timer, screen)) {
          return;
        }
        before = now;
        now = sample(client, timer);
      }
    }
  }

  /** Waits for the next sample; returns false if the user quits. */
  private boolean rest(CommandTimer timer, AlternateScreen screen) {
    long until = timer.clock().nanoTime() + interval.toNanos();
    for (long left; (left = until - timer.clock().nanoTime()) > 0; ) {
      long next = timer.clock().nanoTime() + Math.min(left, KEY_POLL_NANOS);
      if (!timer.sleepUntil(next) || screen.quitAsked()) {
        return false;
      }
    }
    return true;
  }

  private void print(SluiceClient client, CommandTimer timer) {
    long rounds = once ? 1 : count != null ? count : json ? Long.MAX_VALUE : 1;
    TopSample before = null;
    for (long round = 1; ; round++) {
      TopSample now = sample(client, timer);
      if (json) {
        out().println(json(before, now));
      } else {
        TopView.lines(address(), before, now, UNLIMITED_WIDTH, 0).forEach(out()::println);
      }
      before = now;
      if (round == rounds
          || outputClosed()
          || !timer.sleepUntil(now.nanos() + interval.toNanos())) {
        return;
      }
    }
  }

  private String address() {
    return serverOptions().address(context.environment());
  }

  private static TopSample sample(SluiceClient client, CommandTimer timer) {
    return TopSample.of(timer.clock().nanoTime(), client.queues(), throttles(client));
  }

  /** Returns no throttles if the API key may only read queues. */
  private static List<ThrottleRate> throttles(SluiceClient client) {
    try {
      return client.admin().throttles();
    } catch (SluiceClientException refused) {
      if (refused.code() == Code.PERMISSION_DENIED) {
        return List.of();
      }
      throw refused;
    }
  }

  private static void put(TopRates rates, JsonWriter line) {
    line.put("enqueued_per_second", rates.enqueued())
        .put("delivered_per_second", rates.delivered())
        .put("acked_per_second", rates.acked());
  }

  private static JsonWriter json(@Nullable TopSample before, TopSample now) {
    List<JsonWriter> queues =
        now.queues().stream()
            .map(
                queue -> {
                  JsonWriter line = QueueOutput.summary(queue);
                  TopRates.of(before, now, queue).ifPresent(rates -> put(rates, line));
                  return line;
                })
            .toList();
    return JsonWriter.object()
        .putObjects("queues", queues)
        .putObjects("throttled", now.throttled().stream().map(ThrottleCommands::json).toList());
  }
}
