package dev.sluice.cli.simulate;

import dev.sluice.cli.runtime.ProgressLine;
import dev.sluice.cli.simulate.scenario.Scenario;
import dev.sluice.cli.simulate.scenario.ScenarioFile;
import dev.sluice.cli.simulate.scenario.ScenarioHtmlReport;
import dev.sluice.cli.simulate.scenario.ScenarioJsonReport;
import dev.sluice.cli.simulate.scenario.ScenarioResult;
import dev.sluice.cli.simulate.scenario.ScenarioRunner;
import dev.sluice.cli.simulate.scenario.ScenarioTextReport;
import dev.sluice.cli.text.Durations;
import dev.sluice.cli.text.FileErrors;
import dev.sluice.cli.text.InvalidInputException;
import dev.sluice.cli.text.Quoting;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options of a scenario, and its run. */
final class ScenarioOptions {
  @Option(
      names = "--set",
      paramLabel = "KEY=VALUE",
      description = "Override a key of FILE, such as queues.mail.workers=8; repeatable.")
  private List<String> changes = new ArrayList<>();

  @Option(
      names = "--report",
      paramLabel = "FILE",
      description = "The file for the report. Default: NAME.report.html in this directory.")
  private @Nullable Path report;

  @Option(names = "--no-report", description = "Write no report.")
  private boolean noReport;

  boolean given() {
    return report != null || noReport || !changes.isEmpty();
  }

  /**
   * Runs the scenario in the file and prints its results.
   *
   * @param progress shows how far it is, out of so many seconds
   */
  void run(Path file, boolean json, LongFunction<ProgressLine> progress, PrintWriter out) {
    if (report != null && noReport) {
      throw new InvalidInputException("--report and --no-report cannot be combined");
    }
    Path page = noReport ? null : report == null ? reportOf(file) : report;
    requireOther(file, page);
    Scenario scenario = ScenarioFile.read(file, changes);
    if (page != null) {
      FileErrors.requireWritable(page);
    }
    ScenarioResult result;
    try (ProgressLine shown = progress.apply(scenario.durationNanos() / Durations.SECOND)) {
      result = ScenarioRunner.run(scenario, seconds -> shown.show(seconds, seconds));
    }
    if (page != null) {
      write(page, ScenarioHtmlReport.of(result, ScenarioFile.text(file), changes));
    }
    String where = page == null ? null : page.toString();
    if (json) {
      out.println(ScenarioJsonReport.of(result, where));
    } else {
      ScenarioTextReport.print(result, where, out);
    }
  }

  private static Path reportOf(Path file) {
    Path name = file.getFileName();
    String plain = String.valueOf(name).replaceFirst("\\.toml$", "");
    return Path.of(plain + ".report.html");
  }

  private static void requireOther(Path file, @Nullable Path page) {
    try {
      if (page != null && Files.exists(page) && Files.isSameFile(file, page)) {
        throw new InvalidInputException(
            "--report must not be the scenario itself: " + Quoting.of(page.toString()));
      }
    } catch (IOException absent) {
      // Reading the file reports its absence.
    }
  }

  private static void write(Path page, String html) {
    try {
      Files.writeString(page, html);
    } catch (IOException unwritable) {
      throw FileErrors.cannotWrite(page, unwritable);
    }
  }
}
