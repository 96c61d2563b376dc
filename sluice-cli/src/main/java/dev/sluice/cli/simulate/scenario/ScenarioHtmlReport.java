package dev.sluice.cli.simulate.scenario;

import dev.sluice.cli.runtime.BuildVersion;
import dev.sluice.cli.text.Durations;
import dev.sluice.cli.text.FigureFormat;
import dev.sluice.cli.text.TerminalText;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.regex.Pattern;

/**
 * Writes the result of a scenario as one self-contained page: plots, and under each a table with
 * its figures. The page does not depend on the time or the machine of the run.
 */
public final class ScenarioHtmlReport {
  private static final Pattern SOURCE_MAP = Pattern.compile("(?m)^//# sourceMappingURL=.*$");
  private static final long MINUTE = 60 * Durations.SECOND;
  private static final long DAY = 24 * 60 * MINUTE;

  private final StringBuilder html = new StringBuilder();
  private final ScenarioResult result;
  private final Scenario scenario;
  private final ScenarioTables sheets;

  private ScenarioHtmlReport(ScenarioResult result) {
    this.result = result;
    this.scenario = result.scenario();
    this.sheets = new ScenarioTables(result);
  }

  /**
   * The page.
   *
   * @param source the text of the scenario file
   * @param changes the overrides of the command line
   */
  public static String of(ScenarioResult result, String source, List<String> changes) {
    ScenarioHtmlReport page = new ScenarioHtmlReport(result);
    page.begin();
    page.glance();
    result.queues().forEach(page::queue);
    page.limits();
    page.models();
    page.explanation();
    page.source(source, changes);
    page.end();
    return page.html.toString();
  }

