package dev.sluice.bench.server;

import dev.sluice.attacks.AttackResult;
import dev.sluice.attacks.FindingsTable;
import dev.sluice.attacks.HostileRun;
import dev.sluice.attacks.HostileRun.Findings;
import dev.sluice.attacks.RefusedCalls;
import dev.sluice.attacks.catalog.Attack;
import dev.sluice.attacks.catalog.Attacks;
import dev.sluice.bench.measure.Report;
import dev.sluice.bench.measure.Scratch;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** A server with 256 MB of heap under one attack after another, and the effect on other clients. */
public final class HostileSuite {
  private HostileSuite() {}

  public static Report run(boolean quick) throws Exception {
    String jar =
        Path.of(System.getProperty("sluice.root"), "sluice-cli/target/sluice-cli.jar").toString();
    List<Attack> attacks = quick ? Attacks.quick() : Attacks.all();
    HostileRun.Effort effort = quick ? HostileRun.Effort.QUICK : HostileRun.Effort.FULL;
    try (Scratch scratch = new Scratch()) {
      Path folder = Files.createDirectories(scratch.next());
      return report(HostileRun.run(List.of("-jar", jar), folder, effort, attacks), effort);
    }
  }

  private static Report report(Findings findings, HostileRun.Effort effort) {
    Report report = new Report();
    report.line(
        "a server with 256 MB of heap; 4 good clients, 400 calls a second; %d attacks of %,d ms",
        findings.results().size(), effort.attack().toMillis());
    report.line(
        "%d cores that server, good clients and the attacker (nice 19) share",
        Runtime.getRuntime().availableProcessors());
    report.line("");
    FindingsTable.lines(findings).forEach(line -> report.line("%s", line));
    report.line("");
    values(report, findings);
    return report;
  }

  private static void values(Report report, Findings findings) {
    List<AttackResult> results = findings.results();
    RefusedCalls.Result refused = findings.refusedCalls();
    report.value("attacks", results.size());
    report.value("survived", (double) results.stream().filter(AttackResult::survived).count());
    report.value("good_calls_failed", results.stream().mapToInt(AttackResult::failed).sum());
    report.value(
        "operator_calls_failed", results.stream().mapToInt(AttackResult::operatorFailed).sum());
    report.value("undisturbed_p99_ms", findings.undisturbed());
    report.value("log_kb", results.stream().mapToLong(AttackResult::logBytes).sum() / 1024.0);
    report.value("refused", refused.refused());
    report.value("refused_executed", refused.refusedExecuted());
    report.value("acknowledged_lost", refused.lost());
    report.value("worst_attack_p99_ms", findings.worstAttack());
    report.ratio("p99_under_attack", findings.worstFamily() / findings.undisturbed());
  }
}
