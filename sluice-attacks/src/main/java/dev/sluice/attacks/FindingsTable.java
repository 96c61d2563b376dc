package dev.sluice.attacks;

import dev.sluice.attacks.HostileRun.Findings;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Prints findings as a table. */
public final class FindingsTable {
  private static final String FORM = "%-30s %10s %10s %8s %6s %8s %8s  %s";

  private FindingsTable() {}

  public static List<String> lines(Findings findings) {
    List<String> lines = new ArrayList<>();
    lines.add(
        line(
            FORM, "attack", "calm p99", "p99 ms", "ratio", "failed", "cut off", "refused", "then"));
    for (AttackResult each : findings.results()) {
      double p99 = each.p99();
      lines.add(
          line(
              FORM,
              each.attack().name(),
              figure(findings.undisturbed()),
              figure(p99),
              figure(p99 / findings.undisturbed()),
              each.failed() + each.operatorFailed(),
              "%d/%d".formatted(each.outcome().cutOff(), each.outcome().connections()),
              each.outcome().refused(),
              then(each)));
    }
    lines.add("");
    findings
        .families()
        .forEach(
            (family, p99) ->
                lines.add(
                    line(
                        FORM,
                        "all of " + family,
                        figure(findings.undisturbed()),
                        figure(p99),
                        figure(p99 / findings.undisturbed()),
                        "",
                        "",
                        "",
                        "")));
    RefusedCalls.Result refused = findings.refusedCalls();
    lines.add(
        line(
            "%d calls refused under pressure, %d of them carried out; %d acknowledged, %d lost",
            refused.refused(), refused.refusedExecuted(), refused.acknowledged(), refused.lost()));
    return lines;
  }

  private static String then(AttackResult result) {
    String state = result.survived() ? "survived" : String.join(", ", result.problems());
    String error = result.firstError();
    if (error == null) {
      return state;
    }
    String text = error.replace('\n', ' ');
    return state + "; others: " + text.substring(0, Math.min(90, text.length()));
  }

  private static String figure(double number) {
    return line(number < 100 ? "%.1f" : "%,.0f", number);
  }

  private static String line(String form, Object... arguments) {
    return String.format(Locale.ROOT, form, arguments);
  }
}