  private void begin() {
    String title = escaped(scenario.title());
    html.append("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
        .append("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';")
        .append(" script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\">\n")
        .append("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
        .append("<meta name=\"generator\" content=\"Sluice ")
        .append(escaped(BuildVersion.number()))
        .append("\">\n<title>")
        .append(title)
        .append("</title>\n<style>\n")
        .append(resource("simulate.css"))
        .append("</style>\n</head>\n<body>\n<header>\n<h1>")
        .append(title)
        .append("</h1>\n<p>")
        .append(
            escaped(
                "%s of simulated time from %s on, seed %d. Sluice %s."
                    .formatted(
                        Durations.format(scenario.durationNanos()),
                        clock(0),
                        scenario.seed(),
                        BuildVersion.number())))
        .append("</p>\n</header>\n<main data-step=\"")
        .append(FigureFormat.plain((double) scenario.stepNanos() / Durations.SECOND))
        .append("\" data-start=\"")
        .append(scenario.startNanos() / Durations.SECOND)
        .append("\">\n");
  }

  private void glance() {
    List<String> sentences = sheets.glance();
    if (!sentences.isEmpty()) {
      html.append("<section class=\"glance\">\n<h2>At a glance</h2>\n<ul>\n");
      sentences.forEach(each -> html.append("<li>").append(escaped(each)).append("</li>\n"));
      html.append("</ul>\n</section>\n");
    }
  }

  private void queue(QueueMeter queue) {
    String scale = "queue " + queue.queue.name();
    html.append("<section>\n");
    sheet("h2", sheets.queue(queue));
    if (queue.tenants.size() > ScenarioPlot.MOST_LINES) {
      html.append(
          "<p>Plots show the %d tenants with the most arrivals.</p>\n"
              .formatted(ScenarioPlot.MOST_LINES));
    }
    plots(
        ScenarioPlot.shares(queue),
        ScenarioPlot.arrivals(queue.tenants, scenario.stepNanos()),
        ScenarioPlot.waits(scale, queue.tenants),
        ScenarioPlot.fifoWaits(scale, queue.tenants),
        ScenarioPlot.waiting(queue.tenants));
    html.append("</section>\n");
  }

  private void limits() {
    ScenarioPlot plot = ScenarioPlot.utilization(result);
    if (!plot.lines().isEmpty()) {
      html.append("<section>\n");
      if (result.throttles().isEmpty()) {
        html.append("<h2>Workers</h2>\n");
      } else {
        sheet("h2", sheets.throttles());
      }
      plots(plot);
      html.append("</section>\n");
    }
  }

  private void models() {
    if (result.models().isEmpty()) {
      return;
    }
    html.append("<section>\n");
    sheet("h2", sheets.models());
    plots(
        result.models().stream()
            .map(each -> ScenarioPlot.tokens(each, scenario.stepNanos()))
            .toArray(ScenarioPlot[]::new));
    sheet("h3", sheets.classes());
    result.classes().stream()
        .map(ScenarioResult.ClassMeter::model)
        .distinct()
        .forEach(this::classPlots);
    sheet("h3", sheets.callers());
    html.append("</section>\n");
  }

  private void classPlots(String model) {
    List<TrafficMeter> flows =
        result.classes().stream()
            .filter(each -> each.model().equals(model))
            .map(ScenarioResult.ClassMeter::flow)
            .toList();
    html.append("<h3>").append(escaped(model)).append("</h3>\n");
    plots(
        ScenarioPlot.waits("model " + model, flows),
        ScenarioPlot.fifoWaits("model " + model, flows),
        ScenarioPlot.waiting(flows),
        ScenarioPlot.arrivals(flows, scenario.stepNanos()));
  }

  // ---- parts

  private void sheet(String heading, ScenarioTables.ReportTable sheet) {
    html.append("<%s>".formatted(heading))
        .append(escaped(sheet.title()))
        .append("</%s>\n".formatted(heading))
        .append("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"")
        .append(escaped(sheet.title()))
        .append("\">\n<table>\n<thead><tr>");
    for (int i = 0; i < sheet.header().size(); i++) {
      cell("th scope=\"col\"", i < sheet.names(), sheet.header().get(i));
    }
    html.append("</tr></thead>\n<tbody>\n");
    for (List<String> row : sheet.rows()) {
      html.append("<tr>");
      for (int i = 0; i < row.size(); i++) {
        cell(i == 0 ? "th scope=\"row\"" : "td", i < sheet.names(), row.get(i));
      }
      html.append("</tr>\n");
    }
    html.append("</tbody>\n</table>\n</div>\n");
  }

  private void cell(String tag, boolean name, String text) {
    html.append('<')
        .append(tag)
        .append(name ? " class=\"name\">" : ">")
        .append(escaped(text))
        .append("</")
        .append(tag, 0, 2)
        .append('>');
  }

  private void plots(ScenarioPlot... plots) {
    html.append("<div class=\"plots\">\n");
    for (ScenarioPlot plot : plots) {
      plot(plot);
    }
    html.append("</div>\n");
  }

  private void plot(ScenarioPlot plot) {
    String title = escaped(plot.title() + ", " + plot.unit());
    html.append("<figure data-scale=\"")
        .append(escaped(plot.scale()))
        .append(plot.isWait() ? "\" data-wait>" : "\">")
        .append("\n<figcaption>")
        .append(escaped(plot.title()))
        .append(" <span>")
        .append(escaped(plot.unit()))
        .append("</span></figcaption>\n<div class=\"plot\"><canvas role=\"img\" aria-label=\"")
        .append(title)
        .append(" over time; the table below has the figures\"></canvas></div>\n")
        .append("<details><summary>Figures</summary>\n<div class=\"scroll tall\" tabindex=\"0\"")
        .append(" role=\"region\" aria-label=\"")
        .append(title)
        .append("\">\n<table>\n<thead><tr><th scope=\"col\" class=\"name\">from</th>");
    for (ScenarioPlot.Series line : plot.lines()) {
      html.append(line.dashed ? "<th scope=\"col\" data-dashed>" : "<th scope=\"col\">")
          .append(escaped(line.name))
          .append("</th>");
    }
    html.append("</tr></thead>\n<tbody>\n");
    for (int step = 0; step < scenario.steps(); step++) {
      html.append("<tr><th scope=\"row\" class=\"name\">")
          .append(clock(step * scenario.stepNanos()))
          .append("</th>");
      for (ScenarioPlot.Series line : plot.lines()) {
        html.append("<td>").append(FigureFormat.plain(line.values[step])).append("</td>");
      }
      html.append("</tr>\n");
    }
    html.append("</tbody>\n</table>\n</div>\n</details>\n</figure>\n");
  }

  /** The time of day, after the first with the number of the day. */
  private String clock(long nanos) {
    long at = scenario.startNanos() + nanos;
    long minutes = at % DAY / MINUTE;
    String clock = String.format(Locale.ROOT, "%02d:%02d", minutes / 60, minutes % 60);
    if (scenario.stepNanos() % MINUTE != 0) {
      clock += String.format(Locale.ROOT, ":%02d", at % MINUTE / Durations.SECOND);
    }
    return at < DAY ? clock : "day %d, %s".formatted(at / DAY + 1, clock);
  }

  private void explanation() {
    html.append("<section>\n<h2>How to read this</h2>\n<dl>\n");
    meaning("wait", "From arrival until service. p99: 99 of 100 waited no longer.");
    meaning("left", "Still waiting at the end; they count with their wait so far.");
    meaning(
        "share, due",
        "The tenant's share of the service, and its fair share by weight if no tenant gets more"
            + " than it requests.");
    meaning(
        "FIFO",
        "The same arrivals under the same limits, served in order of arrival: one list for each"
            + " queue or model, without tenants, weights and classes.");
    meaning(
        "used",
        "Tokens taken, divided by tokens accrued. Above 100 % if the initial burst was used.");
    meaning(
        "worst window, worst minute",
        "The most tokens taken in any window of that length, and the most that may be: the burst,"
            + " and the tokens accrued in the window.");
    html.append("</dl>\n</section>\n");
  }

  private void meaning(String word, String sentence) {
    html.append("<dt>")
        .append(escaped(word))
        .append("</dt><dd>")
        .append(escaped(sentence))
        .append("</dd>\n");
  }

  private void source(String source, List<String> changes) {
    html.append("<section>\n<h2>Scenario</h2>\n");
    if (!changes.isEmpty()) {
      html.append("<p>Changed on the command line:</p>\n<ul>\n");
      changes.forEach(
          each -> html.append("<li><code>").append(escaped(each)).append("</code></li>\n"));
      html.append("</ul>\n");
    }
    html.append("<details><summary>The file</summary>\n<pre tabindex=\"0\">")
        .append(escaped(source))
        .append("</pre>\n</details>\n</section>\n");
  }

  private void end() {
    html.append("</main>\n<script>\n")
        .append(chartJs())
        .append("</script>\n<script>\n")
        .append(resource("simulate.js"))
        .append("</script>\n</body>\n</html>\n");
  }

  private static String chartJs() {
    String path =
        "/META-INF/resources/webjars/chart.js/%s/dist/chart.umd.min.js"
            .formatted(BuildVersion.ofChartJs());
    return SOURCE_MAP.matcher(resource(path)).replaceAll("");
  }

  private static String resource(String name) {
    try (InputStream file = ScenarioHtmlReport.class.getResourceAsStream(name)) {
      return new String(Objects.requireNonNull(file, name).readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Text that others wrote, for text and for attributes. */
  private static String escaped(String text) {
    return TerminalText.lines(text)
        .replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace("\"", "&quot;");
  }
}
