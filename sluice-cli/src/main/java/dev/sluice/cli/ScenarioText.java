package dev.sluice.cli;

import java.io.PrintWriter;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** What came of a scenario, for a terminal. */
final class ScenarioText {
  private ScenarioText() {}

  /** With where the page is, if there is one. */
  static void print(ScenarioResult result, @Nullable String report, PrintWriter out) {
    Scenario scenario = result.scenario();
    ScenarioSheets sheets = new ScenarioSheets(result);
    out.println(
        Printable.line(
            "%s: %s simulated, seed %d"
                .formatted(
                    scenario.title(),
                    Durations.format(scenario.durationNanos()),
                    scenario.seed())));
    out.println();
    sheets.glance().forEach(each -> out.println("- " + Printable.line(each)));
    for (ScenarioSheets.Sheet sheet : sheets.sheets()) {
      out.println();
      out.println(Printable.line(sheet.title()));
      new Table<List<String>>(sheet.names(), sheet.header(), Function.identity())
          .print(sheet.rows(), out);
    }
    if (report != null) {
      out.println();
      out.println("report: " + Printable.line(report));
    }
  }
}
