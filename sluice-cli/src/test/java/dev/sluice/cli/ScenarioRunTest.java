package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.sluice.cli.simulate.scenario.LimitMeter;
import dev.sluice.cli.simulate.scenario.ModelUsageMeter;
import dev.sluice.cli.simulate.scenario.QueueMeter;
import dev.sluice.cli.simulate.scenario.ScenarioFile;
import dev.sluice.cli.simulate.scenario.ScenarioResult;
import dev.sluice.cli.simulate.scenario.ScenarioRunner;
import dev.sluice.cli.simulate.scenario.TrafficMeter;
import dev.sluice.cli.simulate.scenario.TrafficResult;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The results of a simulation match the engine. */
class ScenarioRunTest {
  private static final String BUSY =
      """
      duration = "20m"
      [throttles.provider]
      rate = 5
      burst = 10
      [throttles."account:*"]
      rate = 3
      burst = 3
      [queues.mail]
      workers = 4
      service = { distribution = "lognormal", median = "100ms", p99 = "1s" }
      [queues.mail.tenants.noisy]
      throttles = ["provider"]
      arrivals = { pattern = "bursts", size = 20_000, every = "1h" }
      [queues.mail.tenants.paying]
      weight = 2
      throttles = ["provider"]
      arrivals = { pattern = "bursts", size = 20_000, every = "1h" }
      [queues.mail.tenants.quiet]
      throttles = ["provider", "account:{tenant}"]
      arrivals = { pattern = "poisson", rate = "10/1m" }
      """;

  private static final String CALLS =
      """
      duration = "30m"
      [models.m]
      target_tpm = 60_000
      allocation = "off"
      concurrency = 20
      priority_classes = { P0_clinical = 1.0, P1_user = 1.0, P2_batch = 1.0 }
      [callers.urgent]
      model = "m"
      priority = "P0_clinical"
      tokens = { distribution = "uniform", min = 500, max = 3_000 }
      used = 0.5
      call_time = { distribution = "exponential", mean = "5s", max = "12m" }
      arrivals = { pattern = "poisson", rate = 0.2 }
      [callers.batch]
      model = "m"
      priority = "P2_batch"
      tokens = 4_000
      deadline = "5m"
      arrivals = { pattern = "steady", rate = 0.5 }
      """;

  @TempDir Path folder;

  private ScenarioResult run(String scenario, String... changes) throws IOException {
    Path file = folder.resolve("scenario.toml");
    Files.writeString(file, scenario);
    return ScenarioRunner.run(ScenarioFile.read(file, List.of(changes)), step -> {});
  }

  private static TrafficMeter tenant(ScenarioResult result, int index) {
    return result.queues().get(0).tenants.get(index);
  }

  private static void assertAllAccountedFor(TrafficMeter flow) {
    for (TrafficResult way : List.of(flow.fair, flow.fifo)) {
      assertThat(way.served() + way.left() + way.refused()).isEqualTo(flow.count());
      assertThat(way.waiting()).isZero();
    }
  }

  @Test
  void queue_sharesByWeight_andKeepsLimits() throws IOException {
    ScenarioResult result = run(BUSY);
    QueueMeter mail = result.queues().get(0);
    mail.tenants.forEach(ScenarioRunTest::assertAllAccountedFor);
    // The two that always have something: 1 to 2.
    assertThat((double) tenant(result, 1).fair.served() / tenant(result, 0).fair.served())
        .isCloseTo(2, within(0.01));
    double[] due = mail.dueShares();
    for (int i = 0; i < due.length; i++) {
      assertThat((double) tenant(result, i).fair.served() / mail.served())
          .isCloseTo(due[i], within(0.01));
    }
    // All that came back was used, and never more in a window than is legal.
    LimitMeter provider = result.throttles().get(0);
    assertThat(provider.total()).isBetween(5L * 1_200, 5L * 1_200 + 10);
    for (LimitMeter each : result.throttles()) {
      assertThat((double) each.worst().worst()).isLessThanOrEqualTo(each.worst().legal());
    }
  }

  @Test
  void template_givesEachMemberABucket_unlessItHasItsOwn() throws IOException {
    ScenarioResult result =
        run(
            BUSY,
            "queues.mail.workers=0",
            "throttles.provider.rate=1000",
            "throttles.\"account:quiet-2\"={rate=1, burst=1}",
            "queues.mail.tenants.quiet.count=3",
            "queues.mail.tenants.quiet.arrivals={pattern='bursts', size=5000, every='1h'}");
    assertThat(result.throttles()).extracting(LimitMeter::keys).containsExactly(1, 2, 1);
    // 3 a second each, and 1 a second.
    assertThat(result.throttles().get(1).total()).isBetween(2L * 3_600, 2L * 3_603);
    assertThat(result.throttles().get(2).total()).isBetween(1_200L, 1_201L);
  }

