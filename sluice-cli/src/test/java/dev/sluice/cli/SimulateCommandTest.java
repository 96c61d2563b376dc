package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SimulateCommandTest {
  private static final String SCENARIO_1 =
      "0ms:7 200ms:5 650ms:3 1200ms:6 1800ms:5 2100ms:10 2600ms:10";
  private static final String HIGH_RATE =
      "0ms:1x12 5ms:1x7 10ms:1x15 12ms:1x3 20ms:1x25 30ms:1x9 31ms:1x3 40ms:1x20";

  private static Cli simulate(String arguments) {
    return Cli.run(("simulate " + arguments).split(" "));
  }

  private static void assertPrints(String arguments, String text) {
    Cli cli = simulate(arguments);
    assertThat(cli.err()).isEmpty();
    assertThat(cli.exitCode()).isZero();
    assertThat(cli.out()).isEqualTo(text);
  }

  @Test
  void scenario1_hasTheSeedsBudgets() {
    assertPrints(
        "--capacity 10 --refill 10/1s " + SCENARIO_1,
        """
        bucket: capacity 10, refill 10/1s, starts with 10

          time  available  requested  granted  denied  left  retry in
           0ms         10          7        7       -     3         -
         200ms          5          5        5       -     0         -
         650ms          4          3        3       -     1         -
        1200ms          7          6        6       -     1         -
        1800ms          7          5        5       -     2         -
        2100ms          5         10        -      10     5     500ms
        2600ms         10         10       10       -     0         -

                  period  requests  requested  granted  denied
           0ms .. 1000ms         3         15       15       0
        1000ms .. 2000ms         2         11       11       0
        2000ms .. 3000ms         2         20       10      10

        requests: 7 requested, 6 granted, 1 denied
        tokens:   46 requested, 36 granted, 10 denied
        """);
  }

  @Test
  void highRate_grants50Of94() {
    assertPrints(
        "--capacity 10 --refill 10/10ms " + HIGH_RATE,
        """
        bucket: capacity 10, refill 10/10ms, starts with 10

        time  available  requested  granted  denied  left  retry in
         0ms         10       1x12       10       2     0       1ms
         5ms          5        1x7        5       2     0       1ms
        10ms          5       1x15        5      10     0       1ms
        12ms          2        1x3        2       1     0       1ms
        20ms          8       1x25        8      17     0       1ms
        30ms         10        1x9        9       -     1         -
        31ms          2        1x3        2       1     0       1ms
        40ms          9       1x20        9      11     0       1ms

              period  requests  requested  granted  denied
         0ms .. 10ms        19         19       15       4
        10ms .. 20ms        18         18        7      11
        20ms .. 30ms        25         25        8      17
        30ms .. 40ms        12         12       11       1
        40ms .. 50ms        20         20        9      11

        requests: 94 requested, 50 granted, 44 denied
        tokens:   94 requested, 50 granted, 44 denied
        """);
  }

  @Test
  void wait_servesInOrder() {
    assertPrints(
        "--capacity 10 --refill 10/10ms --wait 0ms:1x12 5ms:1x7 10ms:25",
        """
        bucket: capacity 10, refill 10/10ms, starts with 10

        time  available  requested  at once  waits  until  rejected  left
         0ms         10       1x12       10      2    2ms         -     0
         5ms          3        1x7        3      4    9ms         -     0
        10ms          1         25        -     25   34ms         -     0

              period  requests  requested  granted  denied
         0ms .. 10ms        19         19       19       0
        10ms .. 20ms         1         25        0       0
        30ms .. 40ms         0          0       25       0

        requests: 20 requested, 20 granted, 0 denied
        tokens:   44 requested, 44 granted, 0 denied
        waits:    7 served later (at most 24ms), 0 never served
        """);
  }

  @Test
  void strict_refillsAtTheBoundary() {
    assertPrints(
        "--capacity 10 --strict 1s 0s:7 200ms:5 999ms:1 1s:10 2.5s:3",
        """
        bucket: capacity 10, full again every 1s, starts with 10

          time  available  requested  granted  denied  left  retry in
           0ms         10          7        7       -     3         -
         200ms          3          5        -       5     3     800ms
         999ms          3          1        1       -     2         -
        1000ms         10         10       10       -     0         -
        2500ms         10          3        3       -     7         -

                  period  requests  requested  granted  denied
           0ms .. 1000ms         3         13        8       5
        1000ms .. 2000ms         1         10       10       0
        2000ms .. 3000ms         1          3        3       0

        requests: 5 requested, 4 granted, 1 denied
        tokens:   26 requested, 21 granted, 5 denied
        """);
  }

  @Test
  void manual_neverRefills() {
    assertPrints(
        "--capacity 5 --initial 4 --manual 0s:3 1d:2 2d:6 3d:0",
        """
        bucket: capacity 5, no refill, starts with 4

           time  available  requested  granted  denied  left               retry in
             0s          4          3        3       -     1                      -
         86400s          1          2        -       2     1       never: no refill
        172800s          1          6        -       6     1  never: above capacity
        259200s          1          0        0       -     1                      -

        requests: 4 requested, 2 granted, 2 denied
        tokens:   11 requested, 3 granted, 8 denied
        """);
  }

  @Test
  void manual_waitsForever() {
    assertThat(simulate("--capacity 5 --manual --wait 0s:3 1s:3").out())
        .contains("  1s          2          3        -      3  never         -     0\n")
        .endsWith("waits:    0 served later, 1 never served\n");
  }

  @Test
  void wait_beyondTheLargestDebt_isRejected() {
    assertThat(simulate("--capacity 1 --refill 1/36500d --wait 0s:9").out())
        .contains("\n  0s          1          9        -      -      -         9     1\n")
        .endsWith("rejected: 1, because the debt would overflow\n");
    assertThat(simulate("--capacity 1 --refill 1/36500d --wait --json 0s:9").json().get("requests"))
        .asInstanceOf(InstanceOfAssertFactories.LIST)
        .first()
        .asInstanceOf(InstanceOfAssertFactories.MAP)
        .containsEntry("denied", 1L)
        .containsEntry("reason", "debt overflow");
  }

  @Test
  void retryAfter_isExact() {
    assertThat(simulate("--refill 3/7s 0s:3 1s:1 2333333333ns:1 2333333334ns:1").outLines())
        .contains(
            "         0ns          3          3        3       -     0             -",
            "1000000000ns          0          1        -       1     0  1.333333334s",
            "2333333333ns          0          1        -       1     0           1ns",
            "2333333334ns          1          1        1       -     0             -");
  }

  @Test
  void capacity_defaultsToRefill() {
    assertThat(simulate("--refill 15000/1ms 0s:1").out())
        .startsWith("bucket: capacity 15000, refill 15000/1ms, starts with 15000\n");
  }

  @Test
  void file_skipsCommentsAndBlankLines(@TempDir Path folder) throws IOException {
    Path file = folder.resolve("requests.txt");
    Files.writeString(file, "# scenario 1\n\n  " + SCENARIO_1.replace(" ", " # why\r\n"));
    assertThat(Cli.run("simulate", "--refill", "10/1s", "--file", file.toString()))
        .isEqualTo(simulate("--refill 10/1s " + SCENARIO_1));
  }

  @Test
  void standardInput_readBothWays() {
    String lines = HIGH_RATE.replace(' ', '\n');
    Cli expected = simulate("--refill 10/10ms " + HIGH_RATE);
    assertThat(run(lines, "simulate", "--refill", "10/10ms", "-")).isEqualTo(expected);
    assertThat(run(lines, "simulate", "--refill", "10/10ms", "--file", "-")).isEqualTo(expected);
  }

  private static Cli run(String input, String... arguments) {
    return Cli.run(new Cli.Setting().input(input), arguments);
  }

  @Test
  void mostRequests_areSimulated() {
    assertThat(simulate("--refill 1/1s 0s:1x999999 1s:1").out())
        .contains("requests: 1000000 requested, 2 granted, 999998 denied\n");
  }

  @Test
  void json_ofDenials() {
    Cli cli = simulate("--refill 10/1s --json 0ms:7 100ms:5x2 1s:11");
    assertThat(cli.json())
        .containsOnlyKeys("limit", "initialTokens", "requests", "periods", "total");
    assertThat(cli.out().replace('"', '\''))
        .isEqualTo(
            """
            {'limit':{'capacity':10,'kind':'balanced','refillTokens':10,'refillPeriodNanos':1000000000},
            'initialTokens':10,
            'requests':[
            {'timeNanos':0,'available':10,'tokens':7,'count':1,'granted':1,'denied':0,'left':3},
            {'timeNanos':100000000,'available':4,'tokens':5,'count':2,'granted':0,'denied':2,'left':4,\
            'reason':'not yet','retryAfterNanos':100000000},
            {'timeNanos':1000000000,'available':10,'tokens':11,'count':1,'granted':0,'denied':1,'left':10,\
            'reason':'above capacity'}],
            'periods':[
            {'startNanos':0,'requested':{'requests':3,'tokens':17},'granted':{'requests':1,'tokens':7},\
            'denied':{'requests':2,'tokens':10}},
            {'startNanos':1000000000,'requested':{'requests':1,'tokens':11},\
            'granted':{'requests':0,'tokens':0},'denied':{'requests':1,'tokens':11}}],
            'total':{'requested':{'requests':4,'tokens':28},'granted':{'requests':1,'tokens':7},\
            'denied':{'requests':3,'tokens':21}}}
            """);
  }

  @Test
  void json_ofWaits() {
    Map<String, Object> json = simulate("--strict 1s --capacity 2 --wait --json 0s:1x5").json();
    assertThat(json)
        .containsEntry(
            "limit", Map.of("capacity", 2L, "kind", "strict", "periodNanos", 1_000_000_000L))
        .containsEntry(
            "waits", Map.of("served", 3L, "unserved", 0L, "longestNanos", 2_000_000_000L))
        .containsEntry(
            "requests",
            List.of(
                Map.of(
                    "timeNanos",
                    0L,
                    "available",
                    2L,
                    "tokens",
                    1L,
                    "count",
                    5L,
                    "granted",
                    2L,
                    "denied",
                    0L,
                    "left",
                    0L,
                    "waited",
                    3L,
                    "served",
                    3L,
                    "servedNanos",
                    2_000_000_000L)));
  }

  @Test
  void json_ofManualLimit() {
    Map<String, Object> json = simulate("--manual --capacity 1 --json 0s:1x2").json();
    assertThat(json)
        .containsEntry("limit", Map.of("capacity", 1L, "kind", "manual"))
        .doesNotContainKey("periods");
    assertThat(json.get("requests").toString()).contains("reason=no refill");
  }
}
