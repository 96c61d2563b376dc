package dev.sluice.cli.commands;

import dev.sluice.cli.runtime.BuildVersion;
import dev.sluice.cli.runtime.CommandContext;
import dev.sluice.cli.runtime.ExitCodes;
import dev.sluice.cli.runtime.ServerCommand;
import dev.sluice.cli.text.JsonWriter;
import dev.sluice.client.ServerInfo;
import dev.sluice.client.SluiceClient;
import picocli.CommandLine.Command;

/** {@code sluice version}. */
@Command(
    name = "version",
    description = "Print the version, Java and system; with --server also the server's version.")
public final class VersionCommand extends ServerCommand {
  public VersionCommand(CommandContext context) {
    super(context);
  }

  @Override
  public Integer call() {
    if (!json) {
      out().println("sluice " + BuildVersion.number());
      out().println("Java   " + java());
      out().println("OS     " + os());
    } else if (!serverOptions().given()) {
      out().println(own());
    }
    return serverOptions().given() ? super.call() : ExitCodes.OK;
  }

  @Override
  public int run(SluiceClient client) {
    ServerInfo info = client.admin().serverInfo();
    JsonWriter server =
        JsonWriter.object()
            .put("version", info.version())
            .put("started_at_ms", info.startedAt().toEpochMilli());
    return say(
        own().put("server", server),
        "server %s, since %s".formatted(info.version(), info.startedAt()));
  }

  private static JsonWriter own() {
    return JsonWriter.object()
        .put("version", BuildVersion.number())
        .put("java", java())
        .put("os", os());
  }

  private static String java() {
    return System.getProperty("java.vm.name") + " " + Runtime.version();
  }

  private static String os() {
    return System.getProperty("os.name") + " " + System.getProperty("os.arch");
  }
}