  @Test
  void quietTenant_doesNotWaitBehindNoisyOnes_asInFifo() throws IOException {
    TrafficMeter quiet = tenant(run(BUSY), 2);
    assertThat(quiet.fair.waitSeconds(99)).isLessThan(5);
    assertThat(quiet.fair.left()).isZero();
    // 40,000 came before it, at 5 a second.
    assertThat(quiet.fifo.served()).isZero();
    assertThat(quiet.fifo.left()).isEqualTo(quiet.count());
  }

  @Test
  void fifo_servesInOrderOfArrival() throws IOException {
    ScenarioResult result =
        run(
            BUSY,
            "duration=1m",
            "queues.mail.workers=1",
            "queues.mail.service='1s'",
            "queues.mail.tenants.noisy.arrivals={pattern='trace', at=['0s', '0s', '1s']}",
            "queues.mail.tenants.paying.arrivals={pattern='trace', at=['500ms']}",
            "queues.mail.tenants.quiet.arrivals={pattern='trace', at=['1500ms']}");
    // One a second from 0 on: noisy, noisy, paying, noisy, quiet.
    assertThat(tenant(result, 0).fifo.waitSeconds(100)).isCloseTo(2, within(0.01));
    assertThat(tenant(result, 1).fifo.waitSeconds(100)).isCloseTo(1.5, within(0.01));
    assertThat(tenant(result, 2).fifo.waitSeconds(100)).isCloseTo(2.5, within(0.01));
  }

  @Test
  void change_keepsArrivalsOfOtherTenants() throws IOException {
    TrafficMeter before = tenant(run(BUSY), 2);
    TrafficMeter after =
        tenant(run(BUSY, "queues.mail.workers=1", "queues.mail.tenants.noisy.count=3"), 2);
    assertThat(after.arrivedByStep()).isEqualTo(before.arrivedByStep());
    assertThat(tenant(run(BUSY, "seed=2"), 2).arrivedByStep()).isNotEqualTo(before.arrivedByStep());
  }

  @Test
  void maxDepth_refuses() throws IOException {
    TrafficMeter noisy = tenant(run(BUSY, "queues.mail.max_depth=100"), 0);
    assertAllAccountedFor(noisy);
    assertThat(noisy.fair.refusals()).containsOnlyKeys("max_depth");
    assertThat(noisy.fair.refused()).isGreaterThan(19_000);
  }

  @Test
  void model_servesUrgentFirst_andKeepsItsBudget() throws IOException {
    ScenarioResult result = run(CALLS);
    result.callers().forEach(each -> assertAllAccountedFor(each.flow()));
    TrafficMeter urgent = result.classes().get(0).flow();
    TrafficMeter batch = result.classes().get(1).flow();
    assertThat(urgent.name).isEqualTo("P0_clinical");
    assertThat(urgent.fair.waitSeconds(99)).isLessThan(10);
    assertThat(urgent.fifo.waitSeconds(99)).isGreaterThan(60);
    assertThat(batch.fair.refusals()).containsOnlyKeys("timeout");
    ModelUsageMeter model = result.models().get(0);
    assertThat(model.used(result.scenario().durationNanos())).isBetween(0.95, 1.04);
    assertThat(model.audit().errorTokens()).isZero();
    assertThat(model.audit().worstTokens())
        .isPositive()
        .isLessThanOrEqualTo(model.audit().limitTokens());
  }

  @Test
  void route_andBudgetFile() throws IOException {
    Files.writeString(
        folder.resolve("budget.json"),
        """
        {"models": {"a": {"target_tpm": 60000, "allocation": "off"},
                    "b": {"target_tpm": 60000, "allocation": "off"}},
         "routes": {"any": ["a", "b"]}}
        """);
    ScenarioResult result =
        run(
            """
            duration = "10m"
            budget_file = "budget.json"
            [callers.c]
            model = "any"
            count = 3
            tokens = 2_000
            arrivals = { pattern = "ramp", rate = 0, to = 1 }
            """);
    assertThat(result.models()).allSatisfy(each -> assertThat(each.total()).isPositive());
    assertThat(result.classes()).singleElement().returns("any", each -> each.model());
    assertAllAccountedFor(result.callers().get(0).flow());
  }

  @Test
  void sameFile_sameOutput() throws IOException {
    for (String scenario : List.of(BUSY, CALLS)) {
      Path file = folder.resolve("same.toml");
      Path page = folder.resolve("same.html");
      Files.writeString(file, scenario);
      Cli first = Cli.run("simulate", file.toString(), "--report", page.toString());
      String firstPage = Files.readString(page);
      assertThat(first.err()).isEmpty();
      assertThat(Cli.run("simulate", file.toString(), "--report", page.toString()))
          .isEqualTo(first);
      assertThat(Files.readString(page)).isEqualTo(firstPage);
    }
  }
}
