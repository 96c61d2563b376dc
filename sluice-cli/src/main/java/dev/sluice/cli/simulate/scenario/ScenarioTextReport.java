package dev.sluice.cli.simulate.scenario;

import dev.sluice.cli.text.Durations;
import dev.sluice.cli.text.TerminalText;
import dev.sluice.cli.text.TextTable;
import java.io.PrintWriter;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Writes the result of a scenario to a terminal. */
public final class ScenarioTextReport {
  private ScenarioTextReport() {}

  /** Prints the report, and where the HTML report is, if there is one. */
  public static void print(ScenarioResult result, @Nullable String report, PrintWriter out) {
    Scenario scenario = result.scenario();
    ScenarioTables sheets = new ScenarioTables(result);
    out.println(
        TerminalText.line(
            "%s: %s simulated, seed %d"
                .formatted(
                    scenario.title(),
                    Durations.format(scenario.durationNanos()),
                    scenario.seed())));
    out.println();
    sheets.glance().forEach(each -> out.println("- " + TerminalText.line(each)));
    for (ScenarioTables.ReportTable sheet : sheets.sheets()) {
      out.println();
      out.println(TerminalText.line(sheet.title()));
      new TextTable<List<String>>(sheet.names(), sheet.header(), Function.identity())
          .print(sheet.rows(), out);
    }
    if (report != null) {
      out.println();
      out.println("report: " + TerminalText.line(report));
    }
  }
}
