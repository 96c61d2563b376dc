package dev.sluice.cli;

import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Option;

/** {@code sluice version}. */
@Command(name = "version", description = "Print the version and what it runs on.")
final class VersionCommand extends Action {
  @Option(names = "--json", description = "Print a JSON object.")
  private boolean json;

  @Override
  public Integer call() {
    String version = BuildVersion.number();
    String java = System.getProperty("java.vm.name") + " " + Runtime.version();
    String os = System.getProperty("os.name") + " " + System.getProperty("os.arch");
    if (json) {
      out().println(Json.object().put("version", version).put("java", java).put("os", os));
    } else {
      out().println("sluice " + version);
      out().println("Java   " + java);
      out().println("OS     " + os);
    }
    return ExitCode.OK;
  }
}
